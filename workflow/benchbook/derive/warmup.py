"""Warmup readings as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.measure import warmup as rules
from benchbook.rawdata import RawSession


def table(sessions: Sequence[RawSession]) -> pd.DataFrame:
    """Table `warmup` of one store's usable sessions; the verdict is computed again from the readings.

    It is the session's own rule that is applied, so a verdict here that differs from the one recorded while measuring
    would be a fault of one of the two; the recorded one is kept in the raw folder.
    """
    rows: list[dict[str, Any]] = []
    for session in sessions:
        if not session.usable:
            continue
        rule = session.spec["warmup"]
        by_concurrency: dict[int, list[dict[str, Any]]] = {}
        for record in session.readings:
            by_concurrency.setdefault(record["concurrency"], []).append(record)
        for concurrency, readings in by_concurrency.items():
            tpots = [record["tpot_mean_ms"] if record["status"] == "ok" else None for record in readings]
            verdict = rules.two_agree(tpots, rule["tolerance"], rule["min_readings"])
            for number, (record, tpot) in enumerate(zip(readings, tpots, strict=True), start=1):
                before = tpots[number - 2] if number > 1 else None
                rows.append({
                    "reading_id": f"{session.session_id}/{record['run']}",
                    "session_id": session.session_id,
                    "slot": session.spec["slot"],
                    "arm": session.spec["arm"],
                    "concurrency": concurrency,
                    "reading": number,
                    "duration_s": record["t_end_s"] - record["t_start_s"] if record["status"] == "ok" else None,
                    "throughput_tok_s": record["throughput_tok_s"],
                    "tpot_mean_ms": tpot,
                    "change": tpot / before - 1 if tpot is not None and before else None,
                    "verdict": verdict.verdict,
                    "verdict_reason": verdict.reason,
                })  # fmt: skip
    return schema.check(pd.DataFrame(rows), "warmup") if rows else schema.empty("warmup")
