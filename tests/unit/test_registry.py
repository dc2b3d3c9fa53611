"""The registry of noise: written once, chosen from by name."""

from __future__ import annotations

from pathlib import Path

import claimruns
import pandas as pd
import pytest
from benchbook import registry
from benchbook.errors import StoreError
from benchbook.provenance import sidecar

EARLY, LATE = "20260101-000000", "20260301-000000"


def fed(tmp_path, booking, until=EARLY, **figures):
    made = tmp_path / f"{booking}.parquet"
    claimruns.noise(booking, until=until, **figures).to_parquet(made)
    return registry.feed(made, tmp_path / "registry")


def test_what_is_fed_is_read_back(tmp_path):
    path = fed(tmp_path, "x")
    assert path == tmp_path / "registry" / "node_kind=k" / f"{EARLY}_x.parquet"
    pd.testing.assert_frame_equal(registry.read(path), claimruns.noise("x", until=EARLY))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_same_again_is_no_change_and_another_content_is_refused(tmp_path):
    path = fed(tmp_path, "x")
    before = path.stat()
    assert fed(tmp_path, "x") == path and path.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(StoreError, match="Move it away"):
        fed(tmp_path, "x", session_pct=9.0)
    assert registry.read(path)["session_sigma_pct"].eq(1.5).all()


def test_a_booking_without_any_spread_feeds_nothing(tmp_path):
    assert fed(tmp_path, "x", session_pct=None, session_df=0, repeat_df=0) is None
    assert not (tmp_path / "registry").exists()


def test_a_session_of_no_usual_name_is_refused(tmp_path):
    with pytest.raises(StoreError, match="no session id"):
        fed(tmp_path, "x", until="yesterday")


def test_earlier_takes_the_newest_of_every_other_booking(tmp_path):
    x_old, x_new, y, mine = (fed(tmp_path, name, until) for name, until in
                             (("x", EARLY), ("x", LATE), ("y_2", EARLY), ("mine", EARLY)))  # fmt: skip
    there = tmp_path / "registry"
    assert registry.earlier(there, "k", None, "mine") == [x_new, y]
    assert registry.earlier(there, "k", LATE, "mine") == [x_old, y]
    assert registry.earlier(there, "k", LATE, "y_2") == [mine, x_old]
    assert registry.earlier(there, "k", EARLY, "mine") == []
    assert registry.earlier(there, "another", None, "mine") == []


def test_other_files_are_none_of_it(tmp_path):
    path = fed(tmp_path, "x")
    (path.parent / "notes.parquet").touch()
    (path.parent / f"{LATE}_z.parquet.part").touch()
    assert registry.earlier(tmp_path / "registry", "k", None, "mine") == [path]


def test_a_broken_or_renamed_file_says_what_to_do(tmp_path):
    path = fed(tmp_path, "x")
    renamed = path.with_name(f"{EARLY}_y.parquet")
    renamed.write_bytes(path.read_bytes())
    with pytest.raises(StoreError, match="another booking than its name says: x"):
        registry.read(renamed)
    for content in (b"", b"PAR1"):
        renamed.write_bytes(content)
        with pytest.raises(StoreError, match="Move it out of the registry"):
            registry.read(renamed)
    pd.DataFrame({"booking": ["y"]}).to_parquet(renamed)
    with pytest.raises(StoreError, match="Move it out of the registry"):
        registry.read(renamed)


def finished(tmp_path, judged_runs=None):
    """A booking's folder as the rules leave it; `judged_runs`: the runs that were accepted, by default those there."""
    results = tmp_path / "results"
    (results / "tables").mkdir(parents=True)
    runs, noise, acceptance = (results / name for name in ("tables/runs.parquet", "tables/noise.parquet",
                                                           "acceptance.json"))  # fmt: skip
    runs.write_text("runs")
    claimruns.noise("x", until=EARLY).to_parquet(noise)
    acceptance.write_text("{}")
    inputs = {noise: runs, acceptance: judged_runs or runs}
    for output, read in inputs.items():
        sidecar.write(output, rule="r", script="s", params={}, inputs=[read], code={}, code_fingerprint="", run_ids=[])
    return results


def test_a_finished_booking_is_fed_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results, into = finished(Path()), Path("registry")
    assert "for later ones" in registry.feed_when_finished(results, into)
    assert registry.feed_when_finished(results, into) is None
    assert len(list(into.rglob("*.parquet"))) == 1


@pytest.mark.parametrize("gone", ["acceptance.json", "tables/noise.parquet"])
def test_an_unfinished_booking_feeds_nothing(tmp_path, gone):
    results = finished(tmp_path)
    (results / gone).unlink()
    assert registry.feed_when_finished(results, tmp_path / "registry") is None
    assert not (tmp_path / "registry").exists()


def test_acceptance_of_other_runs_than_these_does_not_count(tmp_path):
    other = tmp_path / "other"
    other.write_text("other runs")
    assert registry.feed_when_finished(finished(tmp_path, other), tmp_path / "registry") is None
    assert not (tmp_path / "registry").exists()
