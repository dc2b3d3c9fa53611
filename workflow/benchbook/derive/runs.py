"""One row per planned run: its metrics (method.md 1), steady window (3), Little's check (5) and tags (10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive import little, window
from benchbook.derive.requests import run_key

P90_REQUESTS, P99_REQUESTS = 64, 662


def row(
    session_id: str,
    spec: Mapping[str, Any],
    record: Mapping[str, Any],
    duration_s: float | None,
    requests: pd.DataFrame,
    *,
    warmup_verdict: str | None,
    expected_failure: bool,
    busy_until_s: float | None,
    thresholds: Mapping[str, float],
) -> dict[str, Any]:
    """Row of table `runs` for one measured run. `requests`: the run's rows of table `requests`.

    `duration_s` is the client's own wall time, None when it wrote no result. `busy_until_s`: Unix time the last
    request of the run or reading before this one ended, None for the first.
    """
    good = requests[requests["ok"]] if len(requests) else requests
    measured = duration_s is not None and duration_s > 0 and len(good) > 0
    steady = window.steady(requests) if measured and requests["t_send_s"].notna().all() else None
    law = (
        little.check(requests, float(duration_s), record["concurrency"], thresholds["little_pass"],
                     thresholds["little_warn"])
        if measured and duration_s is not None else None
    )  # fmt: skip
    sends = requests["t_send_s"].dropna()
    tokens = int(good["output_tokens"].sum()) if measured else None
    values: dict[str, Any] = {
        **run_key(session_id, spec, record),
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
        "waves": record["num_prompts"] / record["concurrency"],
        "whole_waves": record["num_prompts"] % record["concurrency"] == 0,
        "prompt_tokens": int(good["prompt_tokens"].sum()) if measured else None,
        "output_tokens": tokens,
        "throughput_tok_s": tokens / duration_s if measured else None,  # type: ignore[operator]
        "request_rate_req_s": len(good) / duration_s if measured else None,  # type: ignore[operator]
        "window_start_s": steady.start_s if steady else None,
        "window_end_s": steady.end_s if steady else None,
        "window_s": steady.width_s if steady else None,
        "window_throughput_tok_s": steady.throughput_tok_s if steady else None,
        **_latencies(good, measured),
        "tokens_per_chunk": _tokens_per_chunk(good) if measured else None,
        "in_flight_mean": law.in_flight_mean if law else None,
        "fill": law.fill if law else None,
        "little_delta": law.delta if law else None,
        "little": law.outcome if law else None,
        "warmup_verdict": warmup_verdict,
    }
    values["tags"] = ",".join(_tags(values, thresholds))
    return values


def never_measured(session_id: str, spec: Mapping[str, Any], block: Mapping[str, Any], run: Mapping[str, Any],
                   reason: str, expected_failure: bool) -> dict[str, Any]:  # fmt: skip
    """Row of a planned run that has no record: the session ended before it. Every figure is null."""
    record = {"run": run["name"], "concurrency": block["concurrency"], "repeat": run["repeat"]}
    values: dict[str, Any] = dict.fromkeys(schema.TABLES["runs"])
    values.update(
        run_key(session_id, spec, record),
        spec_hash=spec["spec_hash"],
        status="missing",
        reason=reason,
        expected_failure=expected_failure,
        tags="INCOMPLETE",
        num_prompts=block["num_prompts"],
        waves=block["num_prompts"] / block["concurrency"],
        whole_waves=block["num_prompts"] % block["concurrency"] == 0,
    )
    return values


def with_telemetry(runs: pd.DataFrame, telemetry: pd.DataFrame, coverage_min: float) -> pd.DataFrame:
    """`runs` with the tag TELEM on those whose steady window the samples do not cover (method.md 9)."""
    thin = set(telemetry.loc[telemetry["coverage"].fillna(0) < coverage_min, "run_id"])
    thin &= set(runs.loc[runs["window_throughput_tok_s"].notna(), "run_id"])
    tagged = [
        ",".join(filter(None, [tags, "TELEM" if run in thin else ""]))
        for run, tags in zip(runs["run_id"], runs["tags"], strict=True)
    ]
    return schema.check(runs.assign(tags=tagged), "runs")


def table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows))
    return schema.check(frame, "runs") if len(frame) else schema.empty("runs")


def _latencies(good: pd.DataFrame, measured: bool) -> dict[str, float | None]:
    """Means and percentiles in ms; p90 and p99 only from as many requests as carry them (method.md 1)."""
    values: dict[str, float | None] = {}
    for name in ("ttft", "tpot", "e2el"):
        series = good[f"{name}_ms"].dropna() if measured else pd.Series(dtype=float)
        values[f"{name}_mean_ms"] = float(series.mean()) if len(series) else None
        values[f"{name}_p50_ms"] = float(series.median()) if len(series) else None
    ttft = good["ttft_ms"].dropna() if measured else pd.Series(dtype=float)
    for percent, floor in ((90, P90_REQUESTS), (99, P99_REQUESTS)):
        values[f"ttft_p{percent}_ms"] = float(np.percentile(ttft, percent)) if len(ttft) >= floor else None
    gaps = np.concatenate([np.asarray(item, float) for item in good["itl_ms"]]) if measured else np.array([])
    values["itl_mean_ms"] = float(gaps.mean()) if len(gaps) else None
    values["itl_p50_ms"] = float(np.median(gaps)) if len(gaps) else None
    return values


def _tokens_per_chunk(good: pd.DataFrame) -> float | None:
    """g = (tokens - 1) / (chunks - 1) over all ok requests (method.md 1)."""
    chunks = int((good["chunks"] - 1).sum())
    return int((good["output_tokens"] - 1).sum()) / chunks if chunks else None


def _tags(values: Mapping[str, Any], thresholds: Mapping[str, float]) -> list[str]:
    """Faults of one run, by the names of method.md 10."""
    tags = []
    if values["status"] != "ok":
        tags.append("INCOMPLETE")
    if values["warmup_verdict"] != "CONVERGED":
        tags.append("UNWARMED")
    if values["window_s"] is not None:
        asked_s = max(
            thresholds["steady_window_min_s"], thresholds["steady_window_min_e2el"] * values["e2el_mean_ms"] / 1000
        )
        if values["window_s"] < asked_s or values["little"] == little.REFUSED:
            tags.append("UNSTEADY")
    return tags
