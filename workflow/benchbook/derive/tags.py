"""The faults found in a run, by the names of method.md 10.

    INCOMPLETE   requests failed or fell short          CLIENT      the load client was a bottleneck
    UNWARMED     warmup not met, or compiling in it     CACHED      prompts hit the prefix cache
    UNSTEADY     too short a steady window, or Little   TELEM       samples do not cover the run
    STALLED      requests stood still                   FRONTEND    requests were stuck before the engine
    BIMODAL      TTFTs fall into two groups             MISMATCH    client, /metrics and log count differently
    THROTTLED    the GPU was held back                  RETOKENIZED output tokens were counted by the client
    UNPINNED     the server left the cores that its arm names, or nobody saw that it stayed
    REGIME       preemptions, requests waiting, or a step beyond the largest captured graph (derive/regime.py)

The run by itself gives the first five and the last; the rest need what else was watched while it ran.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.columns import tag_text
from benchbook.derive import little, regime, window
from benchbook.engines.vllm_layout import Layout

ORDER = ("INCOMPLETE", "UNWARMED", "UNSTEADY", "STALLED", "BIMODAL", "THROTTLED", "CLIENT", "CACHED", "REGIME",
         "TELEM", "FRONTEND", "MISMATCH", "UNPINNED", "RETOKENIZED")  # fmt: skip


def of_run(run: Mapping[str, Any], thresholds: Mapping[str, float]) -> list[str]:
    """Tags that a row of table `runs` earns by itself."""
    tags = []
    if run["status"] != "ok":
        tags.append("INCOMPLETE")
    if run["warmup_verdict"] != "CONVERGED" or run["late_work"]:
        tags.append("UNWARMED")
    if run["little"] == little.REFUSED or _short(run, thresholds):
        tags.append("UNSTEADY")
    if run["stalls"]:
        tags.append("STALLED")
    if run["ttft_bimodal"]:
        tags.append("BIMODAL")
    if run["tokens_from"] == "retokenized":
        tags.append("RETOKENIZED")
    return tags


def _short(run: Mapping[str, Any], thresholds: Mapping[str, float]) -> bool:
    if run["window_s"] is None:
        return False
    return bool(run["window_s"] < window.asked_s(thresholds, run["e2el_mean_ms"]))


def with_observers(
    tables: Mapping[str, pd.DataFrame], thresholds: Mapping[str, float], layouts: Mapping[str, Layout],
    cached_by_design: Collection[str] = (),
) -> pd.DataFrame:  # fmt: skip
    """Table `runs` with the tags that what else was watched adds to its own.

    `tables`: runs, telemetry, client, scheduler, reconciliation and sessions, by name. `layouts`: how each session's
    server laid the model out. `cached_by_design`: sessions whose workload is meant to hit the prefix cache.
    """
    runs, counts = tables["runs"], tables["reconciliation"]
    seen = {name: {row["run_id"]: row for row in tables[name].to_dict("records")}
            for name in ("telemetry", "client", "scheduler")}  # fmt: skip
    graphs = dict(zip(tables["sessions"]["session_id"], tables["sessions"]["graph_tokens_max"], strict=True))
    pinned = tables["sessions"].dropna(subset=["server_cpus"])
    unpinned = set(pinned.loc[~pinned["server_cpus_held"].fillna(False).astype(bool), "session_id"])
    differing = set(counts.loc[counts["outcome"] == "differs", "run_id"])
    tagged = []
    for run in runs.to_dict("records"):
        watched, sent, queue = (seen[name].get(run["run_id"], {}) for name in ("telemetry", "client", "scheduler"))
        found = set(tag_text.listed(run["tags"]))
        if watched and pd.notna(watched["gpu_throttled"]):
            found.add("THROTTLED")
        if sent and pd.notna(sent["saturated"]):
            found.add("CLIENT")
        meant = run["session_id"] in cached_by_design
        hits = queue.get("prefix_hit_rate")
        if not meant and pd.notna(hits) and hits > thresholds["prefix_hits_max"]:
            found.add("CACHED")
        layout = layouts.get(run["session_id"], Layout())
        if run["status"] == "ok" and regime.reasons(run, queue, graphs.get(run["session_id"]), layout):
            found.add("REGIME")
        if pd.notna(run["window_throughput_tok_s"]) and _thin(watched, thresholds["telemetry_coverage_min"]):
            found.add("TELEM")
        if queue and pd.notna(queue["frontend"]) and queue["frontend"]:
            found.add("FRONTEND")
        if run["run_id"] in differing:
            found.add("MISMATCH")
        if run["session_id"] in unpinned:
            found.add("UNPINNED")
        tagged.append(",".join(tag for tag in ORDER if tag in found))
    return schema.check(runs.assign(tags=tagged), "runs")


def _thin(watched: Mapping[Any, Any], coverage_min: float) -> bool:
    """Whether the samples of the CPU, or of the GPUs where there are any, leave too much of the window out."""
    covered = [watched.get("coverage")] + ([watched["gpu_coverage"]] if pd.notna(watched.get("gpu_count")) else [])
    return any(pd.isna(share) or share < coverage_min for share in covered)
