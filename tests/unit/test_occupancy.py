"""Busy and idle time per step: the write-up's figures run by run, and every reason to withhold them."""

from __future__ import annotations

import frames
import pandas as pd
import pytest
from benchbook.claims import busy, occupancy
from hypothesis import given, settings
from hypothesis import strategies as st

BOOKING = {"clients": ["native"], "node": {"gpus": 8}, "thresholds": {"telemetry_coverage_min": 0.95}}
TABLES = frames.make(("baseline",), gpu=True, failures=False, repeats=1, boots=1, concurrency=(8,))


def one(run=None, watched=None, booking=BOOKING):
    """The row of one run, with these changes to its rows of the tables runs and telemetry."""
    runs, telemetry = TABLES["runs"].copy(), TABLES["telemetry"].copy()
    for frame, changes in ((runs, run or {}), (telemetry, watched or {})):
        for name, value in changes.items():
            frame[name] = pd.array([value], dtype=frame[name].dtype)
    return occupancy.table(runs, telemetry, booking).to_dict("records")[0]


def test_the_write_ups_step_at_its_largest_batch():
    row = one({"step_ms": 36.38}, {"gpu_util_pct": 51.2, "gpu_util_se_pct": 0.4, "gpu_power_share": 593 / 1100,
                                   "window_s": 62.0})
    assert row["busy_ms"] == pytest.approx(18.6, abs=0.1) and row["idle_ms"] == pytest.approx(17.7, abs=0.1)
    assert row["quadrant"] == busy.WAITING and pd.isna(row["refused"])
    reach = 2.571 * 0.004 * 36.38  # t at 5 degrees of freedom: six blocks
    assert row["idle_low_ms"] == pytest.approx(row["idle_ms"] - reach, rel=1e-3)
    assert row["idle_high_ms"] == pytest.approx(row["idle_ms"] + reach, rel=1e-3)


@pytest.mark.parametrize(("run", "watched", "told"), [
    ({"tags": "TELEM"}, {}, "tagged TELEM"),
    ({}, {"gpu_coverage": 0.576}, "cover 0.58 of the window, below 0.95"),
    ({}, {"gpu_util_pct": 104.0}, "utilization reads 104 %, which cannot be"),
    ({}, {"gpu_refused": "coverage 0.58 < 0.95", "gpu_util_pct": None}, "withheld (coverage 0.58 < 0.95)"),
    ({}, {"gpu_coverage": None}, "no steady window"),
    ({}, {"gpu_util_pct": None}, "offered no utilization"),
    ({}, {"gpu_count": None}, "no GPU was sampled"),
])  # fmt: skip
def test_what_is_not_covered_is_refused_whole(run, watched, told):
    row = one(run, watched)
    assert told in row["refused"]
    assert all(pd.isna(row[name]) for name in ("utilization", "busy_ms", "idle_ms", "quadrant", "spread_pp"))


def test_a_cpu_node_says_so():
    assert "has no GPU" in one({}, {"gpu_count": None}, BOOKING | {"node": {"gpus": 0}})["refused"]


def test_contradicting_readings_give_no_times():
    row = one({}, {"gpu_util_pct": 40.0, "gpu_power_share": 0.9})
    assert row["quadrant"] == busy.CONTRADICTORY and "contradict each other" in row["refused"]
    assert pd.isna(row["busy_ms"]) and row["utilization"] == pytest.approx(0.4)


def test_a_step_is_not_guessed():
    assert "tokens per step are not known" in one({"step_ms": None, "tokens_per_chunk": 1.7})["refused"]
    row = one({"step_ms": None, "tokens_per_chunk": 1.0})
    assert row["step_ms"] == TABLES["runs"]["tpot_mean_ms"].item() and pd.isna(row["refused"])


@pytest.mark.parametrize(("spread", "se", "told"), [(4.8, None, False), (8.0, 0.4, True), (8.0, 3.0, False),
                                                    (8.0, None, None), (None, 0.4, None)])  # fmt: skip
def test_imbalance(spread, se, told):
    value = one({}, {"gpu_util_spread_pct": spread, "gpu_util_se_pct": se})["imbalance"]
    assert pd.isna(value) if told is None else value == told


@settings(deadline=None, max_examples=25)
@given(st.floats(0, 100), st.floats(0, 30), st.floats(0.1, 1e3), st.floats(31, 500))
def test_times_add_up_and_the_interval_holds_the_idle_time(util_pct, se_pct, step_ms, window_s):
    row = one({"step_ms": step_ms}, {"gpu_util_pct": util_pct, "gpu_util_se_pct": se_pct, "gpu_power_share": 0.5,
                                     "window_s": window_s})
    assert row["busy_ms"] + row["idle_ms"] == pytest.approx(step_ms)
    assert 0 <= row["idle_low_ms"] <= row["idle_ms"] + 1e-9
    assert row["idle_ms"] - 1e-9 <= row["idle_high_ms"] <= step_ms + 1e-9
