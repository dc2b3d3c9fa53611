"""A figure that a simulation found, beside the one that it repeats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

PUBLISHED_SERIES = 4000
AGREE_WITHIN = 3.0  # standard errors of the difference; of some 200 cells that are right, one in two runs falls out


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    `published`: the figure of method.md, None where it gives none. `error`: standard error of `found`; `known_error`:
    that of the published one. `rounding`: half a unit of its last digit. `specified`: method.md says how the data were
    drawn; where it does not, the model is ours, and a difference is shown but is no failure.
    """

    table: str
    row: str
    column: str
    published: float | None
    found: float
    error: float
    known_error: float = 0.0
    rounding: float = 0.5
    specified: bool = True

    @property
    def agrees(self) -> bool | None:
        """None where there is nothing to agree with."""
        if self.published is None:
            return None
        return abs(self.found - self.published) <= AGREE_WITHIN * math.hypot(self.error, self.known_error) + (
            self.rounding + 1e-9
        )

    @property
    def failed(self) -> bool:
        return self.specified and self.agrees is False


Task = Callable[[int, np.random.Generator], list[Cell]]


def share(
    table: str, row: str, column: str, published: float | None, hits: int, of: int, specified: bool = True,
    published_of: int = PUBLISHED_SERIES,
) -> Cell:  # fmt: skip
    """A cell in percent. The error of a share that was never or always seen is that of one seen once."""
    seen = min(max(hits, 1), of - 1) / of
    known = 0.0
    if published is not None:
        rare = min(max(published / 100, 1 / published_of), 1 - 1 / published_of)
        known = 100 * math.sqrt(rare * (1 - rare) / published_of)
    return Cell(table, row, column, published, 100 * hits / of, 100 * math.sqrt(seen * (1 - seen) / of), known,
                specified=specified)  # fmt: skip


def exact(table: str, row: str, column: str, published: float, found: float, digits: int) -> Cell:
    """A cell that is computed, not simulated; `digits` after the point of the published figure."""
    return Cell(table, row, column, published, found, 0.0, rounding=0.5 * 10**-digits)
