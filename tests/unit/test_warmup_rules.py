"""The warmup rules on series of known truth: each condition can fail alone, and what is accepted satisfies them all."""

from __future__ import annotations

import gzip
import json
import math
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchbook.derive import stalls
from benchbook.engines.late_work import late_work
from benchbook.measure import bench_result, warmup
from benchbook.measure.warmup import CONVERGED, FAILED, PASSED, RERUN_PASSED, Converged, Reading, TwoAgree
from hypothesis import given
from hypothesis import strategies as st

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS.parent / "benchmarks"))
import warmup_rules  # noqa: E402

W = warmup_rules.W
TWO = warmup_rules.TWO


def series(tpots: Any, throughputs: Any = None, **marks: set[int]) -> list[Reading]:
    """Readings with these TPOTs (ms); `stalled`, `late` and `failed` are numbers of readings, from 1."""
    throughputs = throughputs if throughputs is not None else [1000.0] * len(tpots)
    return [
        Reading(x, t, stalled=n in marks.get("stalled", ()), late_work=n in marks.get("late", ()),
                ok=n not in marks.get("failed", ()))
        for n, (t, x) in enumerate(zip(tpots, throughputs, strict=True), start=1)
    ]  # fmt: skip


FLAT = [10.0] * 6
FALLING = [10 * 0.997**n for n in range(6)]


@pytest.mark.parametrize(("readings", "told", "limits", "mended"), [
    (series([10.0] * 5), "5 readings, and the rule asks for at least 6", {"min_readings": 5}, None),
    (series(FLAT, [1000, 1000, 1000, 1000, 1000, 1030]), "throughput of the last three of 6 readings spreads 3 %",
     {"throughput_spread": 0.031}, None),
    (series(FLAT, [1000, 1000, 1000, 1000, 1000, 1030]), "more than 2.8 %", {"throughput_noise": 0.0076}, None),
    (series([10, 10, 10, 10, 9.93, 10.05]), "TPOT of the last three of 6 readings spreads 1.21 %",
     {"tpot_spread": 0.0122}, None),
    (series(FALLING), "TPOT moves -0.3 % a reading over the last five of 6", {"tpot_slope": 0.0031}, None),
    (series([10, 10, 9.7, *[10.0] * 6]), "TPOT of reading 4 lies 3.09 % above the best before it",
     {"tpot_above_best": 0.031}, None),
    (series([10.0] * 8, stalled={3, 4}), "2 readings after the second had a stall, more than 1",
     {"stalls_settled_max": 2}, None),
    (series(FLAT, stalled={4}), "1 of the last three of 6 readings had a stall", {}, series(FLAT, stalled={1, 2, 3})),
    (series(FLAT, late={5}), "compiling, tuning or capturing during reading 5", {}, series(FLAT, late={1, 4})),
    (series(FLAT, failed={2}), "requests of reading 2 failed", {}, series(FLAT, failed={1})),
])  # fmt: skip
def test_each_condition_fails_alone(readings, told, limits, mended):
    """The verdict names the condition; with that limit wider, or its fault elsewhere, the readings are accepted."""
    verdict = W.judge(readings)
    assert not verdict.accepted and verdict.verdict == "UNWARMED" and told in verdict.reason
    assert "\n" not in verdict.reason and not verdict.reason.endswith(".")
    assert replace(W, **limits).judge(mended or readings).verdict == CONVERGED


def test_the_best_before_the_second_reading_does_not_count():
    assert W.judge(series([9.0, *[10.0] * 6])).accepted
    assert not W.judge(series([10.0, 9.0, *[10.0] * 6])).accepted


def test_a_reading_without_a_result_is_no_reading():
    for missing in (Reading(None, 10.0), Reading(1000.0, None), Reading(None, None, ok=False)):
        assert "requests of reading 7 failed" in W.judge([*series(FLAT), missing]).reason
        assert "requests of reading 7 failed" in TWO.judge([*series(FLAT), missing]).reason


level = st.floats(0.01, 1e4)


@given(tpot=level, throughput=level)
def test_a_steady_server_is_accepted_at_the_sixth_reading_and_stays_so(tpot, throughput):
    readings = [Reading(throughput, tpot)] * 10
    assert [W.judge(readings[:k]).accepted for k in range(1, 11)] == [False] * 5 + [True] * 5
    assert [TWO.judge(readings[:k]).accepted for k in range(1, 4)] == [False, True, True]
    assert warmup.gate(W, readings[:6], readings[:3]).outcome == PASSED


