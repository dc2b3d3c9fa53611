"""Requests that stood still (method.md 8)."""

from __future__ import annotations

import pandas as pd

from benchbook.derive import ragged
from benchbook.derive.answered import answered
from benchbook.measure.bench_result import STALL_S, STALL_TIMES

LONG_MS, TIMES_MEDIAN = 1000.0 * STALL_S, float(STALL_TIMES)


def stalled(requests: pd.DataFrame) -> pd.Series:
    """For each ok request of one run, whether it stalled: TTFT above the median by a second and above three times it,
    or a gap between two of its chunks of more than a second. `requests`: rows of table `requests`."""
    good = answered(requests)
    median_ms = good["ttft_ms"].median()
    late = (good["ttft_ms"] > median_ms + LONG_MS) & (good["ttft_ms"] > TIMES_MEDIAN * median_ms)
    longest_ms = ragged.largest(*ragged.flat(good["itl_ms"]))
    return late.fillna(False).astype(bool) | (longest_ms > LONG_MS)
