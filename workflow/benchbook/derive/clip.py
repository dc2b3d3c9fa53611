"""Samples of a stretch of time, and how much of it they describe (method.md 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

COVERAGE_MIN = 0.95
BLOCK_S, LEAST_BLOCKS = 10.0, 3


def period_s(times_s: Sequence[float] | np.ndarray) -> float | None:
    """Usual time between two samples; None with fewer than two.

    The lower quartile, not the median: of few samples with a hole as long as all the rest, the median is the hole.
    """
    times = np.unique(np.asarray(times_s, float))
    return float(np.quantile(np.diff(times), 0.25, method="lower")) if len(times) > 1 else None


@dataclass(frozen=True)
class Samples:
    """Samples of a whole session, of which one run's after the other are asked for. With a column gpu each GPU has
    samples, and so a period, of its own."""

    frame: pd.DataFrame

    @cached_property
    def times_s(self) -> np.ndarray:
        return self.frame["t_s"].to_numpy(float)

    @cached_property
    def _period_s(self) -> float:
        whose = self.frame["gpu"].to_numpy(float) if "gpu" in self.frame else np.zeros(len(self.frame))
        return max((period_s(self.times_s[whose == one]) or 0.0 for one in np.unique(whose)), default=0.0)

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, float | None]:
        times = np.unique(self.times_s)
        return times, period_s(times)

    def within(self, start_s: float, end_s: float) -> pd.DataFrame:
        """Those whose whole period lies in [start, end]: each stands for the time since the one before it, so those of
        the first period after `start` speak of what was before the window (method.md 9: minus one sample period)."""
        return self.between(start_s + self._period_s, end_s)

    def between(self, start_s: float, end_s: float) -> pd.DataFrame:
        """Those taken in [start, end], whatever they stand for."""
        return self.frame[(self.times_s >= start_s) & (self.times_s <= end_s)]

    def coverage(self, start_s: float, end_s: float) -> float | None:
        """`coverage` by all of them, whichever GPU's."""
        return _coverage(*self._distinct, start_s, end_s)


def coverage(times_s: Sequence[float] | np.ndarray, start_s: float, end_s: float) -> float | None:
    """Share of [start, end] that samples describe: each stands for the period before it, none for more than twice
    the usual period, so a hole in the sampling shows. None without samples or width."""
    times = np.unique(np.asarray(times_s, float))
    return _coverage(times, period_s(times), start_s, end_s)


def _coverage(times: np.ndarray, period: float | None, start_s: float, end_s: float) -> float | None:
    if period is None or end_s <= start_s:
        return None
    if not ((times >= start_s) & (times <= end_s)).any():
        return 0.0
    ends = times[1:]
    starts = ends - np.minimum(np.diff(times), 2 * period)
    covered = float(np.clip(np.minimum(ends, end_s) - np.maximum(starts, start_s), 0, None).sum() / (end_s - start_s))
    return min(1.0, covered)


def refusal(covered: float | None, least: float) -> str | None:
    """Why values of a stretch that samples cover this far are withheld; None when they are not."""
    if covered is None:
        return "no sample covers the window"
    return f"coverage {covered:.2f} < {least:g}" if covered < least else None


def mean(series: pd.Series) -> float | None:
    """Mean of the values there are; None when there is none."""
    values = series.to_numpy(float, na_value=np.nan)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def largest(series: pd.Series) -> float | None:
    """Largest of the values there are; None when there is none."""
    values = series.to_numpy(float, na_value=np.nan)
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else None


def standard_error(samples: pd.DataFrame, column: str, start_s: float) -> float | None:
    """Standard error of the mean of `column` from means of 10 s blocks over all GPUs jointly (method.md 9).

    Neighbouring samples are not independent, nor are GPUs in lockstep: a block is one observation. None with fewer
    than three whole blocks.
    """
    values, when = samples[column].to_numpy(float), samples["t_s"].to_numpy(float)
    known = ~np.isnan(values)
    if not known.any():
        return None
    block = (when[known] - start_s) // BLOCK_S
    whole = block < block.max()
    _, place, counts = np.unique(block[whole], return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=values[known][whole]) / counts
    return float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) >= LEAST_BLOCKS else None


def naive_span(start_s: float, end_s: float, phases: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """What a script that samples from a client's launch to its end would average over: the run [start, end] with the
    idle time at its sides, up to the phase before it and to the one after (boot, readings and other runs, Unix s).

    Unbounded on a side that has no other phase, as in a recording that holds one run.
    """
    before = max((end for _, end in phases if end <= start_s), default=-np.inf)
    after = min((start for start, _ in phases if start >= end_s), default=np.inf)
    return float(before), float(after)
