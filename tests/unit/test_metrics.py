"""The metrics of a run against the oracle, a simulator whose truth is known."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchbook.derive import little, requests, runs, window
from benchbook.measure import bench_result
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
import oracle

SPEC = {"slot": "s1", "arm": "a", "spec_hash": "0" * 12, "workload": {"output_tokens": 1024}}
THRESHOLDS = {"steady_window_min_s": 30.0, "steady_window_min_e2el": 2.0, "little_pass": 0.01, "little_warn": 0.03}
CLOCK_S = 1000.0


def simulated(name=None, **config):
    run = oracle.simulate(oracle.replace(oracle.CONFIGS[name] if name else oracle.Config(), keep_itl=True, **config))
    result = oracle.to_vllm_json(run)
    result["start_times"] = [CLOCK_S + start for start in result["start_times"]]
    return run, result


def row_of(run, result, verdict="CONVERGED"):
    record = {
        "run": "a_c1_r1", "concurrency": run.cfg.concurrency, "repeat": 1, "num_prompts": run.cfg.num_prompts,
        "status": "ok", "reason": None, "t_start_s": 5e8, "t_end_s": 5e8 + result["duration"], "m_start_s": CLOCK_S,
        "m_end_s": CLOCK_S + result["duration"],
    }  # fmt: skip
    listed = requests.table(requests.rows("s", SPEC, record, result))
    return listed, runs.row("s", SPEC, record, result["duration"], listed, warmup_verdict=verdict,
                            expected_failure=False, busy_until_s=None, thresholds=THRESHOLDS)  # fmt: skip


@pytest.mark.parametrize("name", ["A_whole", "A_partial", "B_c16", "C_clean", "C_stall", "E_spec"])
def test_a_run_reads_as_the_oracle_says(name):
    run, result = simulated(name)
    truth = oracle.metrics(run)
    listed, row = row_of(run, result)
    assert row["throughput_tok_s"] == pytest.approx(truth["tok_s"], rel=1e-9)
    assert row["ttft_mean_ms"] == pytest.approx(truth["ttft_ms"], rel=1e-9)
    assert row["tpot_mean_ms"] == pytest.approx(truth["tpot_ms"], rel=1e-9)
    assert row["itl_p50_ms"] == pytest.approx(truth["itl_median_ms"], rel=1e-9)
    assert row["e2el_mean_ms"] == pytest.approx(1000 * truth["e2el_s"], rel=1e-9)
    assert (listed["ttft_ms"] + listed["itl_ms"].map(sum)).to_numpy() == pytest.approx(listed["e2el_ms"].to_numpy())
    assert listed["t_send_s"].min() == pytest.approx(5e8)


def test_whole_and_partial_waves():
    (whole_run, whole), (partial_run, partial) = simulated("A_whole"), simulated("A_partial")
    _, full = row_of(whole_run, whole)
    _, cut = row_of(partial_run, partial)
    assert full["whole_waves"] and full["little"] == little.PASS and full["fill"] == pytest.approx(1, abs=0.01)
    assert not cut["whole_waves"] and cut["little"] == little.REFUSED and "UNSTEADY" in cut["tags"]
    assert cut["throughput_tok_s"] == pytest.approx(full["throughput_tok_s"] * 3.125 / 4, rel=0.01)
    assert full["throughput_tok_s"] == pytest.approx(1856.1485, rel=1e-6)


@pytest.mark.parametrize("prompts", [128, 256])
def test_the_window_reads_tokens_not_completions(prompts):
    run, result = simulated(concurrency=32, num_prompts=prompts, lout=256, lout_spread=0.5, lin=64)
    listed, row = row_of(run, result)
    emitted = sorted(5e8 - CLOCK_S + CLOCK_S + time for record in run.records
                     for time in np.cumsum([record["t_send"] + record["ttft"], *record["itl"]]))  # fmt: skip
    inside = [time for time in emitted if row["window_start_s"] < time <= row["window_end_s"]]
    assert row["window_throughput_tok_s"] == pytest.approx(len(inside) / row["window_s"], rel=1e-3)
    assert row["window_start_s"] == pytest.approx(listed["t_last_s"].min())
    assert row["window_end_s"] == pytest.approx(listed["t_send_s"].max())


def test_speculative_decoding_shows_in_tokens_per_chunk():
    run, result = simulated("E_spec")
    _, row = row_of(run, result)
    assert row["tokens_per_chunk"] == pytest.approx(1.7, abs=0.03)
    assert row["tpot_mean_ms"] * row["tokens_per_chunk"] == pytest.approx(20.0, rel=0.01)


def test_a_crash_is_incomplete_and_its_zeros_are_no_measurement():
    run, result = simulated("D_crash")
    judged = bench_result.judge(result, run.cfg.num_prompts, run.cfg.lout)
    assert judged.status == "incomplete" and judged.kind == "requests"
    listed, row = row_of(run, result)
    failed = listed[~listed["ok"]]
    assert len(failed) == result["failed"] > 0
    assert failed[["ttft_ms", "e2el_ms", "tpot_ms", "output_tokens", "t_last_s"]].isna().all().all()
    assert row["tpot_mean_ms"] == pytest.approx(oracle.metrics(run)["tpot_ms"])


def test_percentiles_are_withheld_below_their_floors():
    for prompts, p90, p99 in ((63, False, False), (64, True, False), (662, True, True)):
        run, result = simulated(concurrency=1, num_prompts=prompts, lin=8, lout=4, ranks=1)
        _, row = row_of(run, result)
        assert (row["ttft_p90_ms"] is not None, row["ttft_p99_ms"] is not None) == (p90, p99)


def test_tags():
    run, result = simulated("A_whole", num_prompts=256)
    assert row_of(run, result)[1]["tags"] == ""
    assert row_of(run, result, verdict="UNWARMED")[1]["tags"] == "UNWARMED"
    assert row_of(run, result, verdict=None)[1]["tags"] == "UNWARMED"
    short_run, short = simulated("C_clean")
    assert row_of(short_run, short)[1]["tags"] == "UNSTEADY"


def test_one_wave_has_no_steady_window():
    run, result = simulated(concurrency=4, num_prompts=4, lout=16)
    _, row = row_of(run, result)
    assert row["window_throughput_tok_s"] is None and row["throughput_tok_s"] > 0


def test_every_request_failed_gives_nulls_and_the_reason():
    result = {"duration": 0.1, "input_lens": [8, 8], "output_lens": [0, 0], "ttfts": [0.0, 0.0], "itls": [[], []],
              "latencies": [0.0, 0.0], "start_times": [CLOCK_S, CLOCK_S], "errors": ["T\nOSError: no", "x"]}
    judged = bench_result.judge(result, 2, 8)
    assert (judged.status, judged.reason) == ("failed", "all 2 requests failed: OSError: no")
    assert bench_result.summarise(result) == bench_result.Summary(None, None)


def test_an_empty_answer_is_not_a_request_that_went_well():
    result = {"duration": 0.1, "input_lens": [8], "output_lens": [0], "ttfts": [0.0], "itls": [[]],
              "start_times": [CLOCK_S], "errors": [""]}  # fmt: skip
    assert bench_result.judge(result, 1, 8).reason == "all 1 requests failed: no tokens came back"


def test_a_short_answer_is_incomplete():
    _run, result = simulated(concurrency=2, num_prompts=4, lout=16, lin=8)
    result["output_lens"][2] = 15
    judged = bench_result.judge(result, 4, 16)
    assert judged.status == "incomplete" and "1 of 4 requests did not return the 16 tokens" in judged.reason


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 16), st.integers(1, 6), st.integers(2, 40), st.floats(0, 0.9))
def test_little_is_an_identity_and_the_window_lies_inside_the_run(concurrency, waves, lout, spread):
    run, result = simulated(concurrency=concurrency, num_prompts=concurrency * waves, lin=16, lout=lout,
                            lout_spread=spread, ranks=1)  # fmt: skip
    listed, row = row_of(run, result)
    assert row["in_flight_mean"] == pytest.approx(listed["e2el_ms"].sum() / 1000 / result["duration"])
    assert 0 < row["fill"] <= 1 + 1e-9
    assert row["little_delta"] == pytest.approx(row["fill"] - 1)
    if row["window_throughput_tok_s"] is not None:
        found = window.steady(listed)
        assert listed["t_send_s"].min() <= found.start_s <= found.end_s <= listed["t_last_s"].max()
