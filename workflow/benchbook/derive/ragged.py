"""Lists of different lengths, one a request, as one flat array and the lengths.

A call for each of a million requests would take minutes; what is here takes one for each run.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd


def flat(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a column of lists or arrays, one after the other, and how many each row holds."""
    parts = list(column)
    values = np.concatenate(parts, dtype=float, casting="unsafe") if parts else np.empty(0)
    return values, np.fromiter(map(len, parts), int, len(parts))


def ends(counts: np.ndarray) -> np.ndarray:
    """Where each row ends in the flat array, with a 0 before the first: row i is [ends[i], ends[i + 1])."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(int)


def running_sums(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Running sum within each row, summed in the row's order: not a digit of it depends on the rows before."""
    sums = np.empty(len(values))
    starts = ends(counts)[:-1]
    for count in np.unique(counts).tolist():
        places = starts[counts == count][:, None] + np.arange(count)
        sums[places] = np.cumsum(values[places], axis=1)
    return sums


def rows(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Each row's part of the flat array, as a column of arrays."""
    column = np.empty(len(counts), object)
    for row, (start, end) in enumerate(pairwise(ends(counts).tolist())):
        column[row] = values[start:end]
    return column


def places(counts: np.ndarray) -> np.ndarray:
    """Place of each number in its row, from 0."""
    whole: np.ndarray = np.arange(int(counts.sum())) - np.repeat(ends(counts)[:-1], counts)
    return whole


def largest(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Largest number of each row, 0 of an empty one; the numbers are no less than 0."""
    found = np.zeros(len(counts))
    filled = counts > 0
    if filled.any():
        found[filled] = np.maximum.reduceat(values, ends(counts)[:-1][filled])
    return found
