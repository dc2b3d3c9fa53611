"""What client, server and scheduler say of one run, from synthetic records of known truth."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from benchbook import schema
from benchbook.derive import client, observed, reconcile, scheduler, tags
from benchbook.derive.counters import Counted
from benchbook.engines.vllm_stats import StatLine, stat_lines

RECORDED = Path(__file__).parents[1] / "recorded"
KEY = {"run_id": "s/a_c4_r1", "session_id": "s", "slot": "s1", "arm": "a", "concurrency": 4, "repeat": 1}
THRESHOLDS = {"client_cores_max": 0.9, "client_itl_ratio_max": 1.03, "client_lag_max": 1.0,
              "client_resend_gap_max": 0.005, "frontend_share_max": 0.1, "reconcile_max": 0.005,
              "prefix_hits_max": 0.01, "telemetry_coverage_min": 0.95}  # fmt: skip


def closed_loop(waves=4, concurrency=4, e2el_s=1.0, gap_s=0.0, failed=0):
    """Requests of a closed loop in lockstep: 50 ms to the first token, then 95 gaps of 10 ms."""
    rows = []
    for index in range(waves * concurrency):
        sent = 100.0 + (index // concurrency) * (e2el_s + gap_s)
        ok = index >= failed
        rows.append({**KEY, "request": index, "ok": ok, "error": None if ok else "refused", "t_send_s": sent,
                     "t_first_s": sent + 0.05 if ok else None, "t_last_s": sent + e2el_s if ok else None,
                     "ttft_ms": 50.0 if ok else None, "itl_ms": [10.0] * 95 if ok else [],
                     "output_tokens": 96 if ok else None})  # fmt: skip
    return pd.DataFrame(rows)


def run_row(**values):
    return dict.fromkeys(schema.TABLES["runs"]) | KEY | {
        "client": "native", "duration_s": 4.0, "e2el_mean_ms": 1000.0, "completed": 16, "prompt_tokens": 128,
        "output_tokens": 1536,
        "status": "ok", "tags": "", "num_prompts": 16, "waves": 4.0, "whole_waves": True, "expected_failure": False,
        "spec_hash": "0" * 12, "window_throughput_tok_s": 380.0, "tokens_per_chunk": 1.0, "tokens_per_step": 1.0,
        "window_s": 2.0, "replaced": False, "spare": False,
    } | values  # fmt: skip


def counted(requests=16, prompt=128, output=1536, itl_ms=10.0, ttft_ms=48.0, hits=0, steps=400):
    after = {
        'vllm:request_success_total{finished_reason="length"}': requests,
        'vllm:request_success_total{finished_reason="abort"}': 3.0,
        'vllm:prompt_tokens_total{engine="0"}': prompt, 'vllm:generation_tokens_total{engine="0"}': output,
        "vllm:inter_token_latency_seconds_sum": 1520 * itl_ms / 1000, "vllm:inter_token_latency_seconds_count": 1520,
        "vllm:time_to_first_token_seconds_sum": 16 * ttft_ms / 1000, "vllm:time_to_first_token_seconds_count": 16,
        "vllm:prefix_cache_hits_total": hits, "vllm:prefix_cache_queries_total": 128.0,
        "vllm:iteration_tokens_total_count": steps, "vllm:num_preemptions_total": 0.0,
    }  # fmt: skip
    before = dict.fromkeys(after, 1000.0)
    return Counted(before, {name: 1000.0 + value for name, value in after.items()})


def test_a_client_that_keeps_up_is_no_bottleneck():
    noted = {"cpu_s": 1.2, "loop_lag_mean_ms": 0.1, "loop_lag_p99_ms": 0.9, "loop_lag_max_ms": 4.0}
    row = client.row(run_row(), closed_loop(), noted, counted(), THRESHOLDS)
    assert row["saturated"] is None
    assert row["client_cpu_cores"] == pytest.approx(0.3)
    assert row["itl_ratio"] == pytest.approx(1.0) and row["resend_gap_median_ms"] == pytest.approx(0)
    assert row["ttft_excess_ms"] == pytest.approx(2.0)


@pytest.mark.parametrize(("noted", "server_itl_ms", "gap_s", "reason"), [
    ({"cpu_s": 3.9}, 10.0, 0.0, "0.97 of a core"),
    (None, 9.5, 0.0, "5.3 % above"),
    ({"cpu_s": 0.1, "loop_lag_mean_ms": 25.0}, 10.0, 0.0, "25.0 ms late"),
    (None, 10.0, 0.02, "20.0 ms to replace"),
])  # fmt: skip
def test_each_sign_of_a_saturated_client_is_enough(noted, server_itl_ms, gap_s, reason):
    row = client.row(run_row(), closed_loop(gap_s=gap_s), noted, counted(itl_ms=server_itl_ms), THRESHOLDS)
    assert reason in row["saturated"]


def test_a_wave_of_sends_and_a_run_that_delivered_nothing_are_no_bottleneck():
    """Measured with vLLM's client on a server of known timing: 64 sends at once, and 16 requests answered 500."""
    noted = {"cpu_s": 1.2, "loop_lag_mean_ms": 2.7, "loop_lag_p99_ms": 19.8, "loop_lag_max_ms": 35.0}
    assert client.row(run_row(), closed_loop(), noted, counted(), THRESHOLDS)["saturated"] is None
    refused = client.row(run_row(duration_s=0.02), closed_loop(failed=16), {"cpu_s": 0.02}, None, THRESHOLDS)
    assert refused["client_cpu_cores"] == pytest.approx(1.0) and refused["saturated"] is None