some = st.builds(
    Reading, st.floats(0.975, 1.025).map(lambda x: 1000 * x), st.floats(0.994, 1.006).map(lambda x: 10 * x),
    stalled=st.sampled_from([False] * 9 + [True]), late_work=st.sampled_from([False] * 9 + [True]),
    ok=st.sampled_from([True] * 19 + [False]),
)  # fmt: skip


@given(st.lists(some, min_size=1, max_size=10))
def test_what_is_accepted_satisfies_every_condition_of_the_method(readings):
    verdict = W.judge(readings)
    k = len(readings)
    last = readings[-5:]
    holds = k >= 6 and all(reading.ok for reading in last)
    if holds:
        x, t = np.array([(r.throughput_tok_s, r.tpot_mean_ms) for r in last]).T
        counted = [(n, r.tpot_mean_ms) for n, r in enumerate(readings, 1) if n >= 2 and r.ok]
        holds = (
            x[-3:].max() / x[-3:].min() - 1 <= max(0.02, 4 * 0.007)
            and t[-3:].max() / t[-3:].min() - 1 <= 0.01
            and abs(np.polyfit(range(5), np.log(t), 1)[0]) <= 0.0025
            and not any(r.stalled for r in readings[-3:])
            and sum(r.stalled for r in readings[2:]) <= 1
            and not any(r.late_work for r in readings[-2:])
            and all(t <= 1.02 * min(before for m, before in counted if m < n) for n, t in counted
                    if any(m < n for m, _ in counted))
        )  # fmt: skip
    assert verdict.accepted == holds
    assert (verdict.verdict == CONVERGED) == verdict.accepted


@given(st.lists(some, min_size=6, max_size=10))
def test_units_do_not_matter(readings):
    scaled = [replace(r, throughput_tok_s=r.throughput_tok_s * 2, tpot_mean_ms=r.tpot_mean_ms * 4) for r in readings]
    assert W.judge(scaled) == W.judge(readings)


def test_two_agree_compares_throughput_and_minds_late_work():
    assert TWO.judge(series([10, 20], [1000, 1020])).accepted, "TPOT is not asked"
    assert "differ by 2.1 %" in TWO.judge(series([10, 10], [1000, 1021])).reason
    assert not TWO.judge(series([10, 10], late={1})).accepted
    assert TWO.judge(series([10, 10, 10], late={1})).accepted
    assert not TWO.judge(series([10, 10], failed={1})).accepted
    assert not replace(TWO, min_readings=3).judge(series([10, 10])).accepted
    assert "1 reading, and" in TWO.judge(series([10])).reason


LAST = series(FLAT)


@pytest.mark.parametrize(("runs", "outcome", "told"), [
    (series([10, 10.05, 10]), PASSED, "TPOT spreads 0.5 %"),
    (series([10, 10.11, 10]), FAILED, "TPOT spreads 1.1 %"),
    (series([10.03, 10.06, 10.09]), FAILED, "TPOT moves +0.3 % a run"),
    (series([10, 10, 10], stalled={2}), FAILED, "1 of the 4 measurements from the last before the runs had a stall"),
    (series([10, 12, 10], failed={2}), PASSED, "over the 3 measurements"),
    (series([10.09]), PASSED, "over the 2 measurements"),
])  # fmt: skip
def test_the_gate(runs, outcome, told):
    gate = warmup.gate(W, LAST, runs)
    assert gate.outcome == outcome and told in gate.reason


def test_the_gate_starts_at_the_last_reading():
    assert warmup.gate(W, [*LAST[:-1], Reading(1000, 10.06)], series([9.95, 9.95, 9.95])).outcome == FAILED


def test_nothing_to_judge():
    assert warmup.gate(TWO, LAST, series([10, 20, 10])) is None
    assert warmup.gate(W, LAST[:5], series([10, 20, 10])) is None, "the warmup was not accepted"
    assert warmup.gate(W, LAST, series([10, 10], failed={1, 2})) is None
    assert warmup.gate(W, [], []) is None


