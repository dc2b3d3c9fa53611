"""What a session makes of a server that warms up, never does, still compiles, or moves again over its runs.

The engine is the fake one, slow by a factor of four where a test says so, and the limits are wide: what a busy machine
adds to its timing does not decide.
"""

from __future__ import annotations

from typing import Any

import pytest
import specs
from benchbook.derive import bench, boot, sessions, sweep, warmup
from benchbook.measure import store

pytestmark = pytest.mark.pipeline
WIDE: dict[str, Any] = {
    "rule": "converged", "min_readings": 6, "throughput_spread": 0.9, "throughput_noise": 0.2, "tpot_spread": 0.8,
    "tpot_slope": 0.15, "tpot_above_best": 2.0, "stalls_settled_max": 1, "gate_tpot_spread": 0.9,
    "gate_tpot_slope": 0.25,
}  # fmt: skip
THRESHOLDS = {"steady_window_min_s": 0.0, "steady_window_min_e2el": 0.0, "little_pass": 0.01, "little_warn": 0.03}


def make(env: dict[str, str], **changes: Any) -> dict[str, Any]:
    asked = {"concurrency": (1,), "repeats": 3, "waves": 1, "readings": 12, "warmup": WIDE} | changes
    return specs.make(env={"FAKE_TPOT_S": "0.01"} | env, **asked)


def names_of(kind: str, *places: int) -> str:
    """Names of the first block's readings, runs or spares at these places, from 0."""
    block = make({})["plan"][0]
    return ",".join(block[kind][place]["name"] for place in places)


def recorded(raw, what):
    return store.read_json(raw.folder / "warmup" / f"{what}_c1.json")


def derived(raw):
    readings = warmup.table([raw])
    *_, runs = bench.tables([raw], readings, THRESHOLDS, [])
    return readings, runs.set_index("repeat").sort_index()


def test_readings_go_on_until_the_server_has_converged(measured):
    manifest, (raw,) = measured(make({"FAKE_SLOW_RUNS": names_of("readings", 0, 1, 2)}))
    assert len(raw.readings) >= 8, "five readings in a row without the trend of the first three"
    assert recorded(raw, "verdict")["verdict"] == "CONVERGED" and recorded(raw, "gate")["outcome"] == "passed"
    readings, runs = derived(raw)
    assert set(readings["verdict"]) == {"CONVERGED"} and set(readings["gate"]) == {"passed"}
    assert readings["verdict_reason"].iloc[0] == recorded(raw, "verdict")["reason"]
    assert readings["stalls"].tolist() == [0] * len(readings) and readings["late_work"].sum() == 0
    assert runs["warmup_verdict"].tolist() == ["CONVERGED"] * 3 and not runs["replaced"].any()
    assert set(manifest["planned"]) == set(manifest["measured"]), "a spare that was not needed is not missing"


def test_a_server_that_never_converges_is_measured_all_the_same(measured):
    manifest, (raw,) = measured(make({"FAKE_DRIFT": "0.25", "FAKE_TPOT_S": "0.005"}, readings=6))
    assert len(raw.readings) == 6 and recorded(raw, "verdict")["verdict"] == "UNWARMED"
    assert recorded(raw, "verdict")["reason"].startswith("TPOT ")
    assert not (raw.folder / "warmup" / "gate_c1.json").exists()
    readings, runs = derived(raw)
    assert readings["gate"].isna().all()
    assert runs["status"].tolist() == ["ok"] * 3 and all("UNWARMED" in tags for tags in runs["tags"])
    assert store.Store(raw.folder.parent).lacks(raw.spec) == []
    assert set(manifest["measured"]) == set(manifest["planned"])


@pytest.mark.parametrize("rule", [WIDE, None], ids=["converged", "two-agree"])
def test_a_server_that_still_compiles_is_not_accepted(measured, rule):
    least, late = (6, (4, 5)) if rule else (2, (0, 1))
    _, (raw,) = measured(make({"FAKE_LATE_RUNS": names_of("readings", *late)}, warmup=rule))
    assert len(raw.readings) >= late[-1] + 3, "two readings without such a line after the last with one"
    assert len(raw.readings) > least
    readings, _ = derived(raw)
    assert readings.loc[readings["late_work"] > 0, "reading"].tolist() == [place + 1 for place in late]
    assert readings["verdict"].iloc[0] == recorded(raw, "verdict")["verdict"] == "CONVERGED"


def test_late_work_to_the_end_is_never_accepted(measured):
    _, (raw,) = measured(make({"FAKE_LATE_RUNS": names_of("readings", *range(7))}, readings=7))
    assert recorded(raw, "verdict")["verdict"] == "UNWARMED"
    assert "compiling, tuning or capturing during reading 7" in recorded(raw, "verdict")["reason"]


def test_runs_over_which_the_server_moved_are_measured_once_more(measured):
    spec = make({"FAKE_SLOW_RUNS": names_of("runs", 0)})
    manifest, (raw,) = measured(spec)
    assert recorded(raw, "gate")["outcome"] == "rerun passed"
    assert [record["run"] for record in raw.runs] == [f"only_c1_r{n}" for n in range(1, 7)]
    readings, runs = derived(raw)
    assert set(readings["gate"]) == {"rerun passed"} and "measured once more" in readings["gate_reason"].iloc[0]
    assert runs["replaced"].tolist() == [True] * 3 + [False] * 3, "both sets are kept"
    assert runs["warmup_verdict"].tolist() == ["UNWARMED"] * 3 + ["CONVERGED"] * 3
    (row,) = sweep.table(runs.reset_index(), ["only"]).to_dict("records")
    assert row["runs"] == 3 and "UNWARMED" not in row["tags"]
    assert row["run_ids"].split() == [f"{raw.session_id}/only_c1_r{n}" for n in (4, 5, 6)]
    assert set(manifest["planned"]) == {f"only_c1_r{n}" for n in (1, 2, 3)} < set(manifest["measured"])
    told = sessions.row(raw, boot.facts([raw])[0], runs.reset_index(), [])
    assert told["runs_done"] == told["runs_planned"] == 6


def test_runs_that_moved_twice_are_all_unwarmed(measured):
    slow = names_of("runs", 0) + "," + names_of("rerun", 1)
    _, (raw,) = measured(make({"FAKE_SLOW_RUNS": slow}))
    assert recorded(raw, "gate")["outcome"] == "failed"
    readings, runs = derived(raw)
    assert set(readings["gate"]) == {"failed"} and readings["verdict"].iloc[0] == "CONVERGED"
    assert len(runs) == 6 and set(runs["warmup_verdict"]) == {"UNWARMED"} and not runs["replaced"].any()
    (row,) = sweep.table(runs.reset_index(), ["only"]).to_dict("records")
    assert row["runs"] == 6 and "UNWARMED" in row["tags"]


def test_a_server_that_dies_in_a_rerun_leaves_no_run_missing(measured, tmp_path):
    env = {"FAKE_SLOW_RUNS": names_of("runs", 0), "FAKE_DIE_RUNS": names_of("rerun", 1)}
    manifest, found = measured(make(env | {"FAKE_DIED_FLAG": str(tmp_path / "died")}))
    assert len(found) == 1 and found[0].status == "failed", "nothing that was planned is still to come"
    assert set(manifest["planned"]) < set(manifest["measured"])
    readings, runs = derived(found[0])
    assert set(readings["gate"]) == {"failed"} and "not every run ended well" in readings["gate_reason"].iloc[0]
    assert runs["status"].tolist() == ["ok"] * 4 + ["failed"] and set(runs["warmup_verdict"]) == {"UNWARMED"}
    assert not runs["replaced"].any()
