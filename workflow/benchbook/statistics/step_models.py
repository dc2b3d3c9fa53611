"""The decode step against the sequences on a rank: flat, line and hinge by weighted least squares (method.md 6).

    t(n) = t_fixed + slope * max(0, n - hinge)

flat has slope 0, line has hinge 0. Weights are 1/t^2, so that residuals are relative; standard errors come from the
Jacobian in all parameters, the hinge's place included (with it held fixed intervals cover 88 % instead of 94 %).

Where part of each step is known beforehand (its byte floor), what is left of it is fitted, still weighted by 1/t^2 of
the whole step: `whole` is that step, and `base` the known part of it at one n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

FLAT, LINE, HINGE = "flat", "line", "hinge"
ALPHA = 0.05
_GRID = 200
_EXACT = 1e-9

Floats = NDArray[np.float64]
Bounds = tuple[float, float]


def step(t_fixed: float, slope: float, n: float, hinge: float = 0.0) -> float:
    """Step with `n` sequences on a rank, in the unit of t_fixed."""
    return t_fixed + slope * max(0.0, n - hinge)


def fixed_share(t_fixed: float, whole_step: float) -> float:
    """Share of a step that is fixed cost."""
    return t_fixed / whole_step


def asymptote(ranks: int, slope_ms: float, tokens_per_step: float = 1.0) -> float:
    """Tokens per second of all ranks that more sequences approach, each a further `slope_ms` of the step."""
    return ranks * tokens_per_step * 1000 / slope_ms


def asymptote_between(slope_ms: Bounds | None, ranks: int, tokens_per_step: float = 1.0) -> Bounds | None:
    """Its interval, by inversion of the slope's; None where that includes 0."""
    if slope_ms is None or slope_ms[0] <= 0:
        return None
    return asymptote(ranks, slope_ms[1], tokens_per_step), asymptote(ranks, slope_ms[0], tokens_per_step)


def crossing(level: float, intercept: float, slope: float) -> float:
    """Where a flat region at `level` meets the line of the bend behind it: the hinge's place."""
    return (level - intercept) / slope


def through(n1: float, t1: float, n2: float, t2: float) -> tuple[float, float]:
    """t_fixed and slope of the line through two points. It has no degree of freedom left, so no interval: a figure to
    quote is what `line` fits."""
    slope = (t2 - t1) / (n2 - n1)
    return t1 - slope * n1, slope


@dataclass(frozen=True)
class Fit:
    """One fitted model. `t_fixed` in the unit of t, `slope` in that unit per sequence, `hinge` in sequences.

    `df`: points less parameters. `sigma`: standard deviation of the relative residuals. `covariance`: of the model's
    own parameters in the order t_fixed, slope, hinge (1, 2 or 3 of them). `residuals`: relative, one per point.
    """

    model: str
    t_fixed: float
    slope: float
    hinge: float
    df: int
    sigma: float
    covariance: Floats
    residuals: Floats

    @property
    def sum_of_squares(self) -> float:
        return float((self.residuals**2).sum())

    def at(self, n: float) -> float:
        """Step with `n` sequences on a rank."""
        return step(self.t_fixed, self.slope, n, self.hinge)

    @property
    def t_fixed_interval(self) -> Bounds:
        return self._around(self.t_fixed, self.covariance[0, 0])

    @property
    def slope_interval(self) -> Bounds | None:
        """None for flat, which has no slope to be uncertain of."""
        return None if self.model == FLAT else self._around(self.slope, self.covariance[1, 1])

    @property
    def grows(self) -> bool:
        """The slope is above 0 by its interval."""
        bounds = self.slope_interval
        return bounds is not None and bounds[0] > 0

    @property
    def half_point(self) -> float | None:
        """n1/2: sequences at which half of the step is fixed cost, hinge + t_fixed / slope; None without growth."""
        return self.hinge + self.t_fixed / self.slope if self.slope > 0 else None

    @property
    def half_point_interval(self) -> Bounds | None:
        """By Fieller's theorem for the ratio (t_fixed + slope hinge) / slope; None where it is not bounded, which is
        where the slope's interval includes 0."""
        if not self.grows:
            return None
        top, below = self._pad(1.0, self.hinge, self.slope), self._pad(0.0, 1.0, 0.0)
        q2 = self._quantile**2
        numerator, slope = self.t_fixed + self.slope * self.hinge, self.slope
        a = slope**2 - q2 * float(below @ self.covariance @ below)
        b = numerator * slope - q2 * float(top @ self.covariance @ below)
        c = numerator**2 - q2 * float(top @ self.covariance @ top)
        root = b**2 - a * c
        if root < 0:
            return None
        return (b - root**0.5) / a, (b + root**0.5) / a

    def asymptote(self, ranks: int, tokens_per_step: float = 1.0) -> float | None:
        """Tokens per second of all ranks that more sequences approach, for t in ms; None without growth."""
        return asymptote(ranks, self.slope, tokens_per_step) if self.slope > 0 else None

    def fixed_share(self, n: float, base: float = 0.0) -> float:
        """Share of the step that is fixed cost."""
        return fixed_share(self.t_fixed, self.at(n) + base)

    def fixed_share_interval(self, n: float, base: float = 0.0) -> Bounds:
        """By the delta method on ln(share), upper end at most 1."""
        t = self.at(n) + base
        gradient = self._pad(1.0, 0.0, 0.0) / self.t_fixed - self._gradient(n) / t
        half = self._quantile * float(gradient @ self.covariance @ gradient) ** 0.5
        share = self.fixed_share(n, base)
        return share * float(np.exp(-half)), min(1.0, share * float(np.exp(half)))

    def predict(self, n: float, runs: int = 1, base: float = 0.0) -> tuple[float, float, float]:
        """The mean step of `runs` further runs with `n` sequences: value, and the ends of its 95 % interval."""
        t, gradient = self.at(n) + base, self._gradient(n)
        variance = float(gradient @ self.covariance @ gradient) + (self.sigma * t) ** 2 / runs
        half = self._quantile * variance**0.5
        return t, t - half, t + half

    @property
    def _quantile(self) -> float:
        return float(stats.t.ppf(1 - ALPHA / 2, self.df))

    def _around(self, value: float, variance: float) -> Bounds:
        half = self._quantile * float(variance) ** 0.5
        return value - half, value + half

    def _gradient(self, n: float) -> Floats:
        return self._pad(1.0, max(0.0, n - self.hinge), -self.slope if n > self.hinge else 0.0)

    def _pad(self, *gradient: float) -> Floats:
        return np.array(gradient[: len(self.covariance)])


