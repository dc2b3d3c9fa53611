"""Bootstrap intervals that method.md 4 weighs and the product does not use, of many series at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import stats

DRAWS = 2000
_AT_ONCE = 250
Floats = NDArray[np.float64]
LEVELS = (0.025, 0.975)


def percentile(y: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """95 % interval for each row's mean: quantiles of the means of resamples. `y`: (series, n)."""
    ends = [np.quantile(means, LEVELS, axis=1) for _, means in _resampled(y, rng)]
    low, high = np.concatenate(ends, axis=1)
    return low, high


def bca(y: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The same, bias-corrected and accelerated (Efron 1987); acceleration by jackknife."""
    ends = []
    for part, means in _resampled(y, rng):
        n, mean = part.shape[1], part.mean(axis=1, keepdims=True)
        below = ((means < mean).mean(axis=1) + (means <= mean).mean(axis=1)) / 2
        bias = stats.norm.ppf(below)[:, None]
        left_out = (part.sum(axis=1, keepdims=True) - part) / (n - 1)
        gap = left_out.mean(axis=1, keepdims=True) - left_out
        speed = (gap**3).sum(axis=1, keepdims=True) / (6 * (gap**2).sum(axis=1, keepdims=True) ** 1.5)
        shifted = bias + stats.norm.ppf(LEVELS)
        places = stats.norm.cdf(bias + shifted / (1 - speed * shifted)) * (means.shape[1] - 1)
        means.sort(axis=1)
        under = np.floor(places).astype(int)
        over = np.minimum(under + 1, means.shape[1] - 1)
        at_under, at_over = (np.take_along_axis(means, place, axis=1) for place in (under, over))
        ends.append((at_under + (places - under) * (at_over - at_under)).T)
    low, high = np.concatenate(ends, axis=1)
    return low, high


def hierarchical(y: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """95 % interval for each series' mean: boots resampled, and repeats within them. `y`: (series, boots, repeats).

    What statistics.intervals.hierarchical_bootstrap does from ten boots up, for the few boots at which it refuses.
    """
    ends = []
    _, boots, repeats = y.shape
    for part in _parts(y):
        picked = rng.integers(0, boots, (len(part), DRAWS, boots, 1))
        within = rng.integers(0, repeats, (len(part), DRAWS, boots, repeats))
        series = np.arange(len(part))[:, None, None, None]
        ends.append(np.quantile(part[series, picked, within].mean(axis=(2, 3)), LEVELS, axis=1))
    low, high = np.concatenate(ends, axis=1)
    return low, high


def _resampled(y: Floats, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """By parts of the series: their values, and the means of DRAWS resamples of each."""
    for part in _parts(y):
        picked = rng.integers(0, part.shape[1], (len(part), DRAWS, part.shape[1]))
        yield part, part[np.arange(len(part))[:, None, None], picked].mean(axis=2)


def _parts(y: Floats) -> Iterator[Floats]:
    for start in range(0, len(y), _AT_ONCE):
        yield y[start : start + _AT_ONCE]
