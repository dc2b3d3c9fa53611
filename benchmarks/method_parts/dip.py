"""Hartigan's dip: the largest distance of a sample's distribution from the nearest one with a single mode."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# 99 % points of the dip of uniform samples of 100 and 200 (Hartigan & Hartigan 1985, as recomputed from a million
# samples by Maechler in the R package diptest, table qDiptab)
CRITICAL_99 = {100: 0.05902413, 200: 0.04268648}


def critical_99(n: int) -> float:
    """The dip that a uniform sample of `n`, 100 to 200, exceeds in 1 % of the cases: root n times dip, interpolated."""
    (low, at_low), (high, at_high) = ((math.sqrt(size) * dip, size) for size, dip in CRITICAL_99.items())
    return float(np.interp(n, [at_low, at_high], [low, high])) / math.sqrt(n)


def dip(sample: NDArray[np.float64]) -> float:
    """The dip of a sample whose values all differ, after the algorithm of P. M. Hartigan (1985, AS 217).

    In units of one observation: convex from below up to the modal interval, concave from above behind it. The interval
    shrinks until the two hulls inside it lie no further apart than what was found outside.
    """
    x = np.sort(sample)
    low, high, found = 0, len(x) - 1, 1.0
    while high - low > 1:
        inside = x[low : high + 1]
        place = np.arange(len(inside))
        under, over = _hull(inside.tolist(), below=True), _hull(inside.tolist(), below=False)
        convex, concave = np.interp(inside, inside[under], under), np.interp(inside, inside[over], over)
        apart = concave - convex + 1
        at = int(np.argmax(apart))
        if apart[at] <= found:
            break
        if at in under:
            first, last = at, int(over[np.searchsorted(over, at)])
        else:
            first, last = int(under[np.searchsorted(under, at, side="right") - 1]), at
        found = max(found, float((place - convex + 1)[: first + 1].max()), float((concave - place + 1)[last:].max()))
        low, high = low + first, low + last
    return found / (2 * len(x))


def _hull(x: list[float], below: bool) -> NDArray[np.int64]:
    """Places of the vertices of the hull of the points (x, place), seen from below or above."""
    side, kept = 1 if below else -1, []
    for k, value in enumerate(x):
        while len(kept) > 1:
            i, j = kept[-2:]
            if side * ((x[j] - x[i]) * (k - i) - (value - x[i]) * (j - i)) > 0:
                break
            kept.pop()
        kept.append(k)
    return np.array(kept)
