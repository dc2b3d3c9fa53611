"""The decode step and how many requests are in it, by the oracle, whose step is t_fixed + c n + p prompt tokens."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from benchbook.derive import decode
from benchbook.derive.window import Window
from hypothesis import given, settings
from hypothesis import strategies as st
from test_metrics import row_of, simulated

MIXED = {"lin": 512, "lout": 128, "lout_spread": 0.3, "ranks": 1, "t_fixed_ms": 17.0, "c_ms": 0.08, "p_ms": 0.02}


@pytest.mark.parametrize("concurrency", [2, 8, 16, 32])
def test_pure_itl_is_the_decode_step_where_mean_tpot_is_biased(concurrency):
    run, result = simulated(concurrency=concurrency, num_prompts=12 * concurrency, **MIXED)
    _, row = row_of(run, result)
    step_ms = 17.0 + 0.08 * row["decode_sequences"]
    assert row["itl_pure_p50_ms"] == pytest.approx(step_ms, rel=0.005)
    assert row["tpot_mean_ms"] > 1.003 * step_ms
    assert 0 < row["itl_pure_share"] < 1


@pytest.fixture(scope="module")
def sweep():
    return [row_of(*simulated(concurrency=c, num_prompts=10 * c, **MIXED))[1] for c in (1, 4, 16, 32, 64)]


def test_the_line_through_pure_itl_is_the_true_one(sweep):
    n, pure, tpot = np.array([(row["decode_sequences"], row["itl_pure_p50_ms"], row["tpot_mean_ms"])
                              for row in sweep]).T  # fmt: skip
    slope, fixed = np.polyfit(n, pure, 1)
    assert (fixed, slope) == (pytest.approx(17.0, rel=0.005), pytest.approx(0.08, rel=0.1))
    assert np.polyfit(n, tpot, 1)[0] > 1.5 * 0.08, "the prompts of others are in the slope"


def test_against_the_sequences_of_the_same_times_the_line_is_exact(sweep):
    assert all(row["itl_pure_sequences"] >= row["decode_sequences"] for row in sweep)
    slope, fixed = np.polyfit([row["itl_pure_sequences"] for row in sweep],
                              [row["itl_pure_p50_ms"] for row in sweep], 1)  # fmt: skip
    assert (fixed, slope) == (pytest.approx(17.0, rel=0.001), pytest.approx(0.08, rel=0.005))


@pytest.mark.parametrize("concurrency", [1, 8, 32])
def test_sequences_are_those_that_the_server_had(concurrency):
    run, result = simulated(concurrency=concurrency, num_prompts=8 * concurrency, **MIXED)
    _, row = row_of(run, result)
    start_s, end_s = row["window_start_s"] - 5e8, row["window_end_s"] - 5e8
    decoding_s = sum(max(0.0, min(end, end_s) - max(start, start_s)) * n for start, end, n, _ in run.steps)
    assert row["decode_sequences"] == pytest.approx(decoding_s / row["window_s"], rel=1e-4)
    assert row["decode_sequences"] <= concurrency


def test_a_failed_request_and_merged_chunks_leave_no_pure_itl():
    _, row = row_of(*simulated("D_crash"))
    assert row["itl_pure_p50_ms"] is None and row["itl_pure_share"] is None
    run, result = simulated(concurrency=4, num_prompts=16, lin=8, lout=129, ranks=1)
    assert row_of(run, result)[1]["itl_pure_p50_ms"] == pytest.approx(17.32)
    result["itls"] = [[a + b for a, b in zip(gaps[::2], gaps[1::2], strict=True)] for gaps in result["itls"]]
    _, row = row_of(run, result)
    assert row["itl_pure_p50_ms"] is None and row["itl_pure_share"] is None
    assert row["decode_sequences"] == pytest.approx(4, rel=0.02)


def test_one_wave_says_nothing_of_either():
    _, row = row_of(*simulated(concurrency=4, num_prompts=4, lout=80))
    assert row["decode_sequences"] is None and row["itl_pure_p50_ms"] is None and row["itl_pure_share"] is None


def test_few_pure_itls_give_a_share_and_no_median():
    _, row = row_of(*simulated(concurrency=1, num_prompts=4, lin=8, lout=20, ranks=1))
    assert row["itl_pure_p50_ms"] is None and row["itl_pure_share"] == pytest.approx(1.0)


def test_percentiles_of_tpot_are_withheld_below_their_floors():
    for prompts, p90, p99 in ((63, False, False), (64, True, False), (662, True, True)):
        _, row = row_of(*simulated(concurrency=1, num_prompts=prompts, lin=8, lout=4, ranks=1))
        assert (row["tpot_p90_ms"] is not None, row["tpot_p99_ms"] is not None) == (p90, p99)


@st.composite
def requests_of_a_run(draw):
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        sent, first = draw(st.integers(0, 400)) / 10, draw(st.integers(1, 100)) / 10
        gaps = [gap / 10 for gap in draw(st.lists(st.integers(1, 60), max_size=12))]
        rows.append({"ok": True, "t_send_s": sent, "t_first_s": sent + first, "t_last_s": sent + first + sum(gaps),
                     "itl_ms": [1000 * gap for gap in gaps]})  # fmt: skip
    return pd.DataFrame(rows)


@settings(max_examples=60, deadline=None)
@given(requests_of_a_run(), st.integers(0, 300), st.integers(1, 400))
def test_the_same_found_one_by_one(listed, start, width):
    steady = Window(start / 10, (start + width) / 10, None)
    inside = pure = 0
    decoding_s = 0.0
    for mine in listed.to_dict("records"):
        decoding_s += max(0.0, min(mine["t_last_s"], steady.end_s) - max(mine["t_first_s"], steady.start_s))
        at = mine["t_first_s"]
        for gap in mine["itl_ms"]:
            begin, at = at, at + gap / 1000
            if begin < steady.start_s - 1e-6 or at > steady.end_s + 1e-6:
                continue
            inside += 1
            pure += all(min(at, other["t_first_s"]) - max(begin, other["t_send_s"]) < 1e-6
                        for other in listed.to_dict("records"))  # fmt: skip
    assert math.isclose(decode.sequences(listed, steady), decoding_s / steady.width_s, abs_tol=1e-9)
    found = decode.pure_itl(listed, steady)
    if not inside:
        assert found is None
    else:
        assert found.share == pytest.approx(pure / inside)
        assert (found.p50_ms is None) == (found.sequences is None) == (pure < decode.ITLS_MIN)
