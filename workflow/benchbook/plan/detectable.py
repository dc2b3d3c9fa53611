"""The smallest effect that a booking's comparisons will find, before any of it is measured (method.md 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchbook.claims import noise
from benchbook.claims.estimators import PAIR, SESSIONS_MIN
from benchbook.claims.noise import DF_MIN, REGISTRY, Noise, Prior
from benchbook.config.records import Booking
from benchbook.statistics import power

POWER = 0.8


@dataclass(frozen=True)
class Detectable:
    """Of `arm` against `baseline`, `metric` at each of `concurrency`: `mde_pct`, the smallest true difference that is
    found in 4 of 5 tries, in percent; None where none is, and `why`. `sigma_from`: whose noise is taken."""

    arm: str
    baseline: str
    metric: str
    concurrency: tuple[int, ...]
    declared: bool
    sessions: int
    mde_pct: float | None
    sigma_from: str
    why: str

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "concurrency": list(self.concurrency)}


def of(booking: Booking, registered: Sequence[pd.DataFrame]) -> list[Detectable]:
    """What each hypothesis, and each comparison that the booking asks for beside them, will find. `registered`: tables
    `noise` of the registry for the node's kind."""
    prior = noise.prior(registered)
    declared = {(item.arm, item.baseline, item.metric): item.concurrency for item in booking.hypotheses}
    asked = booking.comparisons
    others = {(arm.name, asked.baseline, metric): asked.concurrency for arm in booking.arms
              for metric in asked.metrics if arm.name != asked.baseline}  # fmt: skip
    others = {key: levels for key, levels in others.items() if key not in declared}
    return [*_family(booking, prior, declared, True), *_family(booking, prior, others, False)]


def _family(
    booking: Booking, prior: Prior, asked: Mapping[tuple[str, str, str], tuple[int, ...]], declared: bool
) -> list[Detectable]:
    """One family of Holm's procedure: the more it holds, the less its first step finds."""
    size = sum(len(levels) for levels in asked.values())
    sessions = booking.schedule.sessions_per_arm
    found = []
    for (arm, baseline, metric), levels in asked.items():
        known = prior.of(metric)
        repeats = min(booking.workload.repeats[level] for level in levels)
        mde_pct, why = _mde_pct(known, sessions, repeats, booking.comparisons.alpha / max(size, 1))
        found.append(Detectable(arm, baseline, metric, levels, declared, sessions, mde_pct, known.source, why))
    return found


def _mde_pct(known: Noise, sessions: int, repeats: int, alpha: float) -> tuple[float | None, str]:
    """The estimator that claims will use decides: the fit with time from three sessions an arm, which leaves 2n - 3
    degrees of freedom; of two the registry's noise, where it has been measured well enough."""
    sigma = known.standard_error(1, 1 / repeats)
    if sessions >= SESSIONS_MIN:
        return _pct(power.mde(sessions, sigma, POWER, alpha, df=2 * sessions - 3)), ""
    measured = known.source == REGISTRY and known.df is not None and known.df >= DF_MIN
    if sessions >= PAIR and measured:
        return _pct(power.mde(sessions, sigma, POWER, alpha, df=known.df)), ""
    boots = "one boot of an arm has" if sessions == 1 else "two boots of an arm have"
    return None, (f"{boots} no spread of its own: only a difference of twice the size can be claimed; "
                  f"schedule.sessions_per_arm: {SESSIONS_MIN}")  # fmt: skip


def _pct(logs: float) -> float:
    return 100 * math.expm1(logs)
