"""Seconds that something will take, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """Seconds: `low` and `high` are bounds that are seldom left, no interval of confidence; `source`: where they come
    from, in words."""

    low_s: float
    expected_s: float
    high_s: float
    source: str

    @classmethod
    def around(cls, expected_s: float, share: float, source: str) -> Estimate:
        """`expected_s` give or take that share of it."""
        return cls(expected_s * (1 - share), expected_s, expected_s * (1 + share), source)

    def times(self, low: float, expected: float, high: float) -> Estimate:
        return Estimate(self.low_s * low, self.expected_s * expected, self.high_s * high, self.source)

    def to_json(self) -> dict[str, Any]:
        return {"low_s": self.low_s, "expected_s": self.expected_s, "high_s": self.high_s}


def total(parts: Iterable[Estimate]) -> Estimate:
    """The sum of estimates, bound by bound: wider than it need be where their errors are not the same."""
    low = expected = high = 0.0
    for part in parts:
        low, expected, high = low + part.low_s, expected + part.expected_s, high + part.high_s
    return Estimate(low, expected, high, "")
