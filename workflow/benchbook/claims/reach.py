"""How many sessions would find an effect of the size seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from benchbook.statistics import power

SESSIONS_MAX = 30


def sessions_to_find(row: Mapping[str, Any], alpha: float, smallest_pct: float) -> int | None:
    """Sessions of each arm that find the effect of a row of table `comparisons` in 4 of 5 tries.

    An effect below `smallest_pct` is of no interest: then it is the sessions that find one of that size. The noise is
    the row's own, taken back from its mde, which is proportional to it. None when it is not known, or when more than
    SESSIONS_MAX would be needed.
    """
    if row["mde_pct"] is None or row["effect_pct"] is None or row["sessions"] < 2:
        return None
    paired, corrected = row["kind"] == "matched session", alpha / max(row["family_size"], 1)
    have = min(row["sessions"], row["baseline_sessions"])
    sigma = math.log1p(row["mde_pct"] / 100) / power.mde(have, alpha=corrected, paired=paired)
    wanted = max(abs(math.log1p(row["effect_pct"] / 100)), math.log1p(smallest_pct / 100))
    for sessions in range(have + 1, SESSIONS_MAX + 1):
        if power.mde(sessions, sigma, alpha=corrected, paired=paired) <= wanted:
            return sessions
    return None
