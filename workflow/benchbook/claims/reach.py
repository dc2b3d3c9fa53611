"""How many sessions would find an effect of the size seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from benchbook.claims.estimators import MATCHED
from benchbook.statistics import power

SESSIONS_MAX = 30


def sessions_to_find(row: Mapping[str, Any], alpha: float, smallest_pct: float) -> int | None:
    """Sessions of each arm that find the effect of a row of table `comparisons` in 4 of 5 tries.

    An effect below `smallest_pct` is of no interest: then it is the sessions that find one of that size. The noise is
    that of the row's own MDE: its standard error narrows with the sessions, each of which adds a degree of freedom.
    None when the row has no interval, or when more than SESSIONS_MAX would be needed.
    """
    if row["se_pct"] is None or row["effect_pct"] is None or row["df"] is None:
        return None
    sides = [row["sessions"]] if row["kind"] == MATCHED else [row["sessions"], row["baseline_sessions"]]
    wanted = max(abs(math.log1p(row["effect_pct"] / 100)), math.log1p(smallest_pct / 100))
    corrected, have = alpha / max(row["family_size"], 1), sum(1 / n for n in sides)
    for sessions in range(min(sides) + 1, SESSIONS_MAX + 1):
        then = [max(sessions, n) for n in sides]
        se = row["se_pct"] / 100 * math.sqrt(sum(1 / n for n in then) / have)
        if se * _mde(corrected, row["df"] + sum(then) - sum(sides)) <= wanted:
            return sessions
    return None


@cache
def _mde(alpha: float, df: float) -> float:
    """Over the standard error; a root search of some milliseconds that many rows of a table share."""
    return power.mde(1, alpha=alpha, paired=True, df=df)
