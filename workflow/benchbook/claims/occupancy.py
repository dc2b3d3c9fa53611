"""Busy and idle time of a decode step, run by run, from telemetry clipped to the steady window (method.md 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from scipy.stats import t as student

from benchbook import schema
from benchbook.claims import busy
from benchbook.claims.estimate import blocks_df
from benchbook.claims.usable import usable
from benchbook.columns import tag_text

ONE_TOKEN_TOLERANCE = 0.02


def table(runs: pd.DataFrame, telemetry: pd.DataFrame, booking: Mapping[str, Any]) -> pd.DataFrame:
    """Table `occupancy`: one row per usable run.

    The step is the mean over all steps, those with other requests' prefill in them too, because utilization is a mean
    over the same steps: its product with the step of pure decode would be of two different times.
    """
    watched = {row["run_id"]: row for row in telemetry.to_dict("records")}
    rows = [_row(run, watched.get(run["run_id"]), booking) for run in
            usable(runs, booking["clients"]).to_dict("records")]  # fmt: skip
    return schema.check(pd.DataFrame(rows), "occupancy") if rows else schema.empty("occupancy")


def mean_step_ms(run: Mapping[Any, Any]) -> float | None:
    """Mean decode step of a row of table `runs`: mean TPOT x tokens per step, or mean TPOT where /metrics was not read
    and every chunk carried one token. None where neither holds."""
    if pd.notna(run["step_ms"]):
        return float(run["step_ms"])
    per_chunk, tpot_ms = run["tokens_per_chunk"], run["tpot_mean_ms"]
    if pd.isna(tpot_ms) or pd.isna(per_chunk) or abs(per_chunk - 1) > ONE_TOKEN_TOLERANCE:
        return None
    return float(tpot_ms)


def refusal(run: Mapping[Any, Any], watched: Mapping[Any, Any] | None, booking: Mapping[str, Any]) -> str | None:
    """Why telemetry says nothing of this run's GPUs, and what to do; None when nothing speaks against it."""
    least = booking["thresholds"]["telemetry_coverage_min"]
    if watched is None or pd.isna(watched["gpu_count"]):
        if booking["node"]["gpus"]:
            return "no GPU was sampled; see that NVML can be read on the node, and measure again"
        return "the node has no GPU; nothing of a GPU can be said on it"
    if pd.notna(watched["gpu_refused"]):
        return f"telemetry of the GPUs is withheld ({watched['gpu_refused']}); measure again with the sampler running"
    if pd.isna(watched["gpu_coverage"]):
        return "the run has no steady window to clip telemetry to; give it more prompts"
    if watched["gpu_coverage"] < least:
        return f"samples cover {watched['gpu_coverage']:.2f} of the window, below {least:g}; measure again"
    if "TELEM" in tag_text.listed(run["tags"]):
        return "the run is tagged TELEM: samples do not cover its window; measure again with the sampler running"
    if pd.isna(watched["gpu_util_pct"]):
        return "the GPUs offered no utilization in the window; read it from a driver that does"
    if not 0 <= watched["gpu_util_pct"] <= 100:
        return f"utilization reads {watched['gpu_util_pct']:.4g} %, which cannot be; read it from another driver"
    return None


def _row(run: Mapping[Any, Any], watched: Mapping[Any, Any] | None, booking: Mapping[str, Any]) -> dict[str, Any]:
    step_ms, refused = mean_step_ms(run), refusal(run, watched, booking)
    row: dict[str, Any] = {
        **dict.fromkeys(schema.TABLES["occupancy"]),
        **{name: run[name] for name in ("run_id", "arm", "concurrency")},
        "step_ms": step_ms,
        "refused": refused,
    }
    if refused is not None or watched is None:
        return row
    share = float(watched["gpu_util_pct"]) / 100
    se = None if pd.isna(watched["gpu_util_se_pct"]) else float(watched["gpu_util_se_pct"]) / 100
    row |= {"utilization": share, **_imbalance(watched)}
    if pd.notna(watched["gpu_power_share"]):
        row |= {"power_share": float(watched["gpu_power_share"]),
                "quadrant": busy.quadrant(share, float(watched["gpu_power_share"]))}  # fmt: skip
    if row["quadrant"] == busy.CONTRADICTORY:
        row["refused"] = (
            f"utilization {100 * share:.0f} % and power {100 * row['power_share']:.0f} % of the limit "
            "contradict each other; check that both are of this run's GPUs and window"
        )
    elif step_ms is None:
        row["refused"] = "tokens per step are not known; have /metrics scraped during the runs"
    else:
        row |= {"busy_ms": busy.busy_ms(share, step_ms), "idle_ms": busy.idle_ms(share, step_ms)}
        if se is not None:
            reach = float(student.ppf(0.975, blocks_df(float(watched["window_s"])))) * se
            row |= {"idle_low_ms": busy.idle_ms(min(1.0, share + reach), step_ms),
                    "idle_high_ms": busy.idle_ms(max(0.0, share - reach), step_ms)}  # fmt: skip
    return row


def _imbalance(watched: Mapping[Any, Any]) -> dict[str, Any]:
    spread, se = watched["gpu_util_spread_pct"], watched["gpu_util_se_pct"]
    if pd.isna(spread):
        return {}
    known = spread <= busy.IMBALANCE_PP or pd.notna(se)
    return {"spread_pp": float(spread),
            "imbalance": busy.imbalance(float(spread), 0.0 if pd.isna(se) else float(se)) if known else None}
