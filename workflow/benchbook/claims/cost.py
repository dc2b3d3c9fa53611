"""What a million output tokens cost while the server serves, and what energy they take (method.md 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims import price

METRIC = "throughput_tok_s"


def table(
    runs: pd.DataFrame, repeatability: pd.DataFrame, telemetry: pd.DataFrame, booking: Mapping[str, Any]
) -> pd.DataFrame:
    """Table `cost`: one row per arm and concurrency of table `repeatability`.

    Boots, warmups and what failed are not in it: see table `bill`. The interval is that of the throughput, inverted.
    """
    rows = [
        _row(item, runs, telemetry, booking["node"]["price_usd_per_hour"])
        for item in repeatability[repeatability["metric"] == METRIC].to_dict("records")
    ]
    return schema.check(pd.DataFrame(rows), "cost") if rows else schema.empty("cost")


def tokens_per_j(runs: pd.DataFrame, telemetry: pd.DataFrame) -> float | None:
    """Output tokens of `runs` over the energy that their GPUs took from the first send to the last token, sum over sum;
    only runs whose energy is known are in either sum. None where there is none."""
    both = runs[["run_id", "output_tokens"]].merge(telemetry[["run_id", "gpu_energy_run_j"]], on="run_id").dropna()
    energy_j = float(both["gpu_energy_run_j"].sum())
    return float(both["output_tokens"].sum()) / energy_j if energy_j > 0 else None


def _row(
    item: Mapping[Any, Any], runs: pd.DataFrame, telemetry: pd.DataFrame, usd_per_hour: float | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        **dict.fromkeys(schema.TABLES["cost"]),
        **{name: item[name] for name in ("arm", "concurrency", "tags", "run_ids")},
        METRIC: item["mean"],
        "tokens_per_j": tokens_per_j(runs[runs["run_id"].isin(item["run_ids"].split())], telemetry),
    }
    if usd_per_hour is None or pd.isna(item["mean"]):
        return row
    row["usd_per_mtok"] = price.usd_per_mtok(usd_per_hour, float(item["mean"]))
    if pd.notna(item["ci_low"]) and pd.notna(item["ci_high"]) and item["ci_low"] > 0:
        row["usd_per_mtok_low"], row["usd_per_mtok_high"] = price.usd_per_mtok_interval(
            usd_per_hour, float(item["ci_low"]), float(item["ci_high"])
        )
    return row