def test_merged_chunks_are_no_sign_of_a_slow_client():
    merged = closed_loop()
    merged["itl_ms"] = [[20.0] * 47 + [10.0]] * len(merged)
    row = client.row(run_row(tokens_per_chunk=95 / 48), merged, None, counted(), THRESHOLDS)
    assert row["itl_ratio"] == pytest.approx(1.0) and row["saturated"] is None


def test_the_servers_means_are_not_compared_when_requests_failed():
    row = client.row(run_row(), closed_loop(failed=2), None, counted(itl_ms=1.0), THRESHOLDS)
    assert row["itl_ratio"] is None and row["ttft_excess_ms"] is None and row["resend_gap_median_ms"] is None


def test_nothing_known_is_null():
    row = client.row(run_row(duration_s=None), closed_loop().iloc[:0], None, None, THRESHOLDS)
    assert all(row[name] is None for name in row if name not in KEY and name != "client")


def lines(running, waiting=None, start=100.25, step=0.5):
    return [
        {"t": start + step * index, "src": "metrics",
         "v": {'vllm:num_requests_running{engine="0"}': value, 'vllm:num_requests_waiting{engine="0"}':
               (waiting or [0] * len(running))[index], 'vllm:kv_cache_usage_perc{engine="0"}': 0.1}}
        for index, value in enumerate(running)
    ]  # fmt: skip


def test_requests_stuck_before_the_engine():
    """Twelve sent at once; the engine gets one each half second and none waits in it: source 002's fourth finding."""
    requests = closed_loop(waves=1, concurrency=12, e2el_s=7.0)
    watched = scheduler.scrapes(lines([min(12, index + 1) for index in range(14)]))
    row = scheduler.row(run_row(concurrency=12), requests, watched, None, True, 0.1)
    assert row["frontend"] and row["waiting_max"] == 0
    assert row["engine_arrival_rate_req_s"] == pytest.approx(2.0)
    assert row["outside_mean"] == pytest.approx(sum(range(1, 12)) / 14)


def test_a_queue_inside_the_engine_is_not_the_frontend():
    requests = closed_loop(waves=1, concurrency=12, e2el_s=7.0)
    watched = scheduler.scrapes(lines([4] * 14, waiting=[8] * 14))
    row = scheduler.row(run_row(concurrency=12), requests, watched, None, True, 0.1)
    assert row["frontend"] is False and row["waiting_mean"] == 8 and row["engine_arrival_rate_req_s"] is None


