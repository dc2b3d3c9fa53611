"""Lists of different lengths, one a request, as one flat array and the lengths.

A call for each of a million requests would take minutes; what is here takes one for each run.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd


def flat(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a column of lists or arrays, one after the other, and how many each row holds."""
    parts = [np.asarray(item, float) for item in column]
    return (np.concatenate(parts) if parts else np.empty(0)), np.array([len(part) for part in parts], int)


def ends(counts: np.ndarray) -> np.ndarray:
    """Where each row ends in the flat array, with a 0 before the first: row i is [ends[i], ends[i + 1])."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(int)


def running_sums(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Running sum within each row, summed in the row's order: not a digit of it depends on the rows before."""
    sums = np.empty(len(values))
    for start, end in pairwise(ends(counts).tolist()):
        np.cumsum(values[start:end], out=sums[start:end])
    return sums
