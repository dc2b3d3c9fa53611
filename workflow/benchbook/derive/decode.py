"""How many requests decoded at once, and how long a step took while none was in its prompt (method.md 6).

Mean TPOT is not the decode step: the prompts of others are processed inside it. The time between two chunks of a
request is one step where no request was between its send and its first token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchbook.derive import ragged
from benchbook.derive.answered import answered
from benchbook.derive.window import Window

ITLS_MIN = 50
TOUCH_S = 1e-5  # times that are the same in truth lie so far apart: Unix seconds are whole quarters of a microsecond


@dataclass(frozen=True)
class PureItl:
    """`p50_ms`: median of the pure ITLs, `sequences`: requests that decoded at once in the midst of one, mean over
    them; both None of fewer than ITLS_MIN. `share`: of all ITLs in the window.

    `sequences` is the abscissa that belongs to `p50_ms`: the mean over the whole window is lower by the share of time
    in which some are in their prompt, and a fit against it has a slope that is too steep by as much.
    """

    p50_ms: float | None
    sequences: float | None
    share: float


def sequences(requests: pd.DataFrame, steady: Window) -> float | None:
    """Requests that decoded at once, mean over the steady window: from first to last token of each ok request, what
    lies in the window, over its width. None without width. `requests`: one run's rows of table `requests`."""
    if steady.width_s <= 0:
        return None
    good = answered(requests)
    first_s, last_s = (good[name].to_numpy(float) for name in ("t_first_s", "t_last_s"))
    inside_s = np.minimum(last_s, steady.end_s) - np.maximum(first_s, steady.start_s)
    return float(np.clip(inside_s, 0, None).sum()) / steady.width_s


def pure_itl(requests: pd.DataFrame, steady: Window) -> PureItl | None:
    """The ITLs in the steady window that overlap no request's time from send to first token.

    Those outside the window are left out: at the run's end ever fewer requests decode and none is sent, so they are all
    pure, and of another step than `sequences` counts. None where a request failed (when it left its prompt is not
    known), and without an ITL in the window. `requests`: one run's rows of table `requests`.
    """
    if steady.width_s <= 0 or not requests["ok"].all():
        return None
    first_s = requests["t_first_s"].to_numpy(float)
    gaps_ms, counts = ragged.flat(requests["itl_ms"])
    end_s = np.repeat(first_s, counts) + ragged.running_sums(gaps_ms / 1000, counts)
    start_s = end_s - gaps_ms / 1000
    inside = (start_s >= steady.start_s - TOUCH_S) & (end_s <= steady.end_s + TOUCH_S)
    if not inside.any():
        return None
    start_s, end_s, gaps_ms = start_s[inside], end_s[inside], gaps_ms[inside]
    pure = ~_overlap(start_s, end_s, *_union(requests["t_send_s"].to_numpy(float), first_s))
    if pure.sum() < ITLS_MIN:
        return PureItl(None, None, float(pure.mean()))
    midst_s = (start_s[pure] + end_s[pure]) / 2
    last_s = np.sort(requests["t_last_s"].to_numpy(float))
    decoding = np.searchsorted(np.sort(first_s), midst_s) - np.searchsorted(last_s, midst_s)
    return PureItl(float(np.median(gaps_ms[pure])), float(decoding.mean()), float(pure.mean()))


def _union(start_s: np.ndarray, end_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the stretches that the intervals cover together, in order and apart from each other."""
    order = np.argsort(start_s, kind="stable")
    starts, ends = start_s[order], np.maximum.accumulate(end_s[order])
    opens = np.concatenate([[True], starts[1:] > ends[:-1]])
    return starts[opens], ends[np.concatenate([opens[1:], [True]])]


def _overlap(start_s: np.ndarray, end_s: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Whether each interval shares more than a touch with any of the stretches that `_union` gives."""
    last = np.searchsorted(starts, end_s - TOUCH_S, side="left") - 1
    overlap: np.ndarray = (last >= 0) & (ends[np.maximum(last, 0)] > start_s + TOUCH_S)
    return overlap