def test_scrapes_at_the_boundary_of_waves_are_not_the_frontend():
    """Just after a wave's sends a server has not read them all; a queue before it would be there at the next scrape."""
    requests = closed_loop(waves=14, concurrency=12, e2el_s=0.5)
    watched = scheduler.scrapes(lines([4 if index % 4 == 0 else 12 for index in range(14)], start=100.01))
    row = scheduler.row(run_row(concurrency=12), requests, watched, None, True, 0.1)
    assert row["outside_share"] > 0.1 and row["frontend"] is False


def test_few_scrapes_or_none_are_no_verdict():
    row = scheduler.row(run_row(), closed_loop(), scheduler.scrapes([]), None, True, 0.1)
    assert row["scrapes"] == 0 and row["frontend"] is None and row["running_mean"] is None
    schema.check(pd.DataFrame([row]), "scheduler")


@pytest.mark.parametrize(("args", "once"), [
    ({}, True), ({"api-server-count": 4}, False), ({"data-parallel-size": 2}, False),
    ({"data-parallel-size": 2, "api-server-count": 1}, False), ({"api-server-count": 1}, True),
])  # fmt: skip
def test_engine_steps_only_where_they_count_once(args, once):
    assert observed.counts_steps_once(args) is once
    row = scheduler.row(run_row(), closed_loop(), scheduler.scrapes([]), counted(), once, 0.1)
    assert (row["engine_steps"] == 400) if once else row["engine_steps"] is None


def outcomes(found):
    return {row["quantity"]: row["outcome"] for row in found}


def test_counts_that_agree():
    found = reconcile.rows(run_row(), counted(), 1535.0, 0.005)
    assert set(outcomes(found).values()) == {reconcile.AGREES}


@pytest.mark.parametrize(("counts", "logged", "quantity"), [
    (counted(requests=15), None, "requests"), (counted(prompt=130), None, "prompt_tokens"),
    (counted(output=1544), None, "output_tokens"), (counted(), 1500.0, "output_tokens"),
])  # fmt: skip
def test_a_difference_is_named_by_what_differs(counts, logged, quantity):
    found = outcomes(reconcile.rows(run_row(), counts, logged, 0.005))
    assert {name for name, outcome in found.items() if outcome == reconcile.DIFFERS} == {quantity}


def test_nothing_to_compare_with_is_not_agreement():
    assert set(outcomes(reconcile.rows(run_row(), None, None, 0.005)).values()) == {reconcile.NOT_COMPARED}
    gone_down = Counted({"vllm:generation_tokens_total": 9.0}, {"vllm:generation_tokens_total": 2.0})
    assert set(outcomes(reconcile.rows(run_row(), gone_down, None, 0.005)).values()) == {reconcile.NOT_COMPARED}


def recorded_lines(launched="2026-11-30 14:56:12"):
    text = gzip.decompress((RECORDED / "h200-qwen3moe.server.log.gz").read_bytes()).decode()
    return stat_lines(text, datetime.fromisoformat(launched).replace(tzinfo=UTC).timestamp())


def test_the_recorded_log_counts_the_tokens_that_the_client_got():
    """The run at concurrency 64: 256 requests of 256 tokens between 15:02:53 and 15:03:13."""
    def at(time):
        return datetime.fromisoformat(f"2026-11-30 {time}").replace(tzinfo=UTC).timestamp()

    log = recorded_lines()
    spans = at("15:02:53"), at("15:03:13")
    assert reconcile.log_tokens(log, *spans, []) == pytest.approx(256 * 256, rel=0.001)
    assert reconcile.log_tokens(log, *spans, [(at("15:03:14"), at("15:03:16"))]) is None, "another run in the stretch"
    assert reconcile.log_tokens(log, at("14:59:00"), at("14:59:30"), []) is None


def test_the_logs_time_zone_is_found():
    here, elsewhere = recorded_lines(), recorded_lines("2026-11-30 19:56:12")
    assert {b.t_s - a.t_s for a, b in zip(here, elsewhere, strict=True)} == {5 * 3600.0}


