"""Figures of repeated runs, what they are held against, and tables of them as text."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A target: `claim` in words, the `figure` that was measured, and whether the target `holds`."""

    claim: str
    figure: str
    holds: bool


@dataclass(frozen=True)
class Spread:
    """Median and range of one figure over repeats."""

    median: float
    low: float
    high: float

    def text(self, decimals: int) -> str:
        if self.low == self.high:
            return f"{self.median:,.{decimals}f}"
        return f"{self.median:,.{decimals}f} [{self.low:,.{decimals}f} to {self.high:,.{decimals}f}]"


def spread(values: Iterable[float | None]) -> Spread | None:
    """None when a repeat has no value: a median of the others would hide that."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    if not known or len(known) < len(listed):
        return None
    return Spread(statistics.median(known), min(known), max(known))


def shown(value: Spread | None, decimals: int) -> str:
    return "–" if value is None else value.text(decimals)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text columns as wide as they need to be, the first two flush left."""
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *rows)
    )


def below(claim: str, value: Spread | None, limit: float, unit: str, decimals: int) -> Check:
    """The median must lie below `limit`, whatever its sign."""
    holds = value is not None and abs(value.median) < limit
    return Check(f"{claim} under {limit:g} {unit}", f"{shown(value, decimals)} {unit}", holds)
