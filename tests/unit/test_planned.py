"""A booking as planned: whole, in draft, and as an archive says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import benchbook
import pytest
from benchbook.archive.restored import Restored
from benchbook.errors import SessionError
from benchbook.planned import planned

ROOT = Path(benchbook.__file__).parents[2]


@pytest.fixture
def project(tmp_path) -> Path:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


NOISE = "registry/node_kind=h200/20260911-230548_x.parquet"


def measured(project: Path, stores: list[str]) -> None:
    folder = project / "results/demo-cpu/sessions"
    folder.mkdir(parents=True, exist_ok=True)
    for store in stores:
        (folder / f"{store}.json").write_text("{}")


def test_a_draft_has_what_is_measured_and_says_what_is_not(project):
    whole = planned(project, "demo-cpu", Path("registry"))
    assert [store.split("-")[0] for store in whole.stores] == ["s1", "s2", "s3", "s4"] and not whole.lacking
    (project / "results/demo-cpu/raw/s1-baseline-000000000000/20260910-230548").mkdir(parents=True)
    superseded = planned(project, "demo-cpu", Path("registry")).superseded
    assert superseded == ("s1-baseline-000000000000: 20260910-230548",)
    with pytest.raises(SessionError, match="no session of booking demo-cpu is measured yet"):
        planned(project, "demo-cpu", Path("registry"), draft=True)
    measured(project, whole.stores[:2])
    (project / f"results/demo-cpu/raw/{whole.stores[2]}/20260911-230548").mkdir(parents=True)
    draft = planned(project, "demo-cpu", Path("registry"), draft=True)
    assert draft.stores == whole.stores[:2]
    assert draft.lacking == (
        "Session s3 of eager: begun and not finished, 12 runs planned.",
        "Session s4 of baseline: not measured yet, 12 runs planned.",
    )
    measured(project, whole.stores)
    assert not planned(project, "demo-cpu", Path("registry"), draft=True).lacking


def test_a_restored_booking_is_what_its_archive_says_not_what_the_clones_files_say(project):
    whole = planned(project, "demo-cpu", Path("registry"))
    results = project / "results/demo-cpu"
    told = Restored("demo-cpu", ("s1-old-0123456789ab",), ("s1-older-0123456789ab",), (NOISE,),
                    whole.configuration, "", {})  # fmt: skip
    (results / "specs").mkdir(parents=True)
    (results / "specs/s1-old-0123456789ab.json").write_text(json.dumps({"arm": "old"}))
    (results / "archived.json").write_text(json.dumps(told.to_json()))
    for name in whole.configuration:
        (results / "archived" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(project / name, results / "archived" / name)
    found = planned(project, "demo-cpu", Path("registry"))
    assert found.is_restored and found.stores == ["s1-old-0123456789ab"]
    assert (found.superseded, found.registered) == (("s1-older-0123456789ab",), (NOISE,))
    assert found.configured_in == Path("results/demo-cpu/archived")
