"""What is written down of a column."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column: `dtype` is a pandas dtype name, `unit` as printed, `null` says when a null stands ("" = never)."""

    dtype: str
    unit: str
    meaning: str
    null: str = ""
