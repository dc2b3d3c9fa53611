"""The written schema of every table that passes from derive to present.

A table is a pandas frame in a Parquet file. `check` refuses a frame that lacks a column, has one too many, or holds a
null where none is allowed, so that a wrong table stops where it is made and not three steps later in a figure.
Missing is null, never 0: a column says in `null` when a null may stand there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchbook.errors import TableError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """One column: `dtype` is a pandas dtype name, `unit` as printed, `null` says when a null stands ("" = never)."""

    dtype: str
    unit: str
    meaning: str
    null: str = ""


FAILED = "the run delivered nothing to compute it from"
CLOSED_LOOP = "no request rate was set, so the schedule has no times of its own"
NOT_SCRAPED = "no scrape of /metrics around the run, or none that holds this counter"
NOTHING_NOTED = "the client notes nothing of itself"
NOT_SAID = "the client does not say"
NATIVE_ONLY = "the client is not native, or nothing was sent"
NOT_IN_FLIGHT = "no scrape of /metrics during the run, or a request failed, so that those in flight are not known"
NOT_WATCHED = "no scrape of /metrics during the run"
NO_GPU = "the node has no GPU that NVML can read"
THIN = "no sample in the window, or they cover too little of it"
NO_GPU_IN_RUN = "no GPU, it does not offer this, it was not sampled, or the samples cover too little of the window"
NO_COUNTER = f"{NO_GPU}, it counts no energy, or no sample lies around the run"
ONE_GPU = f"{NO_GPU_IN_RUN}, or there is one GPU only"
SHORT = f"{NO_GPU_IN_RUN}, or the window holds fewer than three blocks"

NO_ITL = "chunks were merged or split, so a time between them is none between steps; or the run failed"
FEW = "fewer than 64 requests after the first wave"
ONE_GROUP = f"TTFT is one group, or {FEW}"

_RUN_KEY = {
    "run_id": Column("string", "", "session id / run name, e.g. 20260911-230548/baseline_c64_r2"),
    "session_id": Column("string", "", "UTC time of the session's launch"),
    "slot": Column("string", "", "place in the schedule, e.g. s1"),
    "arm": Column("string", "", "server configuration"),
    "concurrency": Column("Int64", "requests", "requests kept in flight by the client"),
    "repeat": Column("Int64", "", "repeat of this concurrency in this session, from 1"),
}



def _both(name: str, unit: str, shown: str, meaning: str, null: str = "") -> dict[str, Column]:
    """Columns for one figure of two clients: each one's mean over the pairs, and their difference pair by pair."""
    difference = f"{meaning}: vllm-bench over native less one, mean over the pairs"
    return {
        f"{name}_native{unit}": Column("Float64", shown, f"{meaning} of native, mean over the pairs", null),
        f"{name}_vllm_bench{unit}": Column("Float64", shown, f"{meaning} of vllm-bench, mean over the pairs", null),
        f"{name}_difference": Column("Float64", "", difference, null),
        f"{name}_difference_min": Column("Float64", "", "the same, smallest pair", null),
        f"{name}_difference_max": Column("Float64", "", "the same, largest pair", null),
    }


