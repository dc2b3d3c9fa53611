"""The metrics of a run against the oracle, a simulator whose truth is known."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchbook.derive import little, requests, runs, stalls, window
from benchbook.derive.counters import Counted
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


def row_of(run, result, verdict="CONVERGED", late_work=0):
    record = {
        "run": "a_c1_r1", "concurrency": run.cfg.concurrency, "repeat": 1, "num_prompts": run.cfg.num_prompts,
        "status": "ok", "reason": None, "t_start_s": 5e8, "t_end_s": 5e8 + result["duration"], "m_start_s": CLOCK_S,
        "m_end_s": CLOCK_S + result["duration"],
    }  # fmt: skip
    listed = requests.table(requests.rows("s", SPEC, record, result))
    return listed, runs.row("s", SPEC, record, result["duration"], listed, counted=counters_of(run),
                            late_work=late_work, tokens_from=requests.tokens_from(result), warmup_verdict=verdict,
                            expected_failure=False, busy_until_s=None, thresholds=THRESHOLDS)  # fmt: skip


def counters_of(run, drafts=1000):
    """The counters that a server with the run's acceptance would have moved."""
    accepted = drafts * (run.truth["accept_len"] - 1)
    after = {'vllm:request_success_total{finished_reason="length"}': 9.0,
             "vllm:time_to_first_token_seconds_count": 9.0}  # fmt: skip
    if run.cfg.spec_depth:
        after |= {"vllm:spec_decode_num_drafts_total": float(drafts),
                  "vllm:spec_decode_num_accepted_tokens_total": accepted}  # fmt: skip
    return Counted(dict.fromkeys(after, 0.0), after)


@pytest.mark.parametrize("name", oracle.CONFIGS)
def test_a_run_reads_as_the_oracle_says(name):
    run, result = simulated(name)
    truth, told = oracle.metrics(run), run.truth
    listed, row = row_of(run, result)
    assert row["throughput_tok_s"] == pytest.approx(truth["tok_s"], rel=1e-9)
    assert row["ttft_mean_ms"] == pytest.approx(truth["ttft_ms"], rel=1e-9)
    assert row["ttft_p50_ms"] == pytest.approx(truth["ttft_p50_ms"], rel=1e-9)
    assert row["tpot_mean_ms"] == pytest.approx(truth["tpot_ms"], rel=1e-9)
    assert row["itl_p50_ms"] == pytest.approx(truth["itl_median_ms"], rel=1e-9)
    assert row["e2el_mean_ms"] == pytest.approx(1000 * truth["e2el_s"], rel=1e-9)
    assert (row["completed"], row["failed"]) == (told["completed"], told["failed"])
    assert row["output_tokens"] == told["out_tok"]
    if not told["failed"]:  # the time that failed requests were in flight is not in the client's result
        assert row["fill"] == pytest.approx(told["wave_eff"], rel=1e-3)
    good = listed[listed["ok"]]
    assert (good["ttft_ms"] + good["itl_ms"].map(sum)).to_numpy() == pytest.approx(good["e2el_ms"].to_numpy())
    assert listed["t_send_s"].min() == pytest.approx(5e8)


def test_there_are_twelve_configurations():
    assert len(oracle.CONFIGS) == 12


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
    assert row["tokens_per_step"] == pytest.approx(run.truth["accept_len"])
    assert row["step_ms"] == pytest.approx(20.0, rel=0.01)
    assert row["itl_p50_ms"] == pytest.approx(20.0), "a chunk is a step here"


def test_merged_chunks_leave_no_itl_but_a_tpot():
    run, result = simulated(concurrency=4, num_prompts=16, lin=8, lout=33, ranks=1)
    plain = row_of(run, result)[1]
    result["itls"] = [[a + b for a, b in zip(gaps[::2], gaps[1::2], strict=True)] for gaps in result["itls"]]
    _, row = row_of(run, result)
    assert row["tokens_per_chunk"] == pytest.approx(2.0) and row["tokens_per_step"] == 1.0
    assert row["itl_mean_ms"] is None and row["itl_p50_ms"] is None
    assert row["tpot_mean_ms"] == pytest.approx(plain["tpot_mean_ms"])


