"""Two values of one figure against each other."""

from __future__ import annotations


def ratio(value: float, other: float) -> float:
    """How many times `other` it is."""
    return value / other


def change(value: float, other: float) -> float:
    """By which share of `other` it is larger; below 0 when it is smaller."""
    return value / other - 1


def points_apart(first_pct: float, second_pct: float) -> float:
    """How far two percentages lie apart, in percentage points."""
    return abs(first_pct - second_pct)


def undone(value: float, *factors: float) -> float:
    """What a value was before it grew by each of `factors`."""
    for factor in factors:
        value /= factor
    return value
