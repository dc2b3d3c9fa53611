"""A recording becomes a session: clocks put together, records written once, bad recordings refused."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from benchbook import rawdata
from benchbook.adopt import clock, log_place, recording, session
from benchbook.config import spec
from benchbook.config.load import load_booking
from benchbook.derive import warmup
from benchbook.derive.counters import Counted
from benchbook.errors import StoreError

ROOT = Path(__file__).parents[2]
H200 = ROOT / "recordings" / "h200-qwen3moe"


def specification():
    (value,) = spec.session_specs(load_booking(ROOT, "h200-recorded"), ROOT)
    return value


@pytest.fixture(scope="module")
def recorded():
    return recording.read(H200, "s1")


def test_the_clocks_of_nine_results_agree_to_milliseconds(recorded):
    everything = [*recorded.readings, *recorded.runs]
    whole = clock.align([item.result for item in everything], [item.telemetry for item in everything])
    assert whole.by == "counters" and whole.error_s < 0.02
    for item in everything:
        alone = clock.align([item.result], [item.telemetry])
        assert alone.offset_s == pytest.approx(whole.offset_s, abs=0.02)


def test_a_shifted_clock_is_found(recorded):
    item = recorded.runs[1]
    before = clock.align([item.result], [item.telemetry])
    shifted = [{**line, "t": line["t"] + 0.4} for line in item.telemetry]
    assert clock.align([item.result], [shifted]).offset_s == pytest.approx(before.offset_s + 0.4, abs=0.01)


def test_without_scrapes_the_dates_leave_seconds_open(recorded):
    item = recorded.runs[1]
    by_date = clock.align([item.result], [[]])
    truth = clock.align([item.result], [item.telemetry])
    assert by_date.by == "dates" and abs(by_date.offset_s - truth.offset_s) <= by_date.error_s
    ahead = clock.align([item.result], [[]], utc_offset_h=2)
    assert ahead.offset_s == pytest.approx(by_date.offset_s - 7200)


def test_adopted_once_and_read_back(recorded, tmp_path):
    value = specification()
    manifest = session.adopt(recorded, value, tmp_path / "store")
    assert session.adopt(recorded, value, tmp_path / "store") == manifest
    (raw,) = rawdata.sessions(manifest, tmp_path / "store")
    assert raw.session_id == "20261130-145619" and raw.status == "complete"
    assert [record["run"] for record in raw.runs] == [f"base_c{level}_r1" for level in (1, 8, 32, 64, 128)]
    assert {record["status"] for record in raw.runs + raw.readings} == {"ok"}
    assert all(raw.scrapes(record) for record in raw.runs)
    assert raw.events[0]["phase"] == "boot" and 180 < raw.events[0]["t_end_s"] - raw.events[0]["t_start_s"] < 200


def test_the_recorded_warmup_is_judged_like_any_other(recorded, tmp_path):
    (raw,) = rawdata.sessions(session.adopt(recorded, specification(), tmp_path / "store"), tmp_path / "store")
    readings = warmup.table([raw])
    assert readings["throughput_tok_s"].round().tolist() == [373, 666, 1071, 1128]
    assert readings["late_work"].tolist() == [1, 0, 0, 0], "a kernel was compiled in the first reading"
    assert readings["stalls"].tolist() == [1, 16, 0, 0]
    assert set(readings["verdict"]) == {"UNWARMED"} and readings["gate"].isna().all()
    assert "4 readings, and the rule asks for at least 6" in readings["verdict_reason"].iloc[0]
    assert warmup.of_run(readings, raw.spec, raw.runs[0]) == (None, False), "no reading at that concurrency"


LOG = b"""INFO 12-31 23:59:58 [a.py:1] before
(EngineCore pid=1) WARNING 12-31 23:59:59 [a.py:1] first
a line without a stamp
(APIServer pid=2) INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
INFO 12-31 23:59:59 [a.py:1] last
no stamp either
INFO 01-01 00:00:05 [a.py:1] after
"""


def test_the_log_of_a_benchmark_is_found_by_its_stamps():
    end_of_year = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()
    found = log_place.between(LOG, end_of_year + 0.2, end_of_year + 0.4, 0)
    assert found == (LOG.index(b"(EngineCore"), LOG.index(b"INFO 01-01"))
    assert log_place.between(LOG, end_of_year + 7200.2, end_of_year + 7200.4, -2) == found, "the log has local time"
    before = log_place.between(LOG, end_of_year - 2, end_of_year - 2, 0)
    assert before == (0, LOG.index(b"(EngineCore")), "the second that it ended in counts"
    start, end = log_place.between(LOG, end_of_year - 3600, end_of_year - 3599, 0)
    assert start == end


def copied(tmp_path, change):
    folder = tmp_path / "recording"
    shutil.copytree(H200, folder)
    manifest = yaml.safe_load((folder / "recording.yaml").read_text())
    change(folder, manifest["sessions"][0])
    (folder / "recording.yaml").write_text(yaml.safe_dump(manifest))
    return folder


def drop_log(folder, _):
    (folder / "base.server.log.gz").unlink()


def cut_log(folder, _):
    (folder / "base.server.log.gz").write_bytes((folder / "base.server.log.gz").read_bytes()[:100])


def aggregates_only(folder, entry):
    result = json.loads(gzip.decompress((folder / "warm1.bench.json.gz").read_bytes()))
    (folder / "warm1.json").write_text(json.dumps({k: v for k, v in result.items() if not isinstance(v, list)}))
    entry["readings"][0]["result"] = "warm1.json"


def broken_json(folder, entry):
    (folder / "broken.json").write_text('{"ttfts": [')
    entry["runs"][0]["result"] = "broken.json"


@pytest.mark.parametrize(("change", "told"), [
    (drop_log, "base.server.log.gz"), (cut_log, "base.server.log.gz"), (aggregates_only, "--save-detailed"),
    (broken_json, "not JSON"), (lambda _, entry: entry.update(slot="s2"), "no session for s1"),
    (lambda _, entry: entry.pop("launched"), "launched"),
    (lambda _, entry: entry["runs"][0].update(repeat="first"), "recording.yaml"),
    (lambda _, entry: entry.update(node="H200"), "are maps"), (lambda _, entry: entry.update(runs=[]), "no runs"),
    (lambda _, entry: entry.update(utc_offset_h=120), "utc_offset_h"),
    (lambda _, entry: entry.update(server_log="../../secret.log"), "lies outside"),
])  # fmt: skip
def test_a_bad_recording_is_refused_in_a_sentence(tmp_path, change, told):
    with pytest.raises(StoreError, match=told):
        recording.read(copied(tmp_path, change), "s1")


def results_of(recorded, change=None):
    items = recorded.runs
    return [item.result for item in items], [(change or (lambda lines: lines))(item.telemetry) for item in items]


def test_a_test_prompt_before_the_run_does_not_shift_the_clock(recorded):
    """The client may send its first prompt once before it begins; the server counts its tokens as well."""
    item = recorded.runs[1]
    truth = clock.align([item.result], [item.telemetry])
    extra = item.result["output_lens"][0]
    began_s = min(item.result["start_times"]) + truth.offset_s

    def with_prompt(line):
        late = line["src"] == "metrics" and line["t"] > began_s - 3
        return line | ({"v": {name: value + extra * late * name.startswith(clock.GENERATED)
                              for name, value in line["v"].items()}} if line["src"] == "metrics" else {})

    moved = clock.align([item.result], [[with_prompt(line) for line in item.telemetry]])
    assert moved.offset_s == pytest.approx(truth.offset_s, abs=0.02) and moved.error_s < 0.02


def test_chunks_of_several_tokens_are_put_in_time(recorded):
    item = recorded.runs[1]
    truth = clock.align([item.result], [item.telemetry])
    merged = [[sum(gaps[i : i + 3]) if i % 5 == 0 else gaps[i] for i in range(len(gaps)) if i % 5 not in (1, 2)]
              for gaps in item.result["itls"]]  # fmt: skip
    assert clock.align([item.result | {"itls": merged}], [item.telemetry]).offset_s == pytest.approx(
        truth.offset_s, abs=0.2
    )


def test_telemetry_of_another_time_is_refused(recorded, tmp_path):
    results, telemetry = results_of(recorded)
    assert clock.align(results, telemetry[::-1]).error_s > 1
    ahead = copied(tmp_path, lambda _, entry: entry.update(utc_offset_h=1))
    with pytest.raises(StoreError, match="Check utc_offset_h"):
        session.adopt(recording.read(ahead, "s1"), specification(), tmp_path / "store")
    assert not [path for path in (tmp_path / "store").glob("*") if not path.name.startswith(".")]


def test_results_of_two_clocks_are_refused(recorded):
    results, telemetry = results_of(recorded)
    results[0] = results[0] | {"start_times": [start + 100 for start in results[0]["start_times"]]}
    with pytest.raises(StoreError, match="one clock"):
        clock.align(results, telemetry)


def test_traffic_that_the_recording_leaves_out_is_not_counted_as_a_runs_own(recorded, tmp_path):
    def some(_, entry):
        entry["runs"] = [entry["runs"][1], entry["runs"][3]]

    folder = copied(tmp_path, some)
    raw = rawdata.sessions(session.adopt(recording.read(folder, "s1"), specification(), tmp_path / "store"),
                           tmp_path / "store")[0]  # fmt: skip
    for record in raw.runs:
        scrapes = raw.scrapes(record)
        if scrapes is not None:
            counted = Counted(*scrapes).difference(clock.GENERATED)
            assert counted == sum(raw.result(record)["output_lens"])


@pytest.mark.parametrize(("change", "told"), [
    (lambda spec: spec["server"]["args"].update({"max-num-seqs": 64}), "max-num-seqs 512, the booking 64"),
    (lambda spec: spec["plan"][1].update(num_prompts=16), "32 prompts, the booking plans 16"),
    (lambda spec: spec["workload"].update(input_tokens=128), "prompts of 256 tokens"),
    (lambda spec: spec["node"].update(gpus=8), "on 1 GPUs, node h200 has 8"),
])  # fmt: skip
def test_a_recording_of_another_booking_is_refused(recorded, tmp_path, change, told):
    value = specification()
    change(value)
    with pytest.raises(StoreError, match=told):
        session.adopt(recorded, value, tmp_path / "store")


@pytest.mark.parametrize("edit", [
    lambda entry: entry.update(launched="2026-11-30T14:56:12Z"), lambda entry: entry["node"].update(cores=17),
    lambda entry: entry["readings"][0].update(output_tokens=65),
])  # fmt: skip
def test_an_edited_manifest_never_counts_twice(recorded, tmp_path, edit):
    session.adopt(recorded, specification(), tmp_path / "store")
    folder = copied(tmp_path, lambda _, entry: edit(entry))
    with pytest.raises(StoreError, match="before a change"):
        session.adopt(recording.read(folder, "s1"), specification(), tmp_path / "store")


def test_a_run_that_is_not_planned_is_refused(recorded, tmp_path):
    value = specification()
    value["plan"] = value["plan"][:-1]
    with pytest.raises(StoreError, match="concurrency 128, which the booking does not plan"):
        session.adopt(recorded, value, tmp_path / "store")


def test_another_content_never_replaces_what_was_adopted(recorded, tmp_path):
    value = specification()
    session.adopt(recorded, value, tmp_path / "store")
    folder = copied(tmp_path, lambda _, entry: entry["readings"].pop())
    with pytest.raises(StoreError, match="before a change"):
        session.adopt(recording.read(folder, "s1"), value, tmp_path / "store")