TABLES: dict[str, dict[str, Column]] = {
    "requests": {
        **_RUN_KEY,
        "request": Column("Int64", "", "index in the order the client lists them, from 0"),
        "ok": Column("boolean", "", "the client got tokens to the end"),
        "error": Column("string", "", "what the client saw", "the request is ok"),
        "failure_kind": Column("string", "", "class of failure, see measure/client/answer.py",
                               f"the request is ok, or {NOT_SAID}"),
        "failure_s": Column("Float64", "s", "time from the request's start to its failure",
                            f"the request is ok, or {NOT_SAID}"),
        "t_send_s": Column("Float64", "s", "Unix time the request was sent", "the client did not send it"),
        "t_first_s": Column("Float64", "s", "Unix time of the first token", "the request failed"),
        "t_last_s": Column("Float64", "s", "Unix time of the last token", "the request failed"),
        "prompt_tokens": Column("Int64", "tokens", "prompt length", "the request failed"),
        "output_tokens": Column("Int64", "tokens", "tokens generated", "the request failed"),
        "cached_tokens": Column("Int64", "tokens", "prompt tokens from the prefix cache, by the server",
                                f"the request failed, the server tells none, or {NOT_SAID}"),
        "requested_output_tokens": Column("Int64", "tokens", "tokens asked for"),
        "chunks": Column("Int64", "", "streamed chunks that carried tokens", "the request failed"),
        "connect_ms": Column("Float64", "ms", "time that making a new connection took, before the request's start",
                             f"the connection was kept, or {NOT_SAID}"),
        "send_ms": Column("Float64", "ms", "time from the request's start until the kernel had the whole of it",
                          f"it was never sent, or {NOT_SAID}"),
        "ttft_ms": Column("Float64", "ms", "time to first token", "the request failed"),
        "answer_ttft_ms": Column("Float64", "ms", "time to the first token that is no reasoning",
                                 f"the request failed, there was reasoning only, or {NOT_SAID}"),
        "e2el_ms": Column("Float64", "ms", "end-to-end latency", "the request failed"),
        "tpot_ms": Column("Float64", "ms", "time per output token after the first",
                          "the request failed or has one token"),
        "queue_ms": Column("Float64", "ms", "time from when the schedule had it to when it was sent", CLOSED_LOOP),
        "itl_ms": Column("object", "ms", "list of inter-token latencies, one per chunk after the first"),
    },
    "chunks": {  # millions of rows: the rest of the run's key stands in the table of requests
        "run_id": _RUN_KEY["run_id"],
        "request": Column("Int64", "", "index in the order the client lists them, from 0"),
        "chunk": Column("Int64", "", "index in the order the request's came, from 0"),
        "t_s": Column("Float64", "s", "arrival, since the request's start"),
        "kind": Column("string", "", "answer | reasoning | tool call | empty (an event without content)"),
    },
    "runs": {
        **_RUN_KEY,
        "client": Column("string", "", "load client that sent it: native | vllm-bench"),
        "spec_hash": Column("string", "", "hash of the specification the run was measured under"),
        "status": Column("string", "", "ok | incomplete (some requests failed or fell short) | failed | missing"),
        "reason": Column("string", "", "why it is not ok, one sentence", "the run is ok"),
        "expected_failure": Column("boolean", "", "the booking file declares this failure as expected"),
        "tags": Column("string", "", "faults found, comma separated (derive/tags.py); empty when none"),
        "t_start_s": Column("Float64", "s", "Unix time the first request could be sent", "the run never started"),
        "t_end_s": Column("Float64", "s", "Unix time the last request ended", "the run never started"),
        "duration_s": Column("Float64", "s", "wall time of the run as the client measured it", FAILED),
        "gap_before_s": Column("Float64", "s", "time since the run or reading before it in the session ended",
                               "first of its session, or not measured"),
        "num_prompts": Column("Int64", "requests", "requests asked for"),
        "completed": Column("Int64", "requests", "requests that ended well", "the client reported nothing"),
        "failed": Column("Int64", "requests", "requests that did not", "the client reported nothing"),
        "waves": Column("Float64", "", "num_prompts / concurrency"),
        "whole_waves": Column("boolean", "", "num_prompts is a multiple of concurrency"),
        "prompt_tokens": Column("Int64", "tokens", "prompt tokens of the completed requests", FAILED),
        "output_tokens": Column("Int64", "tokens", "output tokens of the completed requests", FAILED),
        "throughput_tok_s": Column("Float64", "tok/s", "output tokens of ok requests / duration", FAILED),
        "request_rate_req_s": Column("Float64", "req/s", "ok requests / duration", FAILED),
        "window_start_s": Column("Float64", "s", "steady window: Unix time of the first completion", FAILED),
        "window_end_s": Column("Float64", "s", "steady window: Unix time of the last dispatch", FAILED),
        "window_s": Column("Float64", "s", "width of the steady window", FAILED),
        "window_throughput_tok_s": Column("Float64", "tok/s", "tokens emitted in the steady window / its width",
                                          "no steady window (a single wave), or the run failed"),
        "ttft_mean_ms": Column("Float64", "ms", "mean time to first token", FAILED),
        "ttft_p50_ms": Column("Float64", "ms", "median time to first token", FAILED),
        "ttft_p90_ms": Column("Float64", "ms", "90th percentile", "fewer than 64 requests"),
        "ttft_p99_ms": Column("Float64", "ms", "99th percentile", "fewer than 662 requests"),
        "tpot_mean_ms": Column("Float64", "ms", "mean time per output token", FAILED),
        "tpot_p50_ms": Column("Float64", "ms", "median time per output token", FAILED),
        "itl_mean_ms": Column("Float64", "ms", "mean time between two chunks", NO_ITL),
        "itl_p50_ms": Column("Float64", "ms", "median time between two chunks", NO_ITL),
        "e2el_mean_ms": Column("Float64", "ms", "mean end-to-end latency", FAILED),
        "e2el_p50_ms": Column("Float64", "ms", "median end-to-end latency", FAILED),
        "ttft_schedule_mean_ms": Column("Float64", "ms", "mean time from schedule to first token", CLOSED_LOOP),
        "e2el_schedule_mean_ms": Column("Float64", "ms", "mean time from schedule to last token", CLOSED_LOOP),
        "tokens_per_chunk": Column("Float64", "", "g of method.md 1", FAILED),
        "tokens_per_step": Column("Float64", "", "a of method.md 1: tokens that a decode step yields a sequence",
                                  NOT_SCRAPED),
        "step_ms": Column("Float64", "ms", "decode step: mean TPOT x tokens per step", NOT_SCRAPED),
        "tokens_from": Column("string", "", "usage (the server's count) | retokenized (the client's)",
                              "the client's result does not say"),
        "throughput_peak_tok_s": Column("Float64", "tok/s", "tokens in the fullest second, every token counted",
                                        "the run failed or is shorter than a second"),
        "stalls": Column("Int64", "requests", "requests that stood still (method.md 8)", FAILED),
        "ttft_slow_share": Column("Float64", "", "share of the slower of two groups of TTFT", ONE_GROUP),
        "ttft_mode_ratio": Column("Float64", "", "slower over faster group of TTFT", ONE_GROUP),
        "ttft_bimodal": Column("boolean", "", "rule G of method.md 8 calls them two", FEW),
        "in_flight_mean": Column("Float64", "requests", "sum of E2EL / duration", FAILED),
        "fill": Column("Float64", "", "in_flight_mean / concurrency (eta of method.md 5)", FAILED),
        "little_delta": Column("Float64", "", "X E / (L C) - 1 (method.md 5)", FAILED),
        "little": Column("string", "", "pass | warn | refused (method.md 5)", FAILED),
        "late_work": Column("Int64", "lines", "log lines of compiling, tuning or capturing during the run",
                            "which lines are its own is not recorded"),
        "warmup_verdict": Column("string", "", "CONVERGED | UNWARMED: this concurrency's warmup, and the gate over its "
                                 "runs", "no warmup was run at this concurrency"),
        "spare": Column("boolean", "", "measured once more because the gate over the first runs failed"),
        "replaced": Column("boolean", "", "measured once more since the server had not stayed warm; not in the sweep"),
    },
    "sessions": {
        "session_id": Column("string", "", "UTC time of the session's launch"),
        "slot": Column("string", "", "place in the schedule"),
        "arm": Column("string", "", "server configuration"),
        "spec_hash": Column("string", "", "hash of the specification"),
        "status": Column("string", "", "complete | failed | set-aside (interrupted; not used in any figure)"),
        "reason": Column("string", "", "why it is not complete, one sentence", "the session is complete"),
        "expected_failure": Column("boolean", "", "the booking file declares this failure as expected"),
        "reboot_of": Column("string", "", "session whose server died and left this one's runs", "not a second boot"),
        "t_launch_s": Column("Float64", "s", "Unix time of the server's launch"),
        "boot_s": Column("Float64", "s", "launch to ready", "the server never got ready"),
        "client_start_s": Column("Float64", "s", "start-up of the load client", "not recorded, or it was not started"),
        "warmup_s": Column("Float64", "s", "time inside warmup readings", "none was run"),
        "runs_s": Column("Float64", "s", "time inside measured runs", "none was run"),
        "teardown_s": Column("Float64", "s", "stop request to last process gone", "not recorded"),
        "wall_s": Column("Float64", "s", "launch to last process gone", "not recorded"),
        "run_share": Column("Float64", "", "runs_s / wall_s", "either is missing"),
        "gap_median_s": Column("Float64", "s", "median time between two runs or readings", "fewer than two"),
        "gap_max_s": Column("Float64", "s", "longest time between two runs or readings", "fewer than two"),
        "runs_done": Column("Int64", "", "runs with a result"),
        "runs_planned": Column("Int64", "", "runs asked of this session, and those measured once more"),
        "sampler_cpu_share": Column("Float64", "", "CPU seconds of the telemetry sampler / wall_s", "not recorded"),
        "sampler_node_ms": Column("Float64", "ms", "99th percentile of the time one sample of CPU and processes takes",
                                  "not recorded"),
        "sampler_gpu_ms": Column("Float64", "ms", "99th percentile of the time one sample of all GPUs takes",
                                 f"not recorded, or {NO_GPU}"),
        "engine": Column("string", "", "engine environment"),
        "engine_version": Column("string", "", "version the server's log prints", "the log does not say"),
        "python": Column("string", "", "Python of the engine environment", "not known (a container, a recording)"),
        "kernel": Column("string", "", "operating system kernel"),
        "cpu_model": Column("string", "", "CPU model name", "not recorded, or the kernel does not say"),
        "cores": Column("Int64", "", "cores the session may use (affinity)"),
        "memory_gib": Column("Float64", "GiB", "memory of the node"),
        "gpus": Column("string", "", "GPU models", NO_GPU),
        "driver": Column("string", "", "GPU driver version", f"not recorded, or {NO_GPU}"),
        "load_s": Column("Float64", "s", "model loading, from the server's log", "the log does not say"),
        "compile_s": Column("Float64", "s", "torch.compile, from the server's log", "the log does not say"),
        "init_s": Column("Float64", "s", "engine initialisation, from the server's log", "the log does not say"),
        "kv_cache_tokens": Column("Int64", "tokens", "KV cache size, from the server's log", "the log does not say"),
        "weights_gib": Column("Float64", "GiB", "memory of the loaded model, largest rank", "the log does not say"),
        "kv_memory_gib": Column("Float64", "GiB", "memory for the KV cache, one rank", "the log does not say"),
        "capture_s": Column("Float64", "s", "graph capture, slowest rank", "the log does not say"),
        "capture_gib": Column("Float64", "GiB", "memory that graph capture took, largest rank", "the log does not say"),
        "graphs_piecewise": Column("Int64", "", "PIECEWISE graphs captured", "the log does not say"),
        "graphs_full": Column("Int64", "", "FULL graphs captured", "the log does not say"),
        "failure_class": Column("string", "", "class of engines.md 2", "nothing failed"),
        "root_cause": Column("string", "", "line of the log that names the cause", "nothing failed or none found"),
        "remedy": Column("string", "", "what to do about it", "nothing failed"),
    },
    "warmup": {
        "reading_id": Column("string", "", "session id / reading name, e.g. 20260911-230548/warmup_c8_w2"),
        "session_id": Column("string", "", "UTC time of the session's launch"),
        "slot": Column("string", "", "place in the schedule"),
        "arm": Column("string", "", "server configuration"),
        "concurrency": Column("Int64", "requests", "requests in flight, one wave"),
        "reading": Column("Int64", "", "from 1"),
        "duration_s": Column("Float64", "s", "wall time of the wave", FAILED),
        "throughput_tok_s": Column("Float64", "tok/s", "output tokens / duration", FAILED),
        "tpot_mean_ms": Column("Float64", "ms", "mean time per output token", FAILED),
        "change": Column("Float64", "", "relative change of TPOT against the reading before", "first reading"),
        "stalls": Column("Int64", "requests", "requests that stalled (method.md 8)", FAILED),
        "late_work": Column("Int64", "lines", "log lines of compiling, tuning or capturing in the course of it",
                            "where it stands in the server's log is not recorded"),
        "verdict": Column("string", "", "of this concurrency's readings: CONVERGED | UNWARMED"),
        "verdict_reason": Column("string", "", "one sentence"),
        "gate": Column("string", "", "did the server stay warm over the runs: passed | rerun passed (only those "
                       "measured once more did) | failed",
                       "not judged: the readings were not accepted, no run ended well, or the rule has no gate"),
        "gate_reason": Column("string", "", "one sentence", "the gate was not judged"),
    },
    "telemetry": {
        **_RUN_KEY,
        "window_s": Column("Float64", "s", "steady window that the samples are clipped to", FAILED),
        "samples": Column("Int64", "", "samples inside the window", FAILED),
        "coverage": Column("Float64", "", "time covered by those samples / window", FAILED),
        "cpu_refused": Column("string", "", "why the CPU's and processes' values in the window are withheld",
                              "they are not withheld"),
        "cpu_util_pct": Column("Float64", "%", "mean over cores and window", THIN),
        "cpu_util_naive_pct": Column("Float64", "%", "mean over cores from the end of the phase before the run to the "
                                     "start of the one after", "no sample"),
        "cpu_util_max_core_pct": Column("Float64", "%", "mean of the busiest core", THIN),
        "server_cpu_cores": Column("Float64", "cores", "CPU time of the server's processes / time", THIN),
        "client_cpu_cores": Column("Float64", "cores", "CPU time of the client / time", THIN),
        "server_memory_gib": Column("Float64", "GiB", "largest resident size of the server's processes", THIN),
        "client_memory_gib": Column("Float64", "GiB", "largest resident size of the client", THIN),
        "gpu_count": Column("Int64", "", "GPUs that the means are over: those the server sees, where that is known",
                            NO_GPU),
        "gpu_samples": Column("Int64", "", "samples of these GPUs inside the window", NO_GPU),
        "gpu_coverage": Column("Float64", "", "time covered by those samples / window, of the GPU with the least",
                               NO_GPU),
        "gpu_refused": Column("string", "", "why the GPU's values in the window are withheld",
                              "they are not withheld"),
        "gpu_util_naive_pct": Column("Float64", "%", "mean over GPUs from the client's launch, or the end of the phase "
                                     "before, to the start of the one after", NO_GPU),
        "gpu_util_pct": Column("Float64", "%", "share of time in which any kernel ran, mean over GPUs and window",
                               NO_GPU_IN_RUN),
        "gpu_util_se_pct": Column("Float64", "%", "standard error of it, from 10 s blocks", SHORT),
        "gpu_util_spread_pct": Column("Float64", "%", "highest less lowest of the GPUs' means", ONE_GPU),
        "gpu_util_fine_pct": Column("Float64", "%", "the same mean from the driver's own samples", NO_GPU_IN_RUN),
        "gpu_power_naive_w": Column("Float64", "W", "mean power per GPU, over the same time as the naive utilisation",
                                    NO_GPU),
        "gpu_power_w": Column("Float64", "W", "mean power per GPU in the window", NO_GPU_IN_RUN),
        "gpu_power_se_w": Column("Float64", "W", "standard error of it, from 10 s blocks", SHORT),
        "gpu_power_peak_w": Column("Float64", "W", "highest of the driver's own power samples, any GPU",
                                   NO_GPU_IN_RUN),
        "gpu_power_energy_w": Column("Float64", "W", "gpu_energy_j / window / GPUs, to hold against the readings",
                                     NO_GPU_IN_RUN),
        "gpu_power_limit_w": Column("Float64", "W", "enforced power limit per GPU", NO_GPU_IN_RUN),
        "gpu_power_share": Column("Float64", "", "mean power / limit, of the GPU with the most", NO_GPU_IN_RUN),
        "gpu_sm_active_pct": Column("Float64", "%", "SMs that were busy, from GPM", NO_GPU_IN_RUN),
        "gpu_tensor_active_pct": Column("Float64", "%", "time that tensor cores ran, from GPM", NO_GPU_IN_RUN),
        "gpu_dram_active_pct": Column("Float64", "%", "DRAM bandwidth used, from GPM", NO_GPU_IN_RUN),
        "gpu_sm_clock_mhz": Column("Float64", "MHz", "mean SM clock in the window", NO_GPU_IN_RUN),
        "gpu_sm_clock_share": Column("Float64", "", "mean SM clock in the window / highest in the run, of the GPU with "
                                     "the least", NO_GPU_IN_RUN),
        "gpu_throttled_share": Column("Float64", "", "samples with a thermal, power-brake, power-cap or slowdown sign",
                                      NO_GPU_IN_RUN),
        "gpu_throttle_reasons": Column("string", "", "those reasons", "none was active, or not known"),
        "gpu_throttled": Column("string", "", "signs of throttling (method.md 8)", "no sign, or not known"),
        "gpu_memory_gib": Column("Float64", "GiB", "largest memory in use, sum over GPUs", NO_GPU_IN_RUN),
        "gpu_energy_j": Column("Float64", "J", "energy counter difference over the window, sum over GPUs",
                               NO_GPU_IN_RUN),
        "gpu_energy_per_token_j": Column("Float64", "J", "gpu_energy_j / tokens emitted in the window", NO_GPU_IN_RUN),
        "gpu_energy_run_j": Column("Float64", "J", "energy counter difference over the whole run, sum over GPUs",
                                   NO_COUNTER),
        "gpu_energy_run_per_token_j": Column("Float64", "J", "gpu_energy_run_j / output tokens of the run",
                                             NO_COUNTER),
        "gpu_temperature_c": Column("Float64", "°C", "highest temperature in the window", NO_GPU_IN_RUN),
        "gpu_note": Column("string", "", "what to know about the GPU's values", "nothing to note"),
    },
    "client": {
        **_RUN_KEY,
        "client": Column("string", "", "load client that sent the run: native | vllm-bench"),
        "loop": Column("string", "", "its event loop: uvloop | asyncio", NATIVE_ONLY),
        "processes": Column("Int64", "", "processes that it sent from", NATIVE_ONLY),
        "client_cpu_cores": Column("Float64", "cores", "CPU time of the client / duration", NOTHING_NOTED),
        "client_busiest_cores": Column("Float64", "cores", "CPU time of its busiest process / duration",
                                       NOTHING_NOTED),
        "receive_wait_mean_ms": Column("Float64", "ms", "time that bytes waited unread in the client's sockets, mean",
                                       NATIVE_ONLY),
        "receive_queue_max_bytes": Column("Float64", "bytes", "bytes that waited unread at once, largest",
                                          NATIVE_ONLY),
        "loop_lag_mean_ms": Column("Float64", "ms", "lateness of the client's event loop, mean", NOTHING_NOTED),
        "loop_lag_p99_ms": Column("Float64", "ms", "the same, 99th percentile", NOTHING_NOTED),
        "loop_lag_max_ms": Column("Float64", "ms", "the same, largest", NOTHING_NOTED),
        "resend_gap_median_ms": Column("Float64", "ms", "a completion to the dispatch that takes its place, median",
                                       "a single wave, or the run failed"),
        "itl_client_mean_ms": Column("Float64", "ms", "mean time between two steps' tokens at the client", FAILED),
        "itl_server_mean_ms": Column("Float64", "ms", "the same at the server, /metrics", NOT_SCRAPED),
        "itl_ratio": Column("Float64", "", "client over server", NOT_SCRAPED),
        "ttft_client_mean_ms": Column("Float64", "ms", "mean TTFT at the client", FAILED),
        "ttft_server_mean_ms": Column("Float64", "ms", "mean TTFT at the server, /metrics", NOT_SCRAPED),
        "e2el_server_mean_ms": Column("Float64", "ms", "mean E2EL at the server, /metrics", NOT_SCRAPED),
        "ttft_excess_ms": Column("Float64", "ms", "client minus server: network, and the client itself", NOT_SCRAPED),
        "saturated": Column("string", "", "why the client is held to be a bottleneck",
                            "no sign of it among what is known"),
    },
    "scheduler": {
        **_RUN_KEY,
        "scrapes": Column("Int64", "", "scrapes of /metrics while the run had its requests in flight"),
        "running_mean": Column("Float64", "requests", "running in the engine", NOT_WATCHED),
        "waiting_mean": Column("Float64", "requests", "waiting in the engine", NOT_WATCHED),
        "waiting_max": Column("Float64", "requests", "waiting in the engine, largest", NOT_WATCHED),
        "outside_mean": Column("Float64", "requests", "sent by the client, neither running nor waiting in the engine",
                               NOT_IN_FLIGHT),
        "outside_share": Column("Float64", "", "the same over the requests in flight", NOT_IN_FLIGHT),
        "engine_arrival_rate_req_s": Column("Float64", "req/s", "requests that entered the engine a second, while some "
                                            "were outside", "none was stuck, or no scrape during the run"),
        "frontend": Column("boolean", "", "requests were stuck before the engine", NOT_IN_FLIGHT),
        "kv_cache_usage_max": Column("Float64", "", "KV cache usage, largest", NOT_WATCHED),
        "preemptions": Column("Int64", "", "preemptions during the run", NOT_SCRAPED),
        "prefix_hit_rate": Column("Float64", "", "prefix cache hits / queried tokens during the run", NOT_SCRAPED),
        "engine_steps": Column("Int64", "", "engine steps with output",
                               "not scraped, or more than one API server or engine: each counts a step again"),
        "tokens_per_engine_step": Column("Float64", "tokens", "output tokens / engine steps", "no engine steps"),
    },
    "reconciliation": {
        **_RUN_KEY,
        "quantity": Column("string", "", "requests | prompt_tokens | output_tokens"),
        "client": Column("Int64", "", "what the client's records hold", "the client reported nothing"),
        "metrics": Column("Int64", "", "increase of the server's counter over the run", NOT_SCRAPED),
        "log": Column("Int64", "", "sum over the server's log lines of the run",
                      "the log has no such lines, or they cover other runs as well"),
        "difference": Column("Float64", "", "largest relative difference from the client", "nothing to compare with"),
        "outcome": Column("string", "", "agrees | differs | not compared"),
    },
    "sweep": {
        "arm": Column("string", "", "server configuration"),
        "concurrency": Column("Int64", "requests", "requests kept in flight by the client"),
        "client": Column("string", "", "load client: native | vllm-bench", "the booking has one client"),
        "sessions": Column("Int64", "", "sessions that have a usable run here"),
        "runs": Column("Int64", "", "usable runs (status ok)"),
        "runs_not_ok": Column("Int64", "", "runs that failed or are incomplete; in none of the figures of this row"),
        "throughput_tok_s": Column("Float64", "tok/s", "mean over sessions of their run means", "no usable run"),
        "throughput_min_tok_s": Column("Float64", "tok/s", "lowest run", "no usable run"),
        "throughput_max_tok_s": Column("Float64", "tok/s", "highest run", "no usable run"),
        "tpot_mean_ms": Column("Float64", "ms", "mean over sessions of their run means", "no usable run"),
        "tpot_min_ms": Column("Float64", "ms", "lowest run mean", "no usable run"),
        "tpot_max_ms": Column("Float64", "ms", "highest run mean", "no usable run"),
        "ttft_mean_ms": Column("Float64", "ms", "mean over sessions of their run means", "no usable run"),
        "ttft_min_ms": Column("Float64", "ms", "lowest run mean", "no usable run"),
        "ttft_max_ms": Column("Float64", "ms", "highest run mean", "no usable run"),
        "itl_p50_ms": Column("Float64", "ms", "mean over sessions of their runs' median ITL", "no usable run"),
        "e2el_mean_ms": Column("Float64", "ms", "mean over sessions of their run means", "no usable run"),
        "tags": Column("string", "", "union of the tags of the runs used, comma separated; empty when none"),
        "run_ids": Column("string", "", "the runs used, space separated; empty when none"),
    },
    "crosscheck": {
        "arm": Column("string", "", "server configuration"),
        "concurrency": Column("Int64", "requests", "requests kept in flight by the client"),
        "pairs": Column("Int64", "", "pairs of runs, one of each client, one after the other on one server"),
        **_both("throughput", "_tok_s", "tok/s", "throughput"),
        **_both("tpot", "_ms", "ms", "mean TPOT"),
        **_both("ttft", "_ms", "ms", "mean TTFT"),
        **_both("throughput_over_server", "", "", "throughput over what the server's own mean E2EL allows at this "
                "concurrency", NOT_SCRAPED),
        **_both("tpot_over_server", "", "", "mean time between two steps' tokens over the server's own", NOT_SCRAPED),
        "ttft_difference_ms": Column("Float64", "ms", "mean TTFT of vllm-bench less that of native"),
        "ttft_excess_native_ms": Column("Float64", "ms", "mean TTFT of native less the server's own", NOT_SCRAPED),
        "ttft_excess_vllm_bench_ms": Column("Float64", "ms", "mean TTFT of vllm-bench less the server's own",
                                            NOT_SCRAPED),
        "ttft_server_difference_ms": Column("Float64", "ms", "the part of ttft_difference_ms that the server saw, too",
                                            NOT_SCRAPED),
    },
    "failures": {
        "failure_id": Column("string", "", "run id, or session id for a failed boot"),
        "slot": Column("string", "", "place in the schedule"),
        "arm": Column("string", "", "server configuration"),
        "what": Column("string", "", "boot | run | requests | client | teardown | pipeline | interrupted"),
        "failure_class": Column("string", "", "class of engines.md 2, or of the client"),
        "reason": Column("string", "", "one sentence: what was seen"),
        "remedy": Column("string", "", "what to do about it"),
        "expected": Column("boolean", "", "the booking file declares this failure as expected"),
        "cost_s": Column("Float64", "s", "node time it took", "not recorded"),
    },
    "timeline": {
        "session_id": Column("string", "", "UTC time of the session's launch"),
        "slot": Column("string", "", "place in the schedule"),
        "arm": Column("string", "", "server configuration"),
        "phase": Column("string", "", "boot | client | warmup | run | teardown"),
        "label": Column("string", "", "run or reading name, the client's name, or the phase"),
        "concurrency": Column("Int64", "requests", "of the run or reading", "not a run or reading"),
        "ok": Column("boolean", "", "the phase ended well"),
        "t_start_s": Column("Float64", "s", "Unix time"),
        "t_end_s": Column("Float64", "s", "Unix time"),
    },
}


