"""How the difference of two sides and its interval are found: which estimator for which design (method.md 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchbook.claims.noise import DF_MIN, REGISTRY, Noise
from benchbook.claims.sides import Side
from benchbook.statistics import effects
from benchbook.statistics.effects import Effect

ARMS, MATCHED, BOOKINGS = "cross-session", "matched session", "cross-booking"
SESSIONS_MIN, PAIR = 3, 2
_UNEVEN = 0.1
_SCATTER = 0.2
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """`effect` on ln y, None without an interval; `method` says how it was found, or why it was not and what helps."""

    effect: Effect | None
    method: str


def between_arms(arm: Side, base: Side, registry: Noise) -> Estimate:
    """Sessions of two arms, each boot its own; `registry`: the metric's noise as known before.

    From three sessions a side the fit of session means on arm and time. Two a side in balanced order leave it one
    degree of freedom; there the larger of the registry's standard error and Welch's of these sessions decides, where
    the registry rests on eight and they do not scatter beyond it. One session has no spread.
    """
    n, m = arm.sessions, base.sessions
    counts = f"{n} against {m} {'session' if m == 1 else 'sessions'}"
    if min(n, m) >= SESSIONS_MIN:
        times = np.concatenate([arm.times_s, base.times_s])
        if not np.isfinite(times).all():
            return Estimate(None, f"no interval: {counts}, of which one has no known time; look up its start in the "
                                  "run index, and measure again what has none")  # fmt: skip
        found = effects.with_time(np.concatenate([arm.means, base.means]), np.repeat([1, 0], [n, m]), times)
        if found is None:
            return Estimate(None, f"no interval: {counts}, all of an arm at one time; boot the arms in turns (ABBA)")
        even = "" if balanced(arm, base) else "; one arm lies earlier, so that time carries part of the difference"
        return _found(found, counts, f"least squares of session means of ln y on arm and time, {counts}{even}")
    measured = registry.source == REGISTRY and registry.df is not None and registry.df >= DF_MIN
    if min(n, m) >= PAIR and balanced(arm, base) and measured and registry.df is not None:
        if _scatter_beyond(registry, arm, base):
            return Estimate(None, f"no interval: {counts}, which scatter beyond the registry's spread of this node "
                                  f"kind; boot each arm at least {SESSIONS_MIN} times, in turns (ABBA)")  # fmt: skip
        se = float(np.hypot(registry.standard_error(n, arm.repeats_share),
                            registry.standard_error(m, base.repeats_share)))  # fmt: skip
        own = effects.welch(arm.means, base.means)
        said = f"difference of session means, {counts} in balanced order"
        if own is not None and (own.se > se or own.se <= _ROUNDING):
            return _found(own, counts, f"{said}, by Welch's t: they scatter more than the registry says")
        known = Effect(float(arm.means.mean() - base.means.mean()), se, registry.df)
        return Estimate(known, f"{said}, with the registry's spread of this node kind ({registry.df:.0f} df)")
    return Estimate(None, f"no interval: {counts}; boot each arm at least {SESSIONS_MIN} times, in turns (ABBA)")


def within_sessions(arm: Side, base: Side) -> Estimate:
    """Both sides in the same sessions, in the same order: t on the sessions' differences."""
    differences = arm.means - base.means
    found = effects.paired(differences)
    if found is None:
        return Estimate(None, "no interval: both sides in one session; boot the arm again")
    counts = f"{differences.size} sessions"
    return _found(found, counts, f"t on the differences within {counts}")


def between_bookings(arm: Side, base: Side) -> Estimate:
    """Sides that were measured in different bookings: a booking is the replicate, by Welch's t on their means."""
    a, b = _by_booking(arm), _by_booking(base)
    counts = f"{a.size} against {b.size} bookings"
    found = effects.welch(a, b) if min(a.size, b.size) >= SESSIONS_MIN else None
    if found is None:
        return Estimate(None, f"no interval: {counts} that are not the same; measure both arms in one booking")
    return _found(found, counts, f"Welch's t on means of bookings, {counts}")


def _found(effect: Effect, counts: str, method: str) -> Estimate:
    """No interval where the sessions differ by rounding only: that is a copy, and no noise of 0."""
    if effect.se > _ROUNDING:
        return Estimate(effect, method)
    return Estimate(None, f"no interval: {counts}, values that do not differ at all were not measured apart; check the "
                          "runs")  # fmt: skip


def _scatter_beyond(known: Noise, *sides: Side) -> bool:
    """Whether session means scatter about their side's mean by more than the noise and chance: chi squared at 20 %,
    because two degrees of freedom see little, and what they miss is claimed as an effect."""
    each = [known.standard_error(1, side.repeats_share) for side in sides]
    if 0 in each:
        return True
    squares = sum(float(((side.means - side.means.mean()) ** 2).sum()) / sigma**2
                  for side, sigma in zip(sides, each, strict=True))  # fmt: skip
    return bool(squares > stats.chi2.isf(_SCATTER, sum(side.sessions - 1 for side in sides)))


def balanced(arm: Side, base: Side) -> bool:
    """Whether the sides' sessions lie evenly in time, so that a steady drift of the node takes no side: the means of
    their times are no further apart than a tenth of the time from the first session to the last.

    ABBA is 0, ABBABA .07, ABABAB .2, AABB .67. Times and not places in the order: in ABBABA with a night after the
    third boot the places are as even as ever, but one arm has two boots before it and the other one.
    """
    times = np.concatenate([arm.times_s, base.times_s])
    if not (arm.sessions and base.sessions and np.isfinite(times).all() and np.ptp(times) > 0):
        return False
    return bool(abs(arm.times_s.mean() - base.times_s.mean()) <= _UNEVEN * np.ptp(times))


def kind(arm: Side, base: Side) -> str:
    """cross-booking where the sides are not of the same bookings."""
    return BOOKINGS if arm.sessions and base.sessions and set(arm.bookings) != set(base.bookings) else ARMS


def _by_booking(found: Side) -> np.ndarray:
    of = np.array(found.bookings)
    return np.array([found.means[of == booking].mean() for booking in sorted(set(found.bookings))])
