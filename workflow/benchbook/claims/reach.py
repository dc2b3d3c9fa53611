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
    the row's own, taken back from its mde, which is proportional to it. None when it is not known, or when more than
    SESSIONS_MAX would be needed.
    """
    have = min(row["sessions"], row["baseline_sessions"])
    if row["mde_pct"] is None or row["effect_pct"] is None or have < 2:
        return None
    paired, corrected = row["kind"] == MATCHED, alpha / max(row["family_size"], 1)
    sigma = math.log1p(row["mde_pct"] / 100) / _mde(have, corrected, paired)
    wanted = max(abs(math.log1p(row["effect_pct"] / 100)), math.log1p(smallest_pct / 100))
    for sessions in range(have + 1, SESSIONS_MAX + 1):
        if sigma * _mde(sessions, corrected, paired) <= wanted:
            return sessions
    return None


@cache
def _mde(sessions: int, alpha: float, paired: bool) -> float:
    """Of sigma 1; a root search of some milliseconds that many rows of a table share."""
    return power.mde(sessions, alpha=alpha, paired=paired)
