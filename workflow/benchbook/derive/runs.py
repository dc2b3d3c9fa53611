"""One row per planned run: its metrics (method.md 1), steady window (3), Little's check (5) and tags (10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive import bimodal, decode, little, ragged, stalls, tags, waves, window
from benchbook.derive.answered import answered
from benchbook.derive.counters import Counted
from benchbook.derive.run_key import client_of, planned_client, run_key

P90_REQUESTS, P99_REQUESTS = 64, 662
CHUNK_IS_STEP = 0.02


def row(
    session_id: str,
    spec: Mapping[str, Any],
    record: Mapping[str, Any],
    duration_s: float | None,
    requests: pd.DataFrame,
    *,
    counted: Counted | None,
    tokens_from: str | None,
    late_work: int | None,
    warmup_verdict: str | None,
    spare: bool = False,
    replaced: bool = False,
    expected_failure: bool,
    busy_until_s: float | None,
    thresholds: Mapping[str, float],
) -> dict[str, Any]:
    """Row of table `runs` for one measured run. `requests`: the run's rows of table `requests`.

    `duration_s` is the client's own wall time, None when it wrote no result. `busy_until_s`: Unix time the last
    request of the run before this one ended, or the reading before it, None for the first. `counted`: what the server
    counted meanwhile. `late_work`: lines in which its log says that it was still compiling, None where the log cannot
    be cut. `tokens_from`: usage | retokenized | None, see derive.requests.tokens_from.
    """
    good = answered(requests)
    measured = duration_s is not None and duration_s > 0 and len(good) > 0
    holds = measured and duration_s is not None and window.times_hold(requests, duration_s)
    times_s = window.token_times_s(good) if measured else None
    steady = window.steady(requests, times_s) if holds and requests["t_send_s"].notna().all() else None
    law = (
        little.check(requests, float(duration_s), record["concurrency"], thresholds["little_pass"],
                     thresholds["little_warn"])
        if measured and duration_s is not None else None
    )  # fmt: skip
    sends = requests["t_send_s"].dropna()
    tokens = int(good["output_tokens"].sum()) if measured else None
    per_chunk = _tokens_per_chunk(good) if measured else None
    per_step = counted.tokens_per_step if counted is not None else None
    gaps_ms = ragged.flat(good["itl_ms"])[0] if measured else np.array([])
    itl_holds = chunk_is_step(per_chunk, per_step) and chunk_is_step(_tokens_per_arrival(good, gaps_ms), per_step)
    latencies = _latencies(good, measured, gaps_ms if itl_holds else np.array([]))
    pure = decode.pure_itl(requests, steady) if steady and itl_holds else None
    modes = bimodal.modes(_after_first_wave(good, record["concurrency"])) if measured else None
    values: dict[str, Any] = {
        **run_key(session_id, spec, record),
        "client": client_of(record),
        "spec_hash": spec["spec_hash"],
        "status": record["status"],
        "reason": record["reason"],
        "expected_failure": expected_failure and record["status"] != "ok",
        "t_start_s": record["t_start_s"],
        "t_end_s": record["t_end_s"],
        "duration_s": duration_s,
        "gap_before_s": float(sends.min()) - busy_until_s if len(sends) and busy_until_s is not None else None,
        "num_prompts": record["num_prompts"],
        "completed": len(good) if duration_s is not None else None,
        "failed": len(requests) - len(good) if duration_s is not None else None,
        "waves": waves.waves(record["num_prompts"], record["concurrency"]),
        "whole_waves": waves.whole(record["num_prompts"], record["concurrency"]),
        "prompt_tokens": int(good["prompt_tokens"].sum()) if measured else None,
        "output_tokens": tokens,
        "throughput_tok_s": tokens / duration_s if measured else None,  # type: ignore[operator]
        "request_rate_req_s": len(good) / duration_s if measured else None,  # type: ignore[operator]
        "window_start_s": steady.start_s if steady else None,
        "window_end_s": steady.end_s if steady else None,
        "window_s": steady.width_s if steady else None,
        "window_throughput_tok_s": steady.throughput_tok_s if steady else None,
        "decode_sequences": decode.sequences(requests, steady) if steady else None,
        **latencies,
        "itl_pure_p50_ms": pure.p50_ms if pure else None,
        "itl_pure_sequences": pure.sequences if pure else None,
        "itl_pure_share": pure.share if pure else None,
        "tokens_per_chunk": per_chunk,
        "tokens_per_step": per_step if measured else None,
        "step_ms": latencies["tpot_mean_ms"] * per_step if latencies["tpot_mean_ms"] and per_step else None,
        "tokens_from": tokens_from,
        "throughput_peak_tok_s": window.peak_tok_s(requests, times_s) if measured else None,
        "stalls": int(stalls.stalled(requests).sum()) if measured else None,
        "ttft_slow_share": modes.slow_share if modes and modes.bimodal else None,
        "ttft_mode_ratio": modes.slow / modes.fast if modes and modes.bimodal else None,
        "ttft_bimodal": modes.bimodal if modes else None,
        "in_flight_mean": law.in_flight_mean if law else None,
        "fill": law.fill if law else None,
        "little_delta": law.delta if law else None,
        "little": (law.outcome if holds else little.REFUSED) if law else None,
        "late_work": late_work,
        "warmup_verdict": warmup_verdict,
        "spare": spare,
        "replaced": replaced,
    }
    values["tags"] = ",".join(tags.of_run(values, thresholds))
    return values


def chunk_is_step(per_chunk: float | None, per_step: float | None) -> bool:
    """Whether a streamed chunk is what one decode step yielded: |g/a - 1| within 2 % (method.md 1).

    Otherwise chunks were merged or split on their way and the time between two says nothing; TPOT stays valid. Where
    the server's counters are unknown, only chunks of one token can be taken for steps.
    """
    return per_chunk is not None and abs(per_chunk / (per_step or 1.0) - 1) <= CHUNK_IS_STEP


def never_measured(session_id: str, spec: Mapping[str, Any], block: Mapping[str, Any], run: Mapping[str, Any],
                   reason: str, expected_failure: bool) -> dict[str, Any]:  # fmt: skip
    """Row of a planned run that has no record: the session ended before it. Every figure is null."""
    record = {"run": run["name"], "concurrency": block["concurrency"], "repeat": run["repeat"]}
    values: dict[str, Any] = dict.fromkeys(schema.TABLES["runs"])
    values.update(
        run_key(session_id, spec, record),
        client=planned_client(run),
        spec_hash=spec["spec_hash"],
        status="missing",
        reason=reason,
        expected_failure=expected_failure,
        spare=False,
        tags="INCOMPLETE",
        replaced=False,
        num_prompts=block["num_prompts"],
        waves=waves.waves(block["num_prompts"], block["concurrency"]),
        whole_waves=waves.whole(block["num_prompts"], block["concurrency"]),
    )
    return values


def table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows))
    return schema.check(frame, "runs") if len(frame) else schema.empty("runs")


def _after_first_wave(good: pd.DataFrame, concurrency: int) -> np.ndarray:
    """TTFTs in ms without those of the first `concurrency` requests sent, which all arrive at once."""
    order = np.argsort(good["t_send_s"].to_numpy(float), kind="stable")
    later = np.asarray(good["ttft_ms"].to_numpy(float)[order][concurrency:])
    known: np.ndarray = later[~np.isnan(later)]
    return known


def _latencies(good: pd.DataFrame, measured: bool, gaps_ms: np.ndarray) -> dict[str, float | None]:
    """Means and percentiles in ms; p90 and p99 only from as many requests as carry them (method.md 1). `gaps_ms`: the
    times between two chunks, none where they are not those between two steps."""
    values: dict[str, float | None] = {}
    for name in ("ttft", "tpot", "e2el"):
        series = good[f"{name}_ms"].dropna() if measured else pd.Series(dtype=float)
        values[f"{name}_mean_ms"] = float(series.mean()) if len(series) else None
        values[f"{name}_p50_ms"] = float(series.median()) if len(series) else None
        for percent, floor in ((90, P90_REQUESTS), (99, P99_REQUESTS)) if name != "e2el" else ():
            values[f"{name}_p{percent}_ms"] = float(np.percentile(series, percent)) if len(series) >= floor else None
    queued = good["queue_ms"].dropna() if measured else pd.Series(dtype=float)
    for name in ("ttft", "e2el"):
        whole = (good[f"{name}_ms"] + good["queue_ms"]).dropna() if len(queued) else queued
        values[f"{name}_schedule_mean_ms"] = float(whole.mean()) if len(whole) else None
    values["itl_mean_ms"] = float(gaps_ms.mean()) if len(gaps_ms) else None
    values["itl_p50_ms"] = float(np.median(gaps_ms)) if len(gaps_ms) else None
    return values


def _tokens_per_chunk(good: pd.DataFrame) -> float | None:
    """g = (tokens - 1) / (chunks - 1) over all ok requests (method.md 1)."""
    chunks = int((good["chunks"] - 1).sum())
    return int((good["output_tokens"] - 1).sum()) / chunks if chunks else None


def _tokens_per_arrival(good: pd.DataFrame, gaps_ms: np.ndarray) -> float | None:
    """The same over chunks that arrived apart: those that came in one read are of steps whose end nobody saw, and the
    next gap is that of several."""
    apart = int((gaps_ms > 0).sum())
    return int((good["output_tokens"] - 1).sum()) / apart if apart else None
