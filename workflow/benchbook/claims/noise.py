"""Table `noise`: how far repeats and boots scatter on this kind of node, and what is taken for it until measured
(method.md 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims.sides import of_interest, side
from benchbook.claims.usable import usable
from benchbook.columns.metrics import METRICS
from benchbook.statistics.variance import pool, pooled

HERE, REGISTRY, METHOD = "this booking", "registry", "the method's prior"
DF_MIN = 8


@dataclass(frozen=True)
class Noise:
    """Standard deviations of ln y: of repeats in one session, and of sessions beyond that; `df` of the latter, None
    where they are no measurement. `source`: HERE, REGISTRY or METHOD."""

    repeat_sigma: float
    session_sigma: float
    df: float | None
    source: str

    def standard_error(self, sessions: int, repeats_share: float) -> float:
        """Of the mean of so many session means, a repeat's variance entering each by `repeats_share`."""
        return math.sqrt((self.session_sigma**2 + self.repeat_sigma**2 * repeats_share) / sessions)


UNMEASURED = Noise(0.01, 0.015, None, METHOD)


@dataclass(frozen=True)
class Prior:
    """What is known of each metric's noise before a booking's own data."""

    measured: Mapping[str, Noise]

    def of(self, metric: str) -> Noise:
        """The registry's noise of the metric; where it has none, the method's: 1 % and 1.5 %."""
        return self.measured.get(metric, UNMEASURED)


def table(runs: pd.DataFrame, clients: Sequence[str], booking_id: str, node_kind: str) -> pd.DataFrame:
    """One row per metric, from table `runs`, pooled over arms and concurrencies.

    Runs without a tag only: a stall is gated, never averaged away. The concurrencies of one boot share the boot, so
    the sessions' degrees of freedom are counted once per arm, at the concurrency that has the most.
    """
    if runs.empty:
        return schema.empty("noise")
    clean = of_interest(usable(runs, clients))
    clean = clean[clean["tags"] == ""]
    rows: list[dict[str, Any]] = []
    for metric in METRICS.values():
        cells = []
        boots: dict[Any, int] = {}
        sessions: set[str] = set()
        for (arm, _), group in clean.groupby(["arm", "concurrency"]):
            found = side(group, metric.name)
            cells.append(found.logs)
            sessions |= set(found.runs["session_id"])
            boots[arm] = max(boots.get(arm, 0), found.sessions - 1)
        spread = pooled(cells)
        rows.append({
            "booking": booking_id, "node_kind": node_kind, "metric": metric.name, "unit": metric.unit,
            "sessions": len(sessions),
            "repeat_sigma_pct": None if spread.repeat_sigma is None else 100 * spread.repeat_sigma,
            "repeat_df": spread.repeat_df,
            "session_sigma_pct": None if spread.session_sigma is None else 100 * spread.session_sigma,
            "session_df": sum(boots.values()), "measured_until": runs["session_id"].max(),
        })  # fmt: skip
    return schema.check(pd.DataFrame(rows), "noise")


def prior(frames: Sequence[pd.DataFrame]) -> Prior:
    """The registry's tables `noise` as one: variances weighted by their degrees of freedom."""
    return Prior(_pooled(frames, REGISTRY))


def of_booking(frame: pd.DataFrame, metric: str) -> Noise | None:
    """A booking's own noise of the metric, from its table `noise`; None below 8 degrees of freedom between sessions."""
    found = _pooled([frame], HERE).get(metric)
    return found if found and found.df and found.df >= DF_MIN else None


def known(own: pd.DataFrame, before: Prior, metric: str) -> Noise:
    """The booking's own noise where it has one, else what was known `before`, with the booking's own repeats where they
    rest on 8 degrees of freedom and scatter further."""
    found = of_booking(own, metric) or before.of(metric)
    repeat = _spread([row for row in own.to_dict("records") if row["metric"] == metric], "repeat")
    return with_repeats(found, *repeat) if repeat else found


def with_repeats(found: Noise, repeat_sigma: float, repeat_df: float) -> Noise:
    """`found` with the spread of repeats that was measured, where that is wider and well enough known."""
    wider = repeat_df >= DF_MIN and repeat_sigma > found.repeat_sigma
    return replace(found, repeat_sigma=repeat_sigma) if wider else found


def _pooled(frames: Sequence[pd.DataFrame], source: str) -> dict[str, Noise]:
    found = {}
    rows = [row for frame in frames for row in frame.to_dict("records")]
    for metric in METRICS:
        mine = [row for row in rows if row["metric"] == metric]
        session, repeat = _spread(mine, "session"), _spread(mine, "repeat")
        if session:
            found[metric] = Noise(repeat[0] if repeat else 0.0, *session, source)
    return found


def _spread(rows: Sequence[Mapping[Any, Any]], name: str) -> tuple[float, float] | None:
    """One component of all `rows`: its standard deviation of ln y and degrees of freedom; None when none has any."""
    known = [row for row in rows if row[f"{name}_df"]]
    return pool([row[f"{name}_sigma_pct"] / 100 for row in known], [row[f"{name}_df"] for row in known])
