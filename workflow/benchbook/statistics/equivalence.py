"""Is a difference too small to matter? Two one-sided tests (method.md 4)."""

from __future__ import annotations

import math

from benchbook.statistics.effects import Effect


def tost(effect: Effect, margin: float) -> float:
    """p of the two one-sided tests that `effect`, a difference of ln y, lies between ln(1 - margin) and
    ln(1 + margin); `margin` is a share below one.

    It is at most alpha just where the interval at level 1 - 2 alpha lies within the margin.
    """
    if not 0 < margin < 1:
        raise ValueError(f"margin {margin}: give a share between 0 and 1")
    return max(
        effect.tail(effect.estimate - math.log1p(-margin)),
        effect.tail(math.log1p(margin) - effect.estimate),
    )