def test_engines_are_added_and_an_open_end_is_not_whole():
    log = [StatLine(t, engine, rate, running, 0) for engine in ("000", "001")
           for t, rate, running in ((10.0, 0.0, 0), (20.0, 5.0, 2), (30.0, 7.0, 0), (40.0, 0.0, 0))]  # fmt: skip
    assert reconcile.log_tokens(log, 15.0, 28.0, []) == pytest.approx(240.0)
    assert reconcile.log_tokens(log[:2], 15.0, 28.0, []) is None


def test_a_counter_of_one_engine_that_starts_anew_is_not_hidden_by_another():
    before = {'n_total{engine="0"}': 1000.0, 'n_total{engine="1"}': 1000.0}
    assert Counted(before, {'n_total{engine="0"}': 10.0, 'n_total{engine="1"}': 5000.0}).difference("n_total") is None
    assert Counted(before, {'n_total{engine="1"}': 5000.0}).difference("n_total") is None
    assert Counted(before, {'n_total{engine="0"}': 1010.0, 'n_total{engine="1"}': 1000.0}).difference("n_total") == 10


def test_tokens_a_step_are_not_claimed_from_part_of_a_page():
    drafts, accepted = "vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_accepted_tokens_total"
    part = {"vllm:generation_tokens_total": 5.0}
    assert Counted(part, part).tokens_per_step is None
    assert Counted({drafts: 10.0, accepted: 7.0}, {drafts: 20.0, accepted: 17.0}).tokens_per_step == 2.0
    assert Counted({drafts: 1000.0, accepted: 700.0}, {drafts: 10.0, accepted: 7.0}).tokens_per_step is None
    assert counted().tokens_per_step == 1.0, "a whole page that counts no drafts"


def test_reports_a_minute_apart_are_summed_over_their_minute():
    log = [StatLine(t, "000", rate, 0, 0) for t, rate in ((60.0, 0.0), (120.0, 50.0), (180.0, 50.0), (240.0, 0.0))]
    assert reconcile.log_tokens(log, 65.0, 175.0, []) == pytest.approx(6000)
    assert reconcile.log_tokens(log[1:2], 65.0, 110.0, []) is None


def test_a_failed_request_leaves_the_gauges():
    watched = scheduler.scrapes(lines([4] * 7) * 2)
    row = scheduler.row(run_row(t_start_s=100.0, t_end_s=104.0), closed_loop(failed=1), watched, None, True, 0.1)
    assert row["running_mean"] == 4 and row["scrapes"] == 7 and row["outside_mean"] is None and row["frontend"] is None


def test_tags_come_from_what_was_watched():
    runs = schema.check(pd.DataFrame([run_row(tags="STALLED")]), "runs")
    watched = dict.fromkeys(schema.TABLES["telemetry"]) | KEY | {"coverage": 0.5}
    queue = dict.fromkeys(schema.TABLES["scheduler"]) | KEY | {"scrapes": 9, "frontend": True, "prefix_hit_rate": 0.02}
    sent = dict.fromkeys(schema.TABLES["client"]) | KEY | {"client": "native", "saturated": "it used 0.97 of a core"}
    tables = {
        "runs": runs,
        "telemetry": schema.check(pd.DataFrame([watched]), "telemetry"),
        "client": schema.check(pd.DataFrame([sent]), "client"),
        "scheduler": schema.check(pd.DataFrame([queue]), "scheduler"),
        "reconciliation": reconcile.table(reconcile.rows(run_row(), counted(output=9), None, 0.005)),
        "sessions": schema.empty("sessions"),
    }
    assert tags.with_observers(tables, THRESHOLDS, {})["tags"][0] == "STALLED,CLIENT,CACHED,TELEM,FRONTEND,MISMATCH"
    meant = tags.with_observers(tables, THRESHOLDS, {}, cached_by_design={"s"})["tags"][0]
    assert meant == "STALLED,CLIENT,TELEM,FRONTEND,MISMATCH"
    quiet = tables | {name: schema.empty(name) for name in ("client", "scheduler", "reconciliation")}
    assert tags.with_observers(quiet, THRESHOLDS, {})["tags"][0] == "STALLED,TELEM"
