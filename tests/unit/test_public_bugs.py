"""Wrong numbers that public bug reports show other benchmarks give, each with the right behaviour here.

Results, counters and samples are made up to the figures of the report. Not here, for want of a place where the fault
could be: reasoning deltas before the answer (inference-perf#559), since only plain completions are sent.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchbook import schema
from benchbook.derive import failures, reconcile, requests, runs, scheduler, tags, telemetry
from benchbook.derive.counters import Counted
from benchbook.measure import bench_result, warmup

CLOCK_S = 1000.0
SPEC = {"slot": "s1", "arm": "a", "spec_hash": "0" * 12, "workload": {"output_tokens": 8}}
KEY = {"run_id": "s/a_c1_r1", "session_id": "s", "slot": "s1", "arm": "a", "concurrency": 1, "repeat": 1}
THRESHOLDS = {
    "steady_window_min_s": 0.0, "steady_window_min_e2el": 0.0, "little_pass": 0.01, "little_warn": 0.03,
    "prefix_hits_max": 0.01, "reconcile_max": 0.005, "telemetry_coverage_min": 0.95,
}  # fmt: skip


def result_of(ttfts, itls, tokens, duration=None, starts=None, **others):
    """A result in vLLM's form; tokens 0 is a request that failed. Times in seconds."""
    count = len(ttfts)
    latencies = [ttft + sum(itl) for ttft, itl in zip(ttfts, itls, strict=True)]
    return {
        "duration": duration or max(latencies), "request_rate": "inf", "ttfts": ttfts, "itls": itls,
        "latencies": latencies, "start_times": [CLOCK_S + start for start in starts or [0.0] * count],
        "input_lens": [8] * count, "output_lens": tokens, "errors": [""] * count,
    } | others  # fmt: skip


def row_of(result, concurrency, counted=None, asked=8):
    """The run's requests and its row, judged as the session judges them."""
    count = len(result["ttfts"])
    judged = bench_result.judge(result, count, asked)
    record = {
        "run": "a_c1_r1", "concurrency": concurrency, "repeat": 1, "num_prompts": count, "status": judged.status,
        "reason": judged.reason, "t_start_s": 5e8, "t_end_s": 5e8 + result["duration"], "m_start_s": CLOCK_S,
    }  # fmt: skip
    listed = requests.table(requests.rows("s", SPEC, record, result))
    row = runs.row("s", SPEC, record, result["duration"], listed, counted=counted, late_work=None,
                   tokens_from=requests.tokens_from(result), warmup_verdict="CONVERGED", expected_failure=False,
                   busy_until_s=None, thresholds=THRESHOLDS)  # fmt: skip
    return listed, row


def tagged(row, counted):
    """Tags of the run once what the server counted is held against it."""
    queue = scheduler.row(row, schema.empty("requests"), scheduler.scrapes([]), counted, True, 0.1)
    tables = {name: schema.empty(name) for name in ("telemetry", "client", "sessions")}
    tables |= {
        "runs": runs.table([row]), "scheduler": scheduler.table([queue]),
        "reconciliation": reconcile.table(reconcile.rows(row, counted, None, THRESHOLDS["reconcile_max"])),
    }  # fmt: skip
    return set(tags.with_observers(tables, THRESHOLDS, {})["tags"][0].split(","))


def counted(**counts):
    after = {f"vllm:{name}": float(value) for name, value in counts.items()}
    return Counted(dict.fromkeys(after, 0.0), after)


def test_latency_in_an_open_loop_counts_from_the_schedule():
    """vllm#54101: 8 requests at 10 a second, served in 507 ms one at a time, read 507 ms; they took 1,932."""
    service_s = 0.507
    starts = [service_s * n for n in range(8)]
    result = result_of([0.1] * 8, [[(service_s - 0.1) / 7] * 7] * 8, [8] * 8, duration=8 * service_s, starts=starts,
                       request_rate=10.0, queue_times=[start - 0.1 * n for n, start in enumerate(starts)])  # fmt: skip
    listed, row = row_of(result, concurrency=1)
    assert row["e2el_mean_ms"] == pytest.approx(507) and row["e2el_schedule_mean_ms"] == pytest.approx(1932, rel=1e-3)
    assert np.percentile(listed["e2el_ms"] + listed["queue_ms"], 99) == pytest.approx(3330, rel=1e-3)


