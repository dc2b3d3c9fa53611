"""A setting as the engine takes it: its value, and how that is known or why it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Value(Generic[T]):
    """`value` None: not known, and `how` says what is missing. `written`: the booking says it, no default."""

    value: T | None
    how: str
    written: bool = False