@pytest.mark.parametrize(("again", "outcome"), [
    (series([12, 12, 12]), RERUN_PASSED),
    (series([12, 12.2, 12]), FAILED),
    (series([12, 12]), FAILED),
    (series([12, 12, 12], failed={3}), FAILED),
    ([], FAILED),
])  # fmt: skip
def test_runs_measured_once_more_are_judged_from_the_last_run_before_them(again, outcome):
    assert warmup.gate(W, LAST, series([10, 12, 12]), again).outcome == outcome


def test_the_gate_holds_a_reading_against_the_first_wave_of_a_run_and_not_against_its_prefill():
    """Readings of 10 ms and runs of 10.3 ms whose first waves took 10 ms: the server has not moved."""
    slower = [replace(run, tpot_first_wave_ms=10.0) for run in series([10.3, 10.3, 10.3])]
    assert warmup.gate(W, LAST, slower).outcome == PASSED
    moved = [replace(run, tpot_first_wave_ms=10.3) for run in slower]
    assert warmup.gate(W, LAST, moved).outcome == FAILED
    trending = [replace(run, tpot_first_wave_ms=10.0) for run in series([10.3, 10.45, 10.6])]
    assert warmup.gate(W, LAST, trending).outcome == FAILED
    assert warmup.gate(W, LAST, series([10.3, 10.3, 10.3])).outcome == FAILED, "a record that does not say"
    again = [replace(run, tpot_first_wave_ms=9.0) for run in series([10.6, 10.6, 10.6])]
    assert warmup.gate(W, LAST, trending, again).outcome == warmup.RERUN_PASSED, "runs are held against runs"


def test_a_gate_that_passed_needs_no_second_set():
    assert warmup.gate(W, LAST, series([10, 10, 10]), series([99, 10, 10])).outcome == PASSED


# --- stalls (method.md 8)


def requests(ttfts: list[float], itls: list[tuple[float, ...]] | None = None) -> list[bench_result.Request]:
    itls = itls or [(0.02,)] * len(ttfts)
    return [
        bench_result.Request(True, None, 1.0, ttft, ttft + math.fsum(itl), itl, 8, 1 + len(itl))
        for ttft, itl in zip(ttfts, itls, strict=True)
    ]


@pytest.mark.parametrize(("listed", "count"), [
    (requests([0.1] * 8), 0),
    (requests([0.1] * 7 + [1.11]), 1),
    (requests([0.1] * 7 + [1.09]), 0),
    (requests([0.6] * 7 + [1.75]), 0),
    (requests([0.6] * 7 + [1.85]), 1),
    (requests([0.1] * 3, [(0.02,), (0.02, 1.01), (1.0,)]), 1),
    (requests([0.1] * 7 + [3.0], [(0.02,)] * 7 + [(2.0, 2.0)]), 1),
    (requests([5.0]), 0),
    (requests([0.1, 9.0]), 0),
    ([], 0),
])  # fmt: skip
def test_a_stall_is_a_late_first_token_or_a_long_gap(listed, count):
    assert bench_result.stalls(listed) == count


def test_failed_requests_do_not_stall():
    failed = bench_result.Request(False, "gone", 1.0, None, None, (), None, None)
    assert bench_result.stalls([failed] * 3) == 0
    assert bench_result.stalls([failed, *requests([0.1] * 7 + [2.0])]) == 1


GRID = [0.03, 0.1, 0.4, 0.7, 0.99, 1.2, 1.9, 2.3, 5.0]  # no two of them a second or three times apart


@given(st.lists(st.tuples(st.sampled_from(GRID), st.lists(st.sampled_from(GRID), max_size=4)), min_size=1, max_size=9))
def test_the_session_and_derive_count_the_same_stalls(made):
    listed = requests([ttft for ttft, _ in made], [tuple(itl) for _, itl in made])
    rows = pd.DataFrame({"ok": True, "ttft_ms": [1000 * r.ttft_s for r in listed],
                         "itl_ms": [[1000 * gap for gap in r.itl_s] for r in listed]})  # fmt: skip
    assert bench_result.stalls(listed) == int(stalls.stalled(rows).sum())


# --- four readings of a server on an H200