def test_the_peak_counts_tokens_and_not_chunks():
    """vllm#50677, sglang#33193: with speculation the peak counted chunks and read 113 under a mean of 410.61 tok/s."""
    chunks, per_chunk, gap_s = 100, 3.6, 0.035
    tokens = 1 + round((chunks - 1) * per_chunk)
    result = result_of([0.05] * 4, [[gap_s] * (chunks - 1)] * 4, [tokens] * 4)
    server = counted(spec_decode_num_drafts_total=1000, spec_decode_num_accepted_tokens_total=1000 * (per_chunk - 1))
    _, row = row_of(result, concurrency=4, counted=server, asked=tokens)
    chunks_a_second = 4 / gap_s
    assert chunks_a_second < row["throughput_tok_s"] <= row["throughput_peak_tok_s"]
    assert row["throughput_peak_tok_s"] == pytest.approx(per_chunk * chunks_a_second, rel=0.05)
    assert row["tokens_per_chunk"] == pytest.approx(per_chunk, rel=0.01)
    assert row["tpot_mean_ms"] == pytest.approx(1000 * gap_s / per_chunk, rel=0.01)


def test_an_error_after_200_is_a_failure():
    """vllm#57519: tokens, then an error event and [DONE] inside a 200 counted as a success of three fast tokens."""
    notes = {"stream_errors": [None, "EngineCore encountered an issue", None], "usage_tokens": [8, None, 8],
             "finished": [True] * 3, "chunks": [8, 3, 8], "empty_chunks": [[], [], []]}  # fmt: skip
    result = result_of([0.05] * 3, [[0.01] * 7, [0.001] * 2, [0.01] * 7], [8, 3, 8], benchbook=notes)
    listed, row = row_of(result, concurrency=3)
    assert (row["status"], row["completed"], row["failed"]) == ("incomplete", 2, 1) and "INCOMPLETE" in row["tags"]
    assert row["output_tokens"] == 16 and row["tpot_mean_ms"] == pytest.approx(10) and row["itl_mean_ms"] > 9
    assert listed.loc[1, ["ttft_ms", "e2el_ms", "tpot_ms", "output_tokens"]].isna().all()


def test_a_run_in_which_everything_failed_has_no_figures_and_is_not_accepted():
    """pytorch#172616: 200 of 200 requests failed, TTFT 0.00, exit code 0."""
    result = result_of([0.0] * 200, [[]] * 200, [0] * 200, duration=0.4, errors=["Connection refused"] * 200)
    _, row = row_of(result, concurrency=8)
    assert (row["status"], row["failed"]) == ("failed", 200) and "Connection refused" in row["reason"]
    figures = [name for name in row if name.endswith(("_ms", "_tok_s", "_req_s", "_tokens")) or name == "stalls"]
    assert len(figures) > 15 and all(row[name] is None for name in figures)
    session = pd.DataFrame([{"session_id": "s", "slot": "s1", "status": "complete", "expected_failure": False,
                             "reboot_of": None, "reason": None}])  # fmt: skip
    assert [name for name, _ in failures.unexpected(session, runs.table([row]))] == [KEY["run_id"]]


def test_cached_prompts_are_found():
    """vllm#54227: a fixed seed on one server made the second cell 2.32 times as fast from the prefix cache.

    That no server gets the same prompts twice is held by test_spec.
    """
    result = result_of([0.05] * 4, [[0.01] * 7] * 4, [8] * 4)
    fresh = {"prefix_cache_queries_total": 3200, "prefix_cache_hits_total": 16}
    for hits, found in ((fresh, False), (fresh | {"prefix_cache_hits_total": 1600}, True)):
        server = counted(**hits)
        _, row = row_of(result, concurrency=4, counted=server)
        assert ("CACHED" in tagged(row, server)) is found