def test_chunks_that_came_in_one_read_leave_no_itl_but_a_tpot():
    run, result = simulated(concurrency=4, num_prompts=16, lin=8, lout=33, ranks=1)
    plain = row_of(run, result)[1]
    result["itls"] = [[gap for a, b in zip(gaps[::2], gaps[1::2], strict=True) for gap in (a + b, 0.0)]
                      for gaps in result["itls"]]  # fmt: skip
    _, row = row_of(run, result)
    assert row["tokens_per_chunk"] == pytest.approx(1.0)
    assert row["itl_p50_ms"] is None and row["itl_pure_p50_ms"] is None, "half of the gaps are 0 and tell of no step"
    assert row["tpot_mean_ms"] == pytest.approx(plain["tpot_mean_ms"]) and plain["itl_p50_ms"] > 0


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 3), st.floats(0, 1))
def test_the_peak_is_never_below_the_mean(concurrency, waves, depth, accepted):
    run, result = simulated(concurrency=concurrency, num_prompts=concurrency * waves, lin=8, lout=128, ranks=1,
                            spec_depth=depth, spec_p=accepted)  # fmt: skip
    _, row = row_of(run, result)
    if row["throughput_peak_tok_s"] is not None:
        assert row["throughput_peak_tok_s"] >= 0.99 * row["throughput_tok_s"]


def test_latency_from_schedule_as_well_as_from_send():
    """vllm#54101: 8 requests at 10 a second, 500 ms of service, one at a time."""
    waits = [max(0.0, 0.5 * n - 0.1 * n) for n in range(8)]
    result = {"duration": 4.0, "request_rate": 10.0, "input_lens": [8] * 8, "output_lens": [6] * 8,
              "ttfts": [0.1] * 8, "itls": [[0.08] * 5] * 8, "latencies": [0.5] * 8,
              "start_times": [CLOCK_S + 0.5 * n for n in range(8)], "errors": [""] * 8,
              "queue_times": waits}  # fmt: skip
    run, _ = simulated(concurrency=1, num_prompts=8, lout=6, lin=8)
    _, row = row_of(run, result)
    assert row["e2el_mean_ms"] == pytest.approx(500)
    assert row["e2el_schedule_mean_ms"] == pytest.approx(500 + 1000 * np.mean(waits))
    assert row["ttft_schedule_mean_ms"] == pytest.approx(100 + 1000 * np.mean(waits))
    closed = row_of(run, {**result, "request_rate": "inf"})[1]
    assert closed["e2el_schedule_mean_ms"] is None and closed["ttft_schedule_mean_ms"] is None


def test_a_crash_is_incomplete_and_its_zeros_are_no_measurement():
    run, result = simulated("D_crash")
    judged = bench_result.judge(result, run.cfg.num_prompts, run.cfg.lout)
    assert judged.status == "incomplete" and judged.kind == "requests"
    listed, row = row_of(run, result)
    failed = listed[~listed["ok"]]
    assert len(failed) == result["failed"] > 0
    assert failed[["ttft_ms", "e2el_ms", "tpot_ms", "output_tokens", "t_last_s"]].isna().all().all()
    assert row["tpot_mean_ms"] == pytest.approx(oracle.metrics(run)["tpot_ms"])


def test_times_that_do_not_fit_the_run_give_no_window():
    run, result = simulated("A_whole", num_prompts=256)
    result["start_times"][128:] = [start + 3600 for start in result["start_times"][128:]]
    _, row = row_of(run, result)
    assert row["window_throughput_tok_s"] is None and row["little"] == little.REFUSED and "UNSTEADY" in row["tags"]


