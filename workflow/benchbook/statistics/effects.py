"""Difference between two arms, with its standard error (method.md 4).

On y = ln(metric) a difference d is an effect of 100 (e^d - 1) percent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from benchbook.statistics.intervals import Interval


@dataclass(frozen=True)
class Effect:
    """An estimated difference, its standard error and the degrees of freedom of that.

    `per_sigma`: standard error over the standard deviation of one value, where the design alone sets it.
    """

    estimate: float
    se: float
    df: float
    per_sigma: float | None = None

    def interval(self, level: float = 0.95) -> Interval:
        """Interval of the difference by t."""
        half = float(stats.t.isf((1 - level) / 2, self.df)) * self.se
        return Interval(self.estimate, self.estimate - half, self.estimate + half, self.df)

    @property
    def p(self) -> float:
        """Two-sided p of no difference."""
        return 2 * self.tail(abs(self.estimate))

    def exceeds(self, se: float) -> bool:
        """Whether its standard error lies above `se` by more than chance: chi squared at 5 %."""
        return self.se**2 * self.df > se**2 * float(stats.chi2.isf(0.05, self.df))

    def tail(self, distance: float) -> float:
        """One-sided p of an estimate that lies `distance` on the far side of a bound; above 0.5 on the near side."""
        if self.se == 0:
            return 0.0 if distance > 0 else 0.5 if distance == 0 else 1.0
        return float(stats.t.sf(distance / self.se, self.df))


def welch(a: ArrayLike, b: ArrayLike) -> Effect | None:
    """Mean of `a` less mean of `b`, variances not assumed equal; None when either has fewer than two values."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    if min(x.size, y.size) < 2:
        return None
    u, v = x.var(ddof=1) / x.size, y.var(ddof=1) / y.size
    lowest = min(x.size, y.size) - 1
    df = (u + v) ** 2 / (u**2 / (x.size - 1) + v**2 / (y.size - 1)) if u + v > 0 else lowest
    return Effect(float(x.mean() - y.mean()), float(np.sqrt(u + v)), float(max(df, lowest)))


def paired(differences: ArrayLike) -> Effect | None:
    """Mean of the differences of pairs; None below two pairs."""
    d = np.asarray(differences, float)
    if d.size < 2:
        return None
    per_sigma = 1 / float(np.sqrt(d.size))
    return Effect(float(d.mean()), float(d.std(ddof=1)) * per_sigma, d.size - 1, per_sigma)


def with_time(y: ArrayLike, is_arm: ArrayLike, time: ArrayLike) -> Effect | None:
    """Coefficient of `is_arm` in the least-squares fit y ~ 1 + is_arm + time, which takes a steady drift of the node
    out of the difference.

    One element per session in each of the three arrays; `time` in any unit. df = n - 3. None when n < 4, a time is not
    known, or time cannot be told from the arm (each arm measured at one moment).
    """
    values, arm, when = np.asarray(y, float), np.asarray(is_arm, float), np.asarray(time, float)
    span = float(np.ptp(when)) if when.size else 0.0
    if values.size < 4 or not np.isfinite(span) or span == 0:
        return None
    design = np.column_stack([np.ones_like(values), arm, (when - when.mean()) / span])
    if np.linalg.matrix_rank(design, tol=1e-6) < 3:
        return None
    covariance = np.linalg.inv(design.T @ design)
    fitted = covariance @ design.T @ values
    df = values.size - 3
    sigma = float(np.sqrt(((values - design @ fitted) ** 2).sum() / df))
    per_sigma = float(np.sqrt(covariance[1, 1]))
    return Effect(float(fitted[1]), sigma * per_sigma, df, per_sigma)