def test_a_first_wave_of_seventeen_seconds_is_not_warm():
    """vllm-omni#6356: two warm-up requests at concurrency 4; the first four measured took 17 s, the others 1.1."""
    seconds = [17.0, 1.1]
    readings = [warmup.Reading(4 * 64 / time, 1000 * time / 64) for time in seconds]
    rule = warmup.rule({"rule": "two-agree", "min_readings": 2, "tolerance": 0.02})
    assert not rule.judge(readings).accepted
    assert rule.judge([*readings, warmup.Reading(4 * 64 / 1.1, 1100 / 64)]).accepted


def test_what_the_server_counted_is_of_this_run_only():
    """aiperf#1435: a late warm-up observation made the server's histogram count 6 for 5 requests."""
    result = result_of([0.05] * 5, [[0.01] * 7] * 5, [8] * 5)
    counts = {"prompt_tokens_total": 40.0, "generation_tokens_total": 40.0}
    finished = 'vllm:request_success_total{finished_reason="length"}'
    for extra, outcome in ((0, "agrees"), (1, "differs")):
        before = {"vllm:prompt_tokens_total": 80.0, "vllm:generation_tokens_total": 80.0, finished: 10.0}
        after = {f"vllm:{name}": value + 80.0 for name, value in counts.items()} | {finished: 15.0 + extra}
        server = Counted(before, after)
        _, row = row_of(result, concurrency=5, counted=server)
        found = {item["quantity"]: item["outcome"] for item in reconcile.rows(row, server, None, 0.005)}
        assert found == {"requests": outcome, "prompt_tokens": "agrees", "output_tokens": "agrees"}
        assert ("MISMATCH" in tagged(row, server)) is (extra == 1)


def test_the_servers_count_beats_a_tokenizers():
    """inference-perf#566: a tokenizer that adds a token to each chunk doubled the count and halved the latency."""
    notes = {"stream_errors": [None] * 2, "usage_tokens": [8, 8], "finished": [True] * 2, "chunks": [8, 8],
             "empty_chunks": [[], []]}  # fmt: skip
    doubled = result_of([0.05] * 2, [[0.01] * 7] * 2, [16, 16], benchbook=notes)
    _, row = row_of(doubled, concurrency=2)
    assert row["output_tokens"] == 16 and row["tpot_mean_ms"] == pytest.approx(10) and row["tokens_from"] == "usage"
    guessed = doubled | {"benchbook": notes | {"usage_tokens": [None, None]}}
    assert "RETOKENIZED" in row_of(guessed, concurrency=2, asked=16)[1]["tags"]


def test_fewer_tokens_than_asked_for_are_no_result():
    """vllm perf-eval#20: 1,024 tokens were asked for, one came back each, and the run counted."""
    _, row = row_of(result_of([0.05] * 4, [[]] * 4, [1] * 4), concurrency=4, asked=1024)
    assert row["status"] == "incomplete" and "did not return the 1024 tokens" in row["reason"]
    assert row["tpot_mean_ms"] is None and "INCOMPLETE" in row["tags"]


def test_power_is_that_of_the_run():
    """InferenceX#1558: the mean over the whole power file read 440 W for a load of 720 W on each of two GPUs."""
    run_s, whole_s = 60.0, 120.0
    samples = [
        {"t": t, "src": "nvml", "gpu": gpu, "util": 99 if busy else 0, "power_w": 720.0 if busy else 160.0,
         "energy_mj": 1000 * (160 * min(t, run_s / 2) + 720 * max(0.0, min(t - run_s / 2, run_s)) +
                              160 * max(0.0, t - 1.5 * run_s))}
        for t in np.arange(0, whole_s, 0.2).tolist() for gpu in (0, 1)
        for busy in (run_s / 2 <= t < 1.5 * run_s,)
    ]  # fmt: skip
    row = dict.fromkeys(schema.TABLES["runs"]) | KEY | {
        "t_start_s": 30.0, "t_end_s": 90.0, "window_start_s": 31.0, "window_end_s": 89.0, "window_s": 58.0,
        "window_throughput_tok_s": 100.0, "output_tokens": 6000,
    }  # fmt: skip
    (found,) = telemetry.table(telemetry.watched(samples), pd.DataFrame([row])).to_dict("records")
    whole_w = np.mean([sample["power_w"] for sample in samples])
    assert whole_w == pytest.approx(440, rel=0.01)
    assert found["gpu_power_w"] == pytest.approx(720, rel=1e-3)