def test_a_clock_that_starts_at_zero_is_a_clock():
    _run, result = simulated(concurrency=2, num_prompts=8, lin=8, lout=16, ranks=1)
    result["start_times"] = [start - CLOCK_S for start in result["start_times"]]
    assert [request.start_s for request in bench_result.requests(result)] == result["start_times"]


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
    assert row_of(run, result, late_work=1)[1]["tags"] == "UNWARMED", "the server compiled a kernel in the run"
    short_run, short = simulated("C_clean")
    assert row_of(short_run, short)[1]["tags"] == "UNSTEADY"
    stalled_run, stalled = simulated("C_stall")
    assert row_of(stalled_run, stalled)[1]["tags"] == "UNSTEADY,STALLED"
    spent = whole_tokens(run, result, usage=[1024] * 255 + [None])
    assert row_of(run, spent)[1]["tags"] == "RETOKENIZED"
    assert row_of(run, whole_tokens(run, result, usage=[1024] * 256))[1]["tags"] == ""


def whole_tokens(run, result, usage):
    return {**result, "benchbook": {"stream_errors": [None] * len(usage), "usage_tokens": usage}}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 8), st.lists(st.floats(0.001, 1.5), max_size=3)), min_size=1, max_size=12))
def test_session_and_tables_count_the_same_stalls(shapes):
    result = {"input_lens": [8] * len(shapes), "output_lens": [len(gaps) + 1 for _, gaps in shapes],
              "ttfts": [ttft for ttft, _ in shapes], "itls": [gaps for _, gaps in shapes],
              "start_times": [CLOCK_S] * len(shapes), "errors": [""] * len(shapes)}  # fmt: skip
    record = {"run": "a_c1_r1", "concurrency": 1, "repeat": 1, "t_start_s": 0.0, "m_start_s": 0.0}
    listed = requests.table(requests.rows("s", SPEC, record, result))
    assert stalls.stalled(listed).sum() == bench_result.stalls(bench_result.requests(result))


def test_a_stall_is_counted_by_request():
    run, result = simulated("C_stall")
    assert row_of(run, result)[1]["stalls"] == 8, "the wave that arrived into the stall"
    run, result = simulated("C_clean")
    assert row_of(run, result)[1]["stalls"] == 0


def test_one_wave_has_no_steady_window():
    run, result = simulated(concurrency=4, num_prompts=4, lout=16)
    _, row = row_of(run, result)
    assert row["window_throughput_tok_s"] is None and row["throughput_tok_s"] > 0


def test_every_request_failed_gives_nulls_and_the_reason():
    result = {"duration": 0.1, "input_lens": [8, 8], "output_lens": [0, 0], "ttfts": [0.0, 0.0], "itls": [[], []],
              "latencies": [0.0, 0.0], "start_times": [CLOCK_S, CLOCK_S], "errors": ["T\nOSError: no", "x"]}
    judged = bench_result.judge(result, 2, 8)
    assert (judged.status, judged.reason) == ("failed", "all 2 requests failed: OSError: no")
    assert bench_result.summarise(result, 2) == bench_result.Summary(None, None, None)


def test_the_first_wave_is_what_was_sent_first_and_went_well():
    result = {"duration": 1.0, "input_lens": [8] * 4, "output_lens": [11, 11, 0, 11], "ttfts": [0.1, 0.1, 0.0, 0.1],
              "itls": [[0.04] * 10, [0.02] * 10, [], [0.03] * 10], "latencies": [0.5, 0.3, 0.0, 0.4],
              "start_times": [CLOCK_S + 2, CLOCK_S, CLOCK_S, CLOCK_S + 1], "errors": ["", "", "no", ""]}  # fmt: skip
    assert bench_result.summarise(result, 2).tpot_first_wave_ms == pytest.approx(20)
    assert bench_result.summarise(result, 3).tpot_first_wave_ms == pytest.approx(25)
    assert bench_result.summarise(result, 4).tpot_mean_ms == pytest.approx(30)


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
