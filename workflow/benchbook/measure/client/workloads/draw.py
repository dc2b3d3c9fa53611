"""Draws that are the same on every Python: what makes a request list a function of its arguments.

Only random.Random(integer) and its random() are used. Of all in module random, these two are what the manual promises
to keep ("Notes on Reproducibility"); choices, shuffle, sample and gauss may change with a version and are not used.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

Draw = Callable[[], float]
T = TypeVar("T")


def draws(*name: str | int) -> Draw:
    """A stream of numbers in [0, 1), its own for every name; draws of one stream never move those of another."""
    digest = hashlib.sha256("|".join(map(str, name)).encode()).digest()
    return random.Random(int.from_bytes(digest, "big")).random


def between(draw: Draw, low: int, high: int) -> int:
    """An integer from `low` to `high`, both included."""
    return low + int(draw() * (high - low + 1))


def choice(draw: Draw, items: Sequence[T]) -> T:
    return items[int(draw() * len(items))]


def shuffled(draw: Draw, items: Sequence[T]) -> list[T]:
    """A random order of `items` (Fisher and Yates)."""
    result = list(items)
    for last in range(len(result) - 1, 0, -1):
        other = int(draw() * (last + 1))
        result[last], result[other] = result[other], result[last]
    return result