def recorded() -> tuple[list[dict[str, Any]], str]:
    folder = TESTS.parent / "recordings" / "h200-qwen3moe"
    files = [folder / f"warm{n}.bench.json.gz" for n in range(1, 5)]
    log = gzip.decompress((folder / "base.server.log.gz").read_bytes()).decode()
    return [json.loads(gzip.decompress(file.read_bytes())) for file in files], log


def test_a_recorded_warmup_is_not_accepted_at_its_second_reading():
    """373 and 666 tok/s, 0.5 % apart in TPOT: the time went before the first tokens, where TPOT does not look."""
    results, log = recorded()
    started = log.index("Application startup complete.")
    work = [(datetime.strptime(f"2026-{time}", "%Y-%m-%d %H:%M:%S"), line) for time, line in late_work(log[started:])]
    readings, late = [], []
    for result in results:
        summary = bench_result.summarise(result, int(result["max_concurrency"]))
        end = datetime.strptime(result["date"], "%Y%m%d-%H%M%S")
        start = end - timedelta(seconds=result["duration"] + 1)  # both stamps are cut to the second
        late.append([line for time, line in work if start <= time <= end])
        stalled = bool(bench_result.stalls(bench_result.requests(result)))
        readings.append(Reading(summary.throughput_tok_s, summary.tpot_mean_ms, stalled, bool(late[-1])))
    assert [round(reading.throughput_tok_s) for reading in readings] == [373, 666, 1071, 1128]
    assert [reading.stalled for reading in readings] == [True, True, False, False]
    assert [len(lines) for lines in late] == [1, 0, 0, 0] and "fused_moe_kernel" in late[0][0]
    first, second = (reading.tpot_mean_ms for reading in readings[:2])
    assert second / first - 1 == pytest.approx(0.0054, abs=1e-4)
    for rule in (TWO, W):
        assert not any(rule.judge(readings[:k]).accepted for k in range(1, 5))
    assert "differ by 78.8 % in throughput" in TWO.judge(readings[:2]).reason
    quiet = [replace(reading, throughput_tok_s=1000.0) for reading in readings[:2]]
    assert "compiling, tuning or capturing during reading 1" in TWO.judge(quiet).reason


# --- the table of method.md 2


def test_the_rules_are_as_often_wrong_as_the_method_says():
    series_of_each = 800
    found = warmup_rules.table(series_of_each, seed=11)
    for truth in warmup_rules.TRUTHS:
        *known, gated = truth.published
        pairs = [(got, said) for rule, cell in zip(warmup_rules.RULES, known, strict=False)
                 for got, said in zip(found[truth.name][rule], cell, strict=True)]  # fmt: skip
        for got, said in [*pairs, (found[truth.name]["W + gate"], gated)]:
            share = min(max(said / 100, 0.005), 0.995)
            error = 100 * math.sqrt(share * (1 - share) * (1 / series_of_each + 1 / 4000))
            assert abs(got - said) <= 4 * error + 0.5, truth.name
    assert found["steady"]["gate fails"] == pytest.approx(12, abs=5)


def test_a_specification_says_which_rule():
    limits = {"rule": "two-agree", "max_readings": 10, "min_readings": 2, "tolerance": 0.02}
    assert warmup.rule(limits) == TwoAgree(2, 0.02)
    assert isinstance(warmup.rule({"rule": "converged", **W.__dict__}), Converged)
    with pytest.raises(KeyError):
        warmup.rule(limits | {"rule": "three-agree"})


def test_a_reading_from_its_record():
    record = {"status": "ok", "throughput_tok_s": 5.0, "tpot_mean_ms": 2.0, "stalls": 1}
    line = "(EngineCore pid=1) INFO 11-30 14:59:27 [a.py:1] Graph capturing finished in 22 secs, took 0.80 GiB\n"
    assert warmup.reading(record, line) == Reading(5.0, 2.0, stalled=True, late_work=True)
    assert warmup.reading(record | {"stalls": None}, None) == Reading(5.0, 2.0)
    assert not warmup.reading(record | {"status": "incomplete"}, "").counts


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_what_is_no_number_agrees_with_nothing(bad):
    assert not W.judge(series([10.0] * 5 + [bad])).accepted
    assert not W.judge(series(FLAT, [1000.0] * 5 + [bad])).accepted
    assert not TWO.judge(series([10.0, 10.0], [1000.0, bad])).accepted
