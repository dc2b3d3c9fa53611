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
NO_GPU = "the node has no GPU that NVML can read"

_RUN_KEY = {
    "run_id": Column("string", "", "session id / run name, e.g. 20260911-230548/baseline_c64_r2"),
    "session_id": Column("string", "", "UTC time of the session's launch"),
    "slot": Column("string", "", "place in the schedule, e.g. s1"),
    "arm": Column("string", "", "server configuration"),
    "concurrency": Column("Int64", "requests", "requests kept in flight by the client"),
    "repeat": Column("Int64", "", "repeat of this concurrency in this session, from 1"),
}

TABLES: dict[str, dict[str, Column]] = {
    "requests": {
        **_RUN_KEY,
        "request": Column("Int64", "", "index in the order the client lists them, from 0"),
        "ok": Column("boolean", "", "the client got tokens to the end"),
        "error": Column("string", "", "what the client saw", "the request is ok"),
        "t_send_s": Column("Float64", "s", "Unix time the request was sent", "the client did not send it"),
        "t_first_s": Column("Float64", "s", "Unix time of the first token", "the request failed"),
        "t_last_s": Column("Float64", "s", "Unix time of the last token", "the request failed"),
        "prompt_tokens": Column("Int64", "tokens", "prompt length", "the request failed"),
        "output_tokens": Column("Int64", "tokens", "tokens generated", "the request failed"),
        "requested_output_tokens": Column("Int64", "tokens", "tokens asked for"),
        "chunks": Column("Int64", "", "streamed chunks that carried tokens", "the request failed"),
        "ttft_ms": Column("Float64", "ms", "time to first token", "the request failed"),
        "e2el_ms": Column("Float64", "ms", "end-to-end latency", "the request failed"),
        "tpot_ms": Column("Float64", "ms", "time per output token after the first",
                          "the request failed or has one token"),
        "itl_ms": Column("object", "ms", "list of inter-token latencies, one per chunk after the first"),
    },
    "runs": {
        **_RUN_KEY,
        "spec_hash": Column("string", "", "hash of the specification the run was measured under"),
        "status": Column("string", "", "ok | incomplete (some requests failed or fell short) | failed | missing"),
        "reason": Column("string", "", "why it is not ok, one sentence", "the run is ok"),
        "expected_failure": Column("boolean", "", "the booking file declares this failure as expected"),
        "tags": Column("string", "", "faults found, comma separated (UNWARMED, INCOMPLETE, UNSTEADY); empty when none"),
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
        "itl_mean_ms": Column("Float64", "ms", "mean inter-token latency", FAILED),
        "itl_p50_ms": Column("Float64", "ms", "median inter-token latency", FAILED),
        "e2el_mean_ms": Column("Float64", "ms", "mean end-to-end latency", FAILED),
        "e2el_p50_ms": Column("Float64", "ms", "median end-to-end latency", FAILED),
        "tokens_per_chunk": Column("Float64", "", "g of method.md 1", FAILED),
        "in_flight_mean": Column("Float64", "requests", "sum of E2EL / duration", FAILED),
        "fill": Column("Float64", "", "in_flight_mean / concurrency (eta of method.md 5)", FAILED),
        "little_delta": Column("Float64", "", "X E / (L C) - 1 (method.md 5)", FAILED),
        "little": Column("string", "", "pass | warn | refused (method.md 5)", FAILED),
        "warmup_verdict": Column("string", "", "CONVERGED | UNWARMED for this concurrency", "no warmup was run"),
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
        "client_start_s": Column("Float64", "s", "start-up of the load client", "it was not started"),
        "warmup_s": Column("Float64", "s", "time inside warmup readings", "none was run"),
        "runs_s": Column("Float64", "s", "time inside measured runs", "none was run"),
        "teardown_s": Column("Float64", "s", "stop request to last process gone", "not recorded"),
        "wall_s": Column("Float64", "s", "launch to last process gone", "not recorded"),
        "run_share": Column("Float64", "", "runs_s / wall_s", "either is missing"),
        "gap_median_s": Column("Float64", "s", "median time between two runs or readings", "fewer than two"),
        "gap_max_s": Column("Float64", "s", "longest time between two runs or readings", "fewer than two"),
        "runs_done": Column("Int64", "", "runs with a result"),
        "runs_planned": Column("Int64", "", "runs asked of this session"),
        "sampler_cpu_share": Column("Float64", "", "CPU seconds of the telemetry sampler / wall_s", "not recorded"),
        "engine": Column("string", "", "engine environment"),
        "engine_version": Column("string", "", "version the server's log prints", "the log does not say"),
        "python": Column("string", "", "Python of the engine environment", "not known (a container)"),
        "kernel": Column("string", "", "operating system kernel"),
        "cpu_model": Column("string", "", "CPU model name", "the kernel does not say"),
        "cores": Column("Int64", "", "cores the session may use (affinity)"),
        "memory_gib": Column("Float64", "GiB", "memory of the node"),
        "gpus": Column("string", "", "GPU models", NO_GPU),
        "driver": Column("string", "", "GPU driver version", NO_GPU),
        "load_s": Column("Float64", "s", "model loading, from the server's log", "the log does not say"),
        "compile_s": Column("Float64", "s", "torch.compile, from the server's log", "the log does not say"),
        "init_s": Column("Float64", "s", "engine initialisation, from the server's log", "the log does not say"),
        "kv_cache_tokens": Column("Int64", "tokens", "KV cache size, from the server's log", "the log does not say"),
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
        "verdict": Column("string", "", "of this concurrency: CONVERGED | UNWARMED"),
        "verdict_reason": Column("string", "", "one sentence"),
    },
    "telemetry": {
        **_RUN_KEY,
        "window_s": Column("Float64", "s", "steady window that the samples are clipped to", FAILED),
        "samples": Column("Int64", "", "samples inside the window", FAILED),
        "coverage": Column("Float64", "", "time covered by those samples / window", FAILED),
        "cpu_util_pct": Column("Float64", "%", "mean over cores and window", "no sample in the window"),
        "cpu_util_whole_pct": Column("Float64", "%", "the same over the whole telemetry file (naive)", "no sample"),
        "cpu_util_max_core_pct": Column("Float64", "%", "mean of the busiest core", "no sample in the window"),
        "server_cpu_cores": Column("Float64", "cores", "CPU time of the server's processes / time", "no sample"),
        "client_cpu_cores": Column("Float64", "cores", "CPU time of the client / time", "no sample"),
        "server_memory_gib": Column("Float64", "GiB", "largest resident size of the server's processes", "no sample"),
        "client_memory_gib": Column("Float64", "GiB", "largest resident size of the client", "no sample"),
        "running_mean": Column("Float64", "requests", "running requests, /metrics", "no scrape in the window"),
        "waiting_max": Column("Float64", "requests", "waiting requests, /metrics", "no scrape in the window"),
        "kv_cache_usage_max": Column("Float64", "", "KV cache usage, /metrics", "no scrape in the window"),
        "preemptions": Column("Int64", "", "preemptions during the run, /metrics", "no scrape around the run"),
        "prefix_hit_rate": Column("Float64", "", "prefix cache hits / queried tokens during the run",
                                  "no scrape around the run, or no query"),
        "gpu_util_pct": Column("Float64", "%", "mean over GPUs and window", NO_GPU),
        "gpu_util_whole_pct": Column("Float64", "%", "the same over the whole telemetry file (naive)", NO_GPU),
        "gpu_power_w": Column("Float64", "W", "mean power per GPU in the window", NO_GPU),
        "gpu_sm_clock_mhz": Column("Float64", "MHz", "mean SM clock in the window", NO_GPU),
        "gpu_memory_gib": Column("Float64", "GiB", "largest memory in use, sum over GPUs", NO_GPU),
        "gpu_energy_j": Column("Float64", "J", "energy counter difference over the window, sum over GPUs", NO_GPU),
        "gpu_temperature_c": Column("Float64", "°C", "highest temperature in the window", NO_GPU),
    },
    "sweep": {
        "arm": Column("string", "", "server configuration"),
        "concurrency": Column("Int64", "requests", "requests kept in flight by the client"),
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
        "label": Column("string", "", "run or reading name, or the phase"),
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