@dataclass(frozen=True)
class Choice:
    """The models that could be fitted, by name, the one that the data carry, and the F test of hinge against line."""

    fits: dict[str, Fit]
    chosen: str
    p_hinge: float | None

    @property
    def fit(self) -> Fit:
        return self.fits[self.chosen]


def flat(n: ArrayLike, t: ArrayLike, whole: ArrayLike | None = None) -> Fit | None:
    """One step for all; None below two points."""
    times, scale = _arrays(t, whole)
    return _fit(FLAT, np.ones((len(times), 1)), times, scale, 0.0)


def line(n: ArrayLike, t: ArrayLike, whole: ArrayLike | None = None) -> Fit | None:
    """None below three points or where all have one n."""
    counts, (times, scale) = np.asarray(n, float), _arrays(t, whole)
    if len(counts) < 3 or np.ptp(counts) == 0:
        return None
    return _fit(LINE, np.column_stack([np.ones_like(counts), counts]), times, scale, 0.0)


def hinge(
    n: ArrayLike, t: ArrayLike, level: Sequence[float] | None = None, whole: ArrayLike | None = None
) -> Fit | None:
    """The hinge's place by a logarithmic grid from the lowest level to the last but one, refined twice around the best.

    `level`: which of the repeated levels a point belongs to (the concurrency), as n differs a little among repeats;
    n itself when None. None below four levels, below five points, or where no growing hinge fits.
    """
    counts, (times, scale) = np.asarray(n, float), _arrays(t, whole)
    levels = counts if level is None else np.asarray(level, float)
    names = np.unique(levels)
    if len(names) < 4 or len(counts) < 5:
        return None
    lowest, last = float(counts.min()), float(counts[levels == names[-2]].min())
    if lowest <= 0 or last <= lowest:
        return None
    grid = np.geomspace(lowest, last, _GRID, endpoint=False)
    for _ in range(3):
        best = int(np.argmin(_squares(counts, times, scale, grid)))
        place = float(grid[best])
        grid = np.geomspace(grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)], _GRID)
    above = np.maximum(0.0, counts - place)
    straight = np.column_stack([np.ones_like(counts), above])
    slope = float(_solve(straight, times, scale)[1])
    if slope <= 0:
        return None
    jacobian = np.column_stack([straight, np.where(counts > place, -slope, 0.0)])
    return _fit(HINGE, straight, times, scale, place, jacobian)


def choose(
    n: ArrayLike, t: ArrayLike, level: Sequence[float] | None = None, whole: ArrayLike | None = None
) -> Choice | None:
    """The hinge where the F test prefers it to the line at 5 % and its slope is above 0 by its interval; else the line,
    and flat where the line's slope is 0 by its interval. Where the truth is a line, a hinge's fixed cost covers it in
    none to 11 % of cases: so in doubt the line. None when nothing can be fitted."""
    fits = (flat(n, t, whole), line(n, t, whole), hinge(n, t, level, whole))
    found = {fit.model: fit for fit in fits if fit is not None}
    if not found:
        return None
    p = p_better(found[LINE], found[HINGE]) if LINE in found and HINGE in found else None
    if p is not None and p < ALPHA and found[HINGE].grows:
        return Choice(found, HINGE, p)
    bounds = found[LINE].slope_interval if LINE in found else None
    chosen = FLAT if bounds is None or bounds[0] <= 0 <= bounds[1] else LINE
    return Choice(found, chosen, p)


