"""A table's rows as plain dicts."""

from __future__ import annotations

from typing import Any

import pandas as pd

Row = dict[str, Any]


def records(frame: pd.DataFrame) -> list[Row]:
    """The rows of `frame` in order, a null as None."""
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
