"""A dense series thinned to what can be seen: of each pixel column the extremes and the ends, nothing averaged."""

from __future__ import annotations

import numpy as np


def envelope(x: np.ndarray, y: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """The points of the series that its drawing needs, unchanged and in order.

    `x` ascends, `width` is that of a pixel column in units of x. Of the points that share a column and have no gap
    (NaN in `y`) between them, the first, the lowest, the highest and the last are kept; a gap is kept as one NaN.
    """
    if len(x) == 0 or not width > 0:
        return x, y
    column = np.floor((x - x[0]) / width)
    missing = np.isnan(y)
    starts = np.ones(len(x), dtype=bool)
    starts[1:] = (missing[1:] != missing[:-1]) | (~missing[1:] & (column[1:] != column[:-1]))
    first = np.flatnonzero(starts)
    keep: set[int] = set()
    for begin, end in zip(first, [*first[1:], len(x)], strict=True):
        keep.add(int(begin))
        if not missing[begin]:
            part = y[begin:end]
            keep |= {int(begin + part.argmin()), int(begin + part.argmax()), int(end - 1)}
    chosen = sorted(keep)
    return x[chosen], y[chosen]
