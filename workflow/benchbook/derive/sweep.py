"""The sweep: one row per arm, concurrency and load client, from the runs that ended well."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.columns import tag_text

_MEAN_OF_SESSIONS = {
    "throughput_tok_s": "throughput_tok_s",
    "tpot_mean_ms": "tpot_mean_ms",
    "ttft_mean_ms": "ttft_mean_ms",
    "itl_p50_ms": "itl_p50_ms",
    "e2el_mean_ms": "e2el_mean_ms",
}
_RANGES = {"throughput": ("throughput_tok_s", "tok_s"), "tpot": ("tpot_mean_ms", "ms"), "ttft": ("ttft_mean_ms", "ms")}


def table(runs: pd.DataFrame, arms: list[str]) -> pd.DataFrame:
    """Table `sweep` from table `runs`, arms in the booking's order.

    A session's value is the mean of its runs and an arm's the mean of its sessions, because a server flag acts on the
    boot and repeats inside one boot are no replicates of it (method.md 4). Runs that are not ok enter no figure, nor
    do those that were measured once more because the server had not stayed warm over them (`replaced`). The client is
    named only where there are several: what one of them reads is no run of another.
    """
    rows = []
    several = runs["client"].nunique() > 1
    for arm in arms:
        mine = runs[(runs["arm"] == arm) & ~runs["replaced"]]
        for (concurrency, client), group in mine.groupby(["concurrency", "client"], sort=True):
            good = group[group["status"] == "ok"]
            by_session = good.groupby("session_id")
            row: dict[str, Any] = {
                "arm": arm,
                "concurrency": concurrency,
                "client": client if several else None,
                "sessions": good["session_id"].nunique(),
                "runs": len(good),
                "runs_not_ok": len(group) - len(good),
                "tags": tag_text.union(good["tags"]),
                "run_ids": " ".join(good["run_id"]),
            }
            for name, source in _MEAN_OF_SESSIONS.items():
                row[name] = by_session[source].mean().mean() if len(good) else None
            for name, (source, unit) in _RANGES.items():
                row[f"{name}_min_{unit}"] = good[source].min() if len(good) else None
                row[f"{name}_max_{unit}"] = good[source].max() if len(good) else None
            rows.append(row)
    return schema.check(pd.DataFrame(rows), "sweep") if rows else schema.empty("sweep")