def by_group(
    fit: Fit, n: ArrayLike, t: ArrayLike, group: Sequence[str], whole: ArrayLike | None = None
) -> Floats:
    """t_fixed and slope of the same model, its hinge held, fitted to each group of points alone: one row a group that
    has two values of n on which they rest; of flat the slope is 0."""
    counts, (times, scale), names = np.asarray(n, float), _arrays(t, whole), np.asarray(group)
    above = np.maximum(0.0, counts - fit.hinge)
    found = []
    for name in np.unique(names):
        here = names == name
        if fit.model == FLAT:
            found.append([float(_solve(np.ones((int(here.sum()), 1)), times[here], scale[here])[0]), 0.0])
        elif np.ptp(above[here]) > 0:
            design = np.column_stack([np.ones_like(above[here]), above[here]])
            found.append(_solve(design, times[here], scale[here]).tolist())
    return np.array(found, float).reshape(-1, 2)


def p_better(smaller: Fit, larger: Fit) -> float | None:
    """F test of a model against the one that it contains; None where the larger has no degree of freedom, or the
    smaller leaves nothing to explain but rounding."""
    if larger.df < 1 or larger.sum_of_squares == 0 or smaller.sigma < _EXACT:
        return None
    gained = smaller.sum_of_squares - larger.sum_of_squares
    ratio = gained / (smaller.df - larger.df) / (larger.sum_of_squares / larger.df)
    return float(stats.f.sf(max(ratio, 0.0), smaller.df - larger.df, larger.df))


def lack_of_fit(fit: Fit, level: Sequence[float]) -> float | None:
    """p of the F test of what a fit leaves between levels against the spread of repeats within them.

    The repeats' spread is taken of the residuals, so that a level whose n differs a little is no spread. None where no
    level has two points, repeats differ by rounding only, or there are no more levels than parameters.
    """
    levels = np.asarray(level, float)
    names, members = np.unique(levels, return_inverse=True)
    df_within, df_between = len(levels) - len(names), len(names) - len(fit.covariance)
    if df_within < 1 or df_between < 1:
        return None
    means = np.bincount(members, fit.residuals) / np.bincount(members)
    within = float(((fit.residuals - means[members]) ** 2).sum())
    if within < len(levels) * _EXACT**2:
        return None
    between = max(0.0, fit.sum_of_squares - within)
    return float(stats.f.sf(between / df_between / (within / df_within), df_between, df_within))


def _arrays(t: ArrayLike, whole: ArrayLike | None) -> tuple[Floats, Floats]:
    """What is fitted, and the whole step that weighs it."""
    times = np.asarray(t, float)
    return times, times if whole is None else np.asarray(whole, float)


def _fit(
    model: str, design: Floats, times: Floats, scale: Floats, place: float, jacobian: Floats | None = None
) -> Fit | None:
    """Least squares with weights 1 / scale^2; None without a degree of freedom or where the parameters cannot be told
    apart."""
    slopes = design if jacobian is None else jacobian
    df = len(times) - slopes.shape[1]
    if df < 1:
        return None
    found = _solve(design, times, scale)
    residuals = (times - design @ found) / scale
    variance = float((residuals**2).sum()) / df
    weighted = slopes / scale[:, None]
    information: Floats = weighted.T @ weighted
    sizes: Floats = np.sqrt(np.diag(information))
    if (sizes == 0).any() or np.linalg.cond(information / np.outer(sizes, sizes)) > 1e12:
        return None
    covariance: Floats = variance * np.linalg.inv(information / np.outer(sizes, sizes)) / np.outer(sizes, sizes)
    slope = float(found[1]) if len(found) > 1 else 0.0
    return Fit(model, float(found[0]), slope, place, df, variance**0.5, covariance, residuals)


def _solve(design: Floats, times: Floats, scale: Floats) -> Floats:
    solution = np.linalg.lstsq(design / scale[:, None], times / scale, rcond=None)[0]
    return np.asarray(solution, np.float64)


def _squares(counts: Floats, times: Floats, scale: Floats, places: Floats) -> Floats:
    """Weighted sums of squares of the hinge at each of `places`, t_fixed and slope solved for in closed form."""
    weights = 1 / scale**2
    above = np.maximum(0.0, counts[None, :] - places[:, None])
    total, first, second = weights.sum(), above @ weights, (above**2) @ weights
    right, product = float(weights @ times), above @ (weights * times)
    determinant = total * second - first**2
    slope = (total * product - first * right) / determinant
    fixed = (right - slope * first) / total
    left = times[None, :] - fixed[:, None] - slope[:, None] * above
    squares: Floats = (left**2) @ weights
    return squares
