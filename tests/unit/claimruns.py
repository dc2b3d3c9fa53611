"""Synthetic tables of runs with a known truth: arms that boot in an order, with effects, drift and noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
from benchbook import schema

START = datetime(2026, 9, 11, tzinfo=UTC)
LEVELS = {"throughput_tok_s": 1000.0, "window_throughput_tok_s": 1010.0, "tpot_mean_ms": 20.0, "ttft_mean_ms": 300.0,
          "itl_p50_ms": 19.5, "e2el_mean_ms": 5000.0}  # fmt: skip


def runs(
    order: str, *, effects: Mapping[str, float] | None = None, concurrency: Sequence[int] = (8,), repeats: int = 3,
    boot_sigma: float = 0.0, repeat_sigma: float = 0.0, drift: float = 0.0, seed: int = 0, first_day: int = 0,
    growth: float = 0.0,
) -> pd.DataFrame:
    """One session an hour, arms a, b, ... as the letters of `order` say.

    ln of every metric = its level + the arm's effect + drift x place + one draw per session (`boot_sigma`, the same at
    every concurrency) + one per run; throughput rises by growth x ln(concurrency).
    """
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for place, letter in enumerate(order.lower()):
        start = START + timedelta(days=first_day, hours=place)
        session = start.strftime("%Y%m%d-%H%M%S")
        boot = dict(zip(LEVELS, random.normal(0, boot_sigma, len(LEVELS)), strict=True))
        for c in concurrency:
            for repeat in range(1, repeats + 1):
                y = (effects or {}).get(letter, 0.0) + drift * place
                rows.append({
                    "run_id": f"{session}/{letter}_c{c}_r{repeat}", "session_id": session, "slot": f"s{place + 1}",
                    "arm": letter, "concurrency": c, "repeat": repeat, "client": "native", "status": "ok", "tags": "",
                    "replaced": False, "t_start_s": start.timestamp() + 600 + 60 * repeat,
                    **{name: level * np.exp(y + boot[name] + random.normal(0, repeat_sigma)
                                            + (growth * np.log(c) if name.startswith("throughput") else 0))
                       for name, level in LEVELS.items()},
                })  # fmt: skip
    columns = schema.TABLES["runs"]
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=column.dtype)
                         for name, column in columns.items()})  # fmt: skip


def booking(arms: str = "ab", concurrency: Sequence[int] = (8,), **comparisons: Any) -> dict[str, Any]:
    """What claims take as `booking`, as far as comparisons need it; the first arm is the baseline."""
    return {
        "id": "made", "recorded": False, "node": {"name": "n", "kind": "k"}, "clients": ["native"],
        "arms": [{"name": letter, "server_args": {}} for letter in arms], "hypotheses": [],
        "comparisons": {"baseline": arms[0], "metrics": ["throughput_tok_s", "tpot_mean_ms"],
                        "concurrency": list(concurrency), "alpha": 0.05, "equivalence": 0.02, "smallest_effect": 0.01,
                        "sessions_min": 3, **comparisons},
    }  # fmt: skip


def hypothesis(name: str, arm: str = "b", baseline: str = "a", metric: str = "throughput_tok_s",
               concurrency: Sequence[int] = (8,)) -> dict[str, Any]:
    return {"name": name, "arm": arm, "baseline": baseline, "metric": metric, "concurrency": list(concurrency),
            "direction": "higher", "smallest_effect": 0.02, "because": None}  # fmt: skip


def noise(booking_id: str = "old", *, session_pct: float | None = 1.5, session_df: int = 12, repeat_pct: float = 1.0,
          repeat_df: int = 48, until: str = "20260101-000000") -> pd.DataFrame:
    """A table `noise` with the same figures for every metric."""
    rows = [{"booking": booking_id, "node_kind": "k", "metric": name, "unit": "", "sessions": 9,
             "repeat_sigma_pct": repeat_pct, "repeat_df": repeat_df, "session_sigma_pct": session_pct,
             "session_df": session_df, "measured_until": until} for name in LEVELS]  # fmt: skip
    return schema.check(pd.DataFrame(rows), "noise")
