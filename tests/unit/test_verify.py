"""Every change of one digit, in the page or in a raw file, is found and named."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
from pathlib import Path

import pandas as pd
import pytest
import reportinput
from benchbook.archive import pack
from benchbook.errors import ArchiveError
from benchbook.measure.store import FILES
from benchbook.present import report
from benchbook.verify import check, members, page, raw, sidecars, tables
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
    assert found == {"sweep:a/c1:tpot_mean_ms", "figure:sweep", "sweep:b/c8:*"}
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


def test_a_sidecar_that_says_another_origin_is_named(tmp_path):
    shown, anew = tmp_path / "shown", tmp_path / "anew"
    told = {"rule": "statistics", "script": "scripts/statistics.py", "params": {}, "run_ids": ["a"],
            "inputs": {"b": "0"}, "output": {"sha256": "1"}, "code_fingerprint": "2"}  # fmt: skip
    for folder in (shown, anew):
        folder.mkdir()
        (folder / "sweep.parquet.prov.json").write_text(json.dumps(told))
    (shown / "sweep.parquet.prov.json").write_text(json.dumps({**told, "code_fingerprint": "3"}))
    assert sidecars.check(shown, anew) == [], "another code may give the same numbers"
    (shown / "sweep.parquet.prov.json").write_text(json.dumps({**told, "run_ids": ["b"], "inputs": {}}))
    (finding,) = sidecars.check(shown, anew)
    assert finding.address == "table:sweep" and finding.what.endswith("says another run_ids, inputs")
    (shown / "sweep.parquet.prov.json").write_text("{")
    assert sidecars.check(shown, anew)


def test_a_folder_that_is_no_report_is_refused(tmp_path):
    for folder in (Path("/nonexistent"), tmp_path):
        with pytest.raises(ArchiveError, match="has no report"):
            check.verify(folder, 1, print)
