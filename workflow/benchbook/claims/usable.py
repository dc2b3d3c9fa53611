"""Which runs enter a claim, and what their metrics are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Metric:
    """A column of table `runs`: its unit, what it is called in a sentence, which way is better, the tags that make it
    unfit, and those that can move it by a factor 2 or more (method.md 10)."""

    name: str
    unit: str
    label: str
    better: str
    voided_by: frozenset[str] = frozenset()
    moved_by: frozenset[str] = frozenset({"STALLED"})


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput_tok_s", "tok/s", "throughput", "higher"),
        Metric("window_throughput_tok_s", "tok/s", "throughput in the steady window", "higher"),
        Metric("tpot_mean_ms", "ms", "mean TPOT", "lower"),
        Metric("ttft_mean_ms", "ms", "mean TTFT", "lower", frozenset({"BIMODAL"}),
               frozenset({"CACHED", "CLIENT", "FRONTEND", "REGIME", "STALLED", "UNWARMED"})),
        Metric("itl_p50_ms", "ms", "median ITL", "lower"),
        Metric("e2el_mean_ms", "ms", "mean E2EL", "lower"),
    )
}


def counted(runs: pd.DataFrame, clients: Sequence[str]) -> pd.DataFrame:
    """Rows of table `runs` that a claim answers for: those of the first of `clients` (what two clients read of one
    server is the crosscheck's subject), without runs that a later one replaced. Runs that are not ok are among them."""
    mine = runs[~runs["replaced"].astype(bool)]
    return mine[mine["client"].isna() | (mine["client"] == clients[0])]


def usable(runs: pd.DataFrame, clients: Sequence[str]) -> pd.DataFrame:
    """Of those, the rows that enter a figure: status ok."""
    mine = counted(runs, clients)
    return mine[mine["status"] == "ok"]