def check(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """Return `frame` with the columns, order and dtypes of `table`'s schema.

    Raises TableError naming the table and the column when a column is missing or unknown, cannot be held in its
    dtype, or has a null where the schema allows none.
    """
    columns = TABLES[table]
    missing = [name for name in columns if name not in frame.columns]
    unknown = [name for name in frame.columns if name not in columns]
    if missing or unknown:
        raise TableError(
            f"table {table}: " + "; ".join(
                ([f"column missing: {', '.join(missing)}"] if missing else [])
                + ([f"column not in the schema: {', '.join(map(str, unknown))}"] if unknown else [])
            ) + ". Rerun the rule that makes it."
        )
    ordered = frame[list(columns)].reset_index(drop=True)
    for name, column in columns.items():
        try:
            ordered[name] = ordered[name].astype(column.dtype)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise TableError(f"table {table}, column {name}: not {column.dtype}: {error}.") from error
        if not column.null and ordered[name].isna().any():
            row = int(ordered[name].isna().to_numpy().argmax())
            raise TableError(f"table {table}, column {name}, row {row}: a null where the schema allows none.")
    return ordered


def empty(table: str) -> pd.DataFrame:
    """A frame of `table` with no rows, columns and dtypes as in the schema."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=column.dtype) for name, column in TABLES[table].items()})


def concat(frames: list[pd.DataFrame], table: str) -> pd.DataFrame:
    """The rows of all `frames`, as `table`; empty frames carry no dtypes into it."""
    import pandas as pd

    filled = [frame for frame in frames if len(frame)]
    return check(pd.concat(filled, ignore_index=True), table) if filled else empty(table)
