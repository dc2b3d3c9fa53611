"""Every change of one digit, in the page or in a raw file, is found and named."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import reportinput
from benchbook.archive import pack
from benchbook.errors import ArchiveError
from benchbook.measure.store import FILES, Store, write_json
from benchbook.present import report
from benchbook.provenance.code import combined
from benchbook.verify import check, manifest, members, page, raw, recompute, sidecars, tables
from hypothesis import given
from hypothesis import strategies as st

DIGIT = re.compile(r"\d")


@pytest.fixture(scope="module")
def html(tmp_path_factory) -> str:
    return report.render(reportinput.make(folder=tmp_path_factory.mktemp("figures")))


def other_digit(text: str, at: int, chance: random.Random) -> str:
    digit = chance.choice([digit for digit in "0123456789" if digit != text[at]])
    return text[:at] + digit + text[at + 1 :]


def test_fifty_digits_changed_anywhere_in_the_page_are_found_where_they_are(html):
    chance = random.Random(6)
    places = [match.start() for match in DIGIT.finditer(html)]
    for at in chance.sample(places, 50):
        (finding,) = page.compare(other_digit(html, at, chance), html)
        line = html.count("\n", 0, at) + 1
        assert finding.what == f"line {line} of report.html differs" and finding.found != finding.expected
        assert re.fullmatch(r"report:[\w-]+|[a-z_]+:.+:[a-z0-9_]+", finding.address), finding.address


SHOWN = re.compile(r'data-address="([^"]+)"[^>]*>([^<]*\d[^<]*)<')


def test_fifty_digits_changed_in_values_are_named_by_the_values_address(html):
    chance = random.Random(7)
    for match in chance.sample(list(SHOWN.finditer(html)), 50):
        at = match.start(2) + DIGIT.search(match[2]).start()
        (finding,) = page.compare(other_digit(html, at, chance), html)
        assert finding.address == match[1]


def test_a_changed_address_does_not_name_itself(html):
    match = SHOWN.search(html)
    changed = html[: match.start(1)] + "sweep:made-up/c1:x" + html[match.end(1) :]
    assert [finding.address for finding in page.compare(changed, html)] == [match[1]]


def test_lines_taken_out_or_put_in_are_found(html):
    lines = html.split("\n")
    for changed in (lines[:200] + lines[201:], [*lines[:200], "<p>12</p>", *lines[200:]], lines[:-5]):
        assert page.compare("\n".join(changed), html)
    assert page.compare(html, html) == [] and page.values(html) > 1000


@given(st.data())
def test_no_change_of_any_text_goes_unfound(data):
    anew = '<html><body><section id="a"><p>1 <b data-address="t:r:c">2</b>\n3</p></section></body></html>'
    at = data.draw(st.integers(0, len(anew)))
    changed = anew[:at] + data.draw(st.text(max_size=3)) + anew[at + data.draw(st.integers(0, 3)) :]
    assert bool(page.compare(changed, anew)) == (changed != anew)


STORE, SESSION = "s1-base-0123456789ab", "20260911-230548"


@pytest.fixture
def results(tmp_path) -> Path:
    """A store of one session with two runs and a reading, each file full of digits."""
    folder = tmp_path / "raw" / STORE / SESSION
    chance = random.Random(8)
    for name in ("runs/base_c8_r1/bench.json", "runs/base_c8_r1/record.json", "runs/base_c64_r2/bench.json",
                 "warmup/warmup_c8_w1/bench.json", "server.log", "telemetry.jsonl", "session.json"):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([chance.random() for _ in range(40)]))
    listed = {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
              for path in sorted(folder.rglob("*")) if path.is_file()}  # fmt: skip
    (folder / FILES).write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n")
    manifest = tmp_path / f"sessions/{STORE}.json"
    manifest.parent.mkdir()
    manifest.write_text(json.dumps({"sessions": [{"session": SESSION, "status": "complete", "files": listed}]}))
    return tmp_path


def test_fifty_digits_changed_in_raw_files_are_found_with_what_rests_on_them(results):
    chance = random.Random(9)
    files = [path for path in sorted((results / "raw").rglob("*")) if path.is_file()]
    assert raw.check(results, [STORE]) == ([], len(files))
    for _ in range(50):
        path = chance.choice(files)
        before = path.read_text()
        at = chance.choice([match.start() for match in DIGIT.finditer(before)])
        path.write_text(other_digit(before, at, chance))
        (finding,) = raw.check(results, [STORE])[0]
        assert finding.address == str(path.relative_to(results)) and SESSION in finding.rests[0]
        path.write_text(before)


def test_what_rests_on_a_raw_file(results):
    assert raw.addresses(SESSION, "runs/my_arm_c8_r1/bench.json") == [
        f"runs:{SESSION}/my_arm_c8_r1:*", "sweep:my_arm/c8:*"]  # fmt: skip
    assert raw.addresses(SESSION, "warmup/warmup_c8_w1/record.json") == [f"warmup:{SESSION}/warmup_c8_w1:*"]
    assert raw.addresses(SESSION, "server.log") == [f"sessions:{SESSION}:*"]


def test_missing_added_and_unlisted_raw_files_are_all_told(results):
    folder = results / "raw" / STORE / SESSION
    (folder / "server.log").unlink()
    (folder / "runs/base_c8_r1/bench.json").write_text("")
    (folder / "runs/base_c8_r9").mkdir()
    (folder / "runs/base_c8_r9/bench.json").write_text("{}")
    found = {finding.address.rsplit(SESSION + "/", 1)[1]: finding.what for finding in raw.check(results, [STORE])[0]}
    assert found == {
        "server.log": "is missing",
        "runs/base_c8_r1/bench.json": "is not the file that was measured (sha256 differs)",
        "runs/base_c8_r9/bench.json": "is listed in no manifest",
    }
    (results / f"sessions/{STORE}.json").write_text("{")
    assert [finding.address for finding in raw.check(results, [STORE])[0]] == [f"sessions/{STORE}.json"]


def test_covered_raw_files_of_an_archive_are_those_that_it_lists(results):
    name = f"raw/{STORE}/{SESSION}/server.log"
    before = hashlib.sha256((results / name).read_bytes()).hexdigest()
    (results / name).write_text("covered 1")
    after = hashlib.sha256(b"covered 1").hexdigest()
    (results / "scrubbed.json").write_text(json.dumps({"files": [{"file": name, "before": before, "after": after}]}))
    assert raw.check(results, [STORE])[0] == []
    (results / name).write_text("covered 2")
    assert [finding.address for finding in raw.check(results, [STORE])[0]] == [name]


def test_a_readings_tokens_that_an_archive_is_without_are_not_missed_and_nothing_else_can_be_left_out(results):
    folder, reading = f"raw/{STORE}/{SESSION}", "warmup/warmup_c1_w1/bench.json"
    log, manifest = f"{folder}/server.log", results / f"sessions/{STORE}.json"
    digest = hashlib.sha256((results / log).read_bytes()).hexdigest()
    told = json.loads(manifest.read_text())
    listed = told["sessions"][0]["files"]
    listed[reading] = "1" * 64
    manifest.write_text(json.dumps(told))
    (results / folder / "files.json").write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n")
    left = [{"file": f"{folder}/{reading}", "before": "1" * 64, "after": None}]
    (results / "scrubbed.json").write_text(json.dumps({"files": left}))
    assert raw.check(results, [STORE])[0] == []
    (results / folder / reading).parent.mkdir(parents=True)
    (results / folder / reading).write_text("another")
    assert [finding.what for finding in raw.check(results, [STORE])[0]] == ["is listed in no manifest"]
    (results / folder / reading).unlink()
    (results / log).unlink()
    left.append({"file": log, "before": digest, "after": None})
    (results / "scrubbed.json").write_text(json.dumps({"files": left}))
    assert [finding.what for finding in raw.check(results, [STORE])[0]] == ["is missing"]


def test_a_cell_changed_by_one_ulp_is_named(tmp_path):
    shown, anew = tmp_path / "shown", tmp_path / "anew"
    frame = pd.DataFrame({"arm": ["a", "b"], "concurrency": pd.array([1, 8], dtype="Int64"), "client": [None, None],
                          "tpot_mean_ms": [0.1 + 0.2, float("nan")]})  # fmt: skip
    for folder in (shown, anew):
        folder.mkdir()
        frame.to_parquet(folder / "sweep.parquet")
        (folder / "sweep.svg").write_text("<svg/>")
    (shown / "sweep.csv").write_text("arm,concurrency,client,tpot_mean_ms\na,1,,0.30000000000000004\nb,8,,\n")
    assert tables.check(shown, anew) == ([], 3)
    frame.assign(tpot_mean_ms=[0.3, float("nan")]).to_parquet(shown / "sweep.parquet")
    (shown / "sweep.svg").write_text("<svg />")
    (shown / "sweep.csv").write_text("arm,concurrency,client,tpot_mean_ms\na,1,,0.30000000000000004\nb,9,,\n")
    found = {finding.address for finding in tables.check(shown, anew)[0]}
    assert found == {"sweep:a/c1:tpot_mean_ms", "figure:sweep", "sweep:b/c8:concurrency"}
    (shown / "other.svg").write_text("<svg/>")
    assert any("is made by no rule" in finding.what for finding in tables.check(shown, anew)[0])


def test_every_member_of_an_archive_is_read(tmp_path):
    told = pack.pack({"a": b"1" * 5000, "b/c": b"2" * 5000}, tmp_path, "x")
    (tmp_path / "archive.json").write_text(json.dumps(told))
    path = tmp_path / told["archive"]
    assert members.check(path) == ([], 2)
    data = io.BytesIO(path.read_bytes()).getvalue()
    path.chmod(0o644)
    for at in random.Random(10).sample(range(len(data)), 30):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert members.check(path)[0], at
    path.unlink()
    assert members.check(path)[0]


def test_a_member_that_was_changed_names_what_rests_on_it(tmp_path):
    run, table = f"results/b/raw/s1/{SESSION}/runs/base_c8_r1/bench.json", "results/b/tables/sweep.parquet"
    told = pack.pack({run: b"1", table: b"2", "LICENSE": b"3"}, tmp_path, "x")
    (tmp_path / "archive.json").write_text(json.dumps(told))
    (path,) = tmp_path.glob("*.zip")
    path.chmod(0o644)
    with zipfile.ZipFile(path) as opened:
        contents = {info: opened.read(info) for info in opened.infolist()}
    with zipfile.ZipFile(path, "w") as opened:
        for info, data in contents.items():
            opened.writestr(info, data if info.filename == "files.json" else data + b" ")
    rests = {finding.address.partition("/")[2]: finding.rests for finding in members.check(path)[0]}
    assert rests[run] == (f"runs:{SESSION}/base_c8_r1:*", "sweep:base/c8:*")
    assert rests[table] == ("sweep:*:*",) and rests["LICENSE"] == ()


SPEC = {"booking": "b", "slot": "s1", "arm": "base", "spec_hash": "0123456789ab",
        "plan": [{"runs": [{"name": "base_c8_r1"}, {"name": "base_c8_r2"}]}]}  # fmt: skip


@pytest.fixture
def stored(tmp_path) -> Path:
    """results/BOOKING with one store of one session, and the manifest that the store gives."""
    store = Store(tmp_path / "raw" / STORE)
    folder = store.folder / SESSION
    (folder / "runs/base_c8_r1").mkdir(parents=True)
    for name, value in (("spec.json", SPEC), ("session.json", {"status": "complete"}),
                        ("runs/base_c8_r1/record.json", {"run": "base_c8_r1", "status": "ok"})):  # fmt: skip
        write_json(folder / name, value)
    (store.folder / ".lock").touch()
    write_json(tmp_path / f"sessions/{STORE}.json", store.manifest(SPEC))
    (tmp_path / f"sessions/{STORE}.json").chmod(0o644)
    return tmp_path


def told(results: Path) -> dict[str, str]:
    return {finding.address: finding.what for finding in manifest.check(results, {STORE: SPEC})}


def test_a_store_that_gives_its_manifest_is_no_finding_and_neither_is_one_of_an_earlier_specification(stored):
    assert told(stored) == {}
    earlier = stored / "raw/s1-base-ffffffffffff" / SESSION
    earlier.mkdir(parents=True)
    (stored / "sessions/s1-base-ffffffffffff.json").write_text("{}")
    assert told(stored) == {}


@pytest.mark.parametrize(("key", "value"), [
    ("measured", ["base_c8_r1", "base_c8_r2"]), ("planned", ["base_c8_r1"]), ("arm", "other"), ("booking", "c"),
])  # fmt: skip
def test_a_manifest_that_was_edited_is_named_with_what_its_store_gives(stored, key, value):
    path = stored / f"sessions/{STORE}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    (finding,) = manifest.check(stored, {STORE: SPEC})
    assert finding.address == f"sessions/{STORE}.json" and finding.what == f"says another {key} than its store gives"
    assert finding.rests == (f"sessions:{SESSION}:*",) and finding.found != finding.expected


def test_a_session_dropped_from_a_manifest_is_found_on_the_disk(stored):
    path = stored / f"sessions/{STORE}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "sessions": []}))
    assert f"is a session that sessions/{STORE}.json does not list" in told(stored)[f"raw/{STORE}/{SESSION}"]
    assert told(stored)[f"sessions/{STORE}.json"] == "says another sessions than its store gives"


def test_what_lies_in_raw_or_sessions_and_belongs_to_nothing_is_named(stored):
    (stored / "raw/note.txt").write_text("1")
    (stored / "raw/copied").mkdir()
    (stored / "raw/copied/bench.json").write_text("1")
    (stored / f"raw/{STORE}/bench.json").write_text("1")
    (stored / f"raw/{STORE}/{SESSION}-copy").mkdir()
    (stored / "sessions/s9-base-0123456789ab.json").write_text("{}")
    found = told(stored)
    assert set(found) == {"raw/note.txt", "raw/copied", f"raw/{STORE}/bench.json", f"raw/{STORE}/{SESSION}-copy",
                          "sessions/s9-base-0123456789ab.json"}  # fmt: skip
    assert all("take it away and run snakemake report" in what for what in found.values())


def test_each_cell_of_a_csv_that_differs_is_named_and_equal_keys_are_told_apart(tmp_path):
    shown, anew = tmp_path / "shown", tmp_path / "anew"
    for folder in (shown, anew):
        folder.mkdir()
    frame = pd.DataFrame({"session_id": ["1", "1", "2"], "label": ["boot", "boot", "run"], "t_end_s": [1.5, 2.5, 3.5]})
    frame.to_parquet(anew / "timeline.parquet")
    (shown / "timeline.csv").write_text("session_id,label,t_end_s\n1,boot,1.5\n1,boot,2.6\n2,run,3.4\n")
    found = {finding.address: (finding.found, finding.expected) for finding in tables.check(shown, anew)[0]}
    assert found == {"timeline:1/boot (2 of 2, line 3):t_end_s": ("2.6", "2.5"),
                     "timeline:2/run:t_end_s": ("3.4", "3.5")}  # fmt: skip
    (shown / "timeline.csv").write_text("session_id,label,t_end_s\n1,boot,1.5\n1,boot,2.5\n2,run,3.5,9\n")
    assert [finding.address for finding in tables.check(shown, anew)[0]] == ["timeline:2/run:*"]
    (shown / "timeline.csv").write_text("session_id,label,t_end_s\n1,boot,1.5\n")
    assert [finding.address for finding in tables.check(shown, anew)[0]] == ["table:timeline"]
    (shown / "timeline.csv").write_text('session_id,label,t_end_s\n1,boot,1.5\n"1",boot,2.5\n2,run,3.5\n')
    assert "is not written as its rule writes it" in tables.check(shown, anew)[0][0].what
    frame = pd.DataFrame({"session_id": [str(at) for at in range(99)], "label": "run", "t_end_s": 1.0})
    frame.to_parquet(anew / "timeline.parquet")
    (shown / "timeline.csv").write_text(frame.assign(t_end_s=2.0).to_csv(index=False))
    found = tables.check(shown, anew)[0]
    assert len(found) == tables.NAMED + 1 and "49 more cells" in found[-1].what


def test_a_change_in_the_middle_of_a_long_list_is_found(tmp_path):
    shown, anew = tmp_path / "shown", tmp_path / "anew"
    for folder, middle in ((shown, 1.0), (anew, 2.0)):
        folder.mkdir()
        values = [0.0] * 3000
        values[1500] = middle
        frame = pd.DataFrame({"arm": ["a"], "concurrency": [1], "client": [None], "times": [values]})
        frame.to_parquet(folder / "sweep.parquet")
    assert [finding.address for finding in tables.check(shown, anew)[0]] == ["sweep:a/c1:times"]


def test_what_the_pipeline_keeps_and_is_gone_is_named(tmp_path):
    shown, anew = tmp_path / "shown", tmp_path / "anew"
    for folder in (shown, anew):
        folder.mkdir()
        for name in ("sweep.parquet", "figure_sweep.svg", "sweep.parquet.prov.json"):
            (folder / name).write_text("1")
    assert tables.gone(shown, anew) == []
    (shown / "sweep.parquet").unlink()
    (shown / "figure_sweep.svg").unlink()
    assert [finding.address for finding in tables.gone(shown, anew)] == ["figure:figure_sweep", "table:sweep"]


def origin(**changed) -> str:
    code = {"scripts/statistics.py": "0" * 64}
    return json.dumps({"rule": "statistics", "script": "scripts/statistics.py", "params": {}, "run_ids": ["a"],
                       "inputs": {"b": "0"}, "output": {"sha256": "1"}, "code": code,
                       "code_fingerprint": combined(code), **changed})  # fmt: skip


@pytest.fixture
def origins(tmp_path) -> tuple[Path, Path]:
    for folder in (tmp_path / "shown", tmp_path / "anew"):
        folder.mkdir()
        for name in ("sweep.parquet", "report.html"):
            (folder / name).write_text("1")
            (folder / f"{name}.prov.json").write_text(origin())
    return tmp_path / "shown", tmp_path / "anew"


def test_a_sidecar_that_says_another_origin_or_is_gone_is_named(origins):
    shown, anew = origins
    path = shown / "sweep.parquet.prov.json"
    assert sidecars.check(shown, anew) == []
    path.write_text(origin(run_ids=["b"], inputs={}))
    (finding,) = sidecars.check(shown, anew)
    assert finding.address == "table:sweep" and finding.what.endswith("says another run_ids, inputs")
    path.write_text("{")
    assert sidecars.check(shown, anew)
    path.unlink()
    (finding,) = sidecars.check(shown, anew)
    assert finding.address == "table:sweep" and "is missing, so nothing says what it was made from" in finding.what
    (shown / "sweep.parquet").unlink()
    assert sidecars.check(shown, anew) == [], "a table that is not there is told by itself"


def test_another_code_is_a_remark_and_a_fingerprint_that_is_not_of_it_a_finding(origins):
    shown, anew = origins
    other = {"scripts/statistics.py": "1" * 64}
    for name in ("sweep.parquet", "report.html"):
        (shown / f"{name}.prov.json").write_text(origin(code=other, code_fingerprint=combined(other)))
    assert sidecars.check(shown, anew) == [], "another code may give the same numbers"
    (remark,) = sidecars.other_code(shown, anew)
    assert "made by other code than this: scripts/statistics.py differ" in remark
    assert sidecars.other_code(anew, anew) == []
    (shown / "report.html.prov.json").write_text(origin(code_fingerprint="f" * 64))
    (finding,) = sidecars.check(shown, anew)
    assert finding.address == "report:report" and "code fingerprint" in finding.what


def test_what_is_set_for_snakemake_or_python_elsewhere_does_not_reach_the_recomputation(tmp_path, monkeypatch):
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "mine")
    monkeypatch.setenv("PYTHONSTARTUP", "x.py")
    given = []

    def run(words, env, **rest):
        given.append(env)
        return SimpleNamespace(returncode=0, stdout="", stderr="")

    monkeypatch.setattr(recompute.subprocess, "run", run)
    assert recompute.run(tmp_path, "b", 1) == (0, "")
    assert "PATH" in given[0] and set(given[0]) <= set(recompute.PASSED_ON)


def test_a_folder_that_is_no_report_is_refused(tmp_path):
    for folder in (Path("/nonexistent"), tmp_path):
        with pytest.raises(ArchiveError, match="has no report"):
            check.verify(folder, 1, print)
