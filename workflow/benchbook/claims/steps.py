"""The decode step of every run: the points of the fixed-cost fit (method.md 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims.layout import of_arm
from benchbook.claims.usable import usable
from benchbook.derive import regime
from benchbook.engines.vllm_layout import Layout

PURE, ALL = "pure", "all"


def table(
    runs: pd.DataFrame, scheduler: pd.DataFrame, sessions: pd.DataFrame, booking: Mapping[str, Any]
) -> pd.DataFrame:
    """Table `steps`: a row for each usable run.

    x is the measured number of sequences that decode on a rank, not concurrency / ranks. y is the median ITL of steps
    in which nobody is in prefill, times a/g, which makes a time between chunks one between steps; mean TPOT holds the
    prefill of others and stands beside it. Each has the sequences of its own time: over the whole window requests in
    their prefill are missing, and the pure steps against that mean would have too steep a slope.
    """
    queues = {row["run_id"]: row for row in scheduler.to_dict("records")}
    graphs = dict(zip(sessions["session_id"], sessions["graph_tokens_max"], strict=True))
    rows = [
        _row(run, queues.get(run["run_id"], {}), graphs.get(run["session_id"]), of_arm(booking, run["arm"]))
        for run in usable(runs, booking["clients"]).to_dict("records")
    ]
    return schema.check(pd.DataFrame(rows), "steps") if rows else schema.empty("steps")


def _row(run: Mapping[Any, Any], queue: Mapping[Any, Any], graph: Any, layout: Layout) -> dict[str, Any]:
    whole, tokens = _known(run["decode_sequences"]), layout.tokens_per_sequence
    a, step_ms, taken = tokens_per_step(run, layout), None, None
    for name, source in (("itl_pure_p50_ms", PURE), ("itl_p50_ms", ALL)):
        itl_ms, g = _known(run[name]), _known(run["tokens_per_chunk"])
        if step_ms is None and itl_ms is not None and g is not None and a is not None:
            step_ms, taken = itl_ms * a / g, source
    decoding = _known(run["itl_pure_sequences"]) if taken == PURE else whole
    tpot_ms, uneven = _known(run["tpot_mean_ms"]), regime.uneven(run)
    found = regime.reasons(run, queue, graph, layout) + ([uneven] if uneven else [])
    return {
        "run_id": run["run_id"],
        "session_id": run["session_id"],
        "arm": run["arm"],
        "concurrency": run["concurrency"],
        "ranks": layout.ranks,
        "sequences_per_rank": decoding / layout.ranks if decoding is not None else None,
        "tpot_sequences_per_rank": whole / layout.ranks if whole is not None else None,
        "tokens_per_step": a,
        "step_ms": step_ms,
        "step_from": taken,
        "step_pure_share": _known(run["itl_pure_share"]),
        "tpot_step_ms": tpot_ms * a if tpot_ms is not None and a is not None else None,
        "tokens_per_step_node": decoding * tokens if decoding is not None and tokens is not None else None,
        "regime": "; ".join(found) or None,
        "tags": run["tags"],
    }


def tokens_per_step(run: Mapping[Any, Any], layout: Layout) -> float | None:
    """a of method.md 1: as the server counted it, 1 where its arguments ask for no speculation, else None."""
    counted = _known(run["tokens_per_step"])
    return 1.0 if counted is None and layout.speculative == 0 else counted


def _known(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)
