"""A mean with its standard error, and whether it lies beyond a bound (method.md 9: more than three standard errors)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from benchbook.claims.busy import ERRORS
from benchbook.derive.clip import BLOCK_S, LEAST_BLOCKS

_SAMPLE_PERIODS_S = 2.0


@dataclass(frozen=True)
class Estimate:
    """`value` with its standard error `se`, which rests on `df` degrees of freedom; both None where neither blocks nor
    repeats give one."""

    value: float
    se: float | None = None
    df: int | None = None

    @property
    def reach(self) -> float | None:
        """How far a bound must lie from the value to be contradicted: three standard errors, or the half-width of the
        95 % interval where few degrees of freedom make that the wider one. None without a standard error."""
        if self.se is None or self.df is None:
            return None
        return max(ERRORS, float(student.ppf(0.975, self.df))) * self.se

    def below(self, bound: float) -> bool:
        return self.reach is not None and self.value + self.reach < bound

    def above(self, bound: float) -> bool:
        return self.reach is not None and self.value - self.reach > bound

    def scaled(self, factor: float) -> Estimate:
        return Estimate(self.value * factor, None if self.se is None else self.se * factor, self.df)


def blocks_df(window_s: float) -> int:
    """Degrees of freedom of a standard error from the whole 10 s blocks of a window: blocks less one. The window is
    counted short by two samples, which may be missing from its last block."""
    return max(LEAST_BLOCKS, int((window_s - _SAMPLE_PERIODS_S) // BLOCK_S)) - 1


def of_runs(values: Sequence[float], ses: Sequence[float | None] = (), dfs: Sequence[int] = ()) -> Estimate | None:
    """Mean of one value a run. None without a value.

    `ses`, `dfs`: each value's own standard error (None where it has none) and its degrees of freedom. Of the error that
    these give and the one between the runs the larger counts: blocks inside a run know nothing of what differs between
    runs. Without own errors, two runs are the least that give one.
    """
    if not len(values):
        return None
    mean, count = float(np.mean(values)), len(values)
    known = [se for se in ses if se is not None]
    found = []
    if known and len(known) == count:
        found.append(Estimate(mean, float(np.sqrt(np.sum(np.square(known)))) / count, sum(dfs)))
    if count > 1:
        found.append(Estimate(mean, float(np.std(values, ddof=1)) / float(np.sqrt(count)), count - 1))
    return max(found, key=lambda one: one.reach or 0.0) if found else Estimate(mean)
