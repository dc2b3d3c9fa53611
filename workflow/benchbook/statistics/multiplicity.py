"""Several comparisons at once: Holm's procedure (method.md 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def holm(p: ArrayLike) -> np.ndarray:
    """Holm's adjusted p, in the order given. A comparison without p (nan) counts in the family, is not rejected, and
    stays nan."""
    raw = np.asarray(p, float)
    order = _order(raw)
    stepped = np.maximum.accumulate(np.minimum(1.0, raw[order] * np.arange(raw.size, 0, -1)))
    adjusted = np.empty_like(raw)
    adjusted[order] = stepped
    adjusted[np.isnan(raw)] = np.nan
    return adjusted


def holm_levels(p: ArrayLike, alpha: float = 0.05) -> np.ndarray:
    """Level at which each comparison's interval is drawn so that it excludes 0 just where Holm's procedure rejects.

    The k-th smallest p of m is held against alpha / (m - k + 1), up to the first that fails; that one and all after it
    share its level.
    """
    raw = np.asarray(p, float)
    order = _order(raw)
    steps = alpha / np.arange(raw.size, 0, -1)
    failed = np.flatnonzero(~(raw[order] <= steps))
    if failed.size:
        steps[failed[0]:] = steps[failed[0]]
    levels = np.empty_like(raw)
    levels[order] = 1 - steps
    return levels


def _order(p: np.ndarray) -> np.ndarray:
    """From the smallest p to the largest, those without p last."""
    return np.argsort(p, kind="stable")
