"""Requests that stood still (method.md 8)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchbook.derive import ragged
from benchbook.derive.answered import answered
from benchbook.measure.bench_result import STALL_S, STALL_TIMES

LONG_MS, TIMES_MEDIAN = 1000.0 * STALL_S, float(STALL_TIMES)


def late(ttft_ms: np.ndarray) -> np.ndarray:
    """For each ok request of one run, whether its TTFT is above the median by a second and above three times it; one
    without a TTFT is not."""
    known = ttft_ms[~np.isnan(ttft_ms)]
    if not len(known):
        return np.zeros(len(ttft_ms), bool)
    median_ms = float(np.median(known))
    found: np.ndarray = (ttft_ms > median_ms + LONG_MS) & (ttft_ms > TIMES_MEDIAN * median_ms)
    return found


def longest_gap_ms(requests: pd.DataFrame) -> np.ndarray:
    """The longest time between two chunks of each row of table `requests`; 0 where there are not two."""
    return ragged.largest(*ragged.flat(requests["itl_ms"]))


def stalled(requests: pd.DataFrame) -> pd.Series:
    """For each ok request of one run, whether it stalled: `late`, or a gap between two of its chunks of more than a
    second. `requests`: rows of table `requests`."""
    good = answered(requests)
    waited = late(good["ttft_ms"].to_numpy(float, na_value=np.nan))
    return pd.Series(waited | (longest_gap_ms(good) > LONG_MS), index=good.index)
