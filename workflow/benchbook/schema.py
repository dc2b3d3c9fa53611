"""The written schema of every table that passes from derive to present.

A table is a pandas frame in a Parquet file. `check` refuses a frame that lacks a column, has one too many, or holds a
null where none is allowed, so that a wrong table stops where it is made and not three steps later in a figure.
Missing is null, never 0: a column says in `null` when a null may stand there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchbook.columns import claims, measured, preflight
from benchbook.columns.column import Column
from benchbook.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

TABLES: dict[str, dict[str, Column]] = {**measured.TABLES, **claims.TABLES, **preflight.TABLES}


def check(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    """Return `frame` with the columns, order and dtypes of `table`'s schema.

    Raises TableError naming the table and the column when a column is missing or unknown, cannot be held in its
    dtype, or has a null where the schema allows none.
    """
    columns = TABLES[table]
    missing = [name for name in columns if name not in frame.columns]
    unknown = [name for name in frame.columns if name not in columns]
    if missing or unknown:
        raise TableError(
            f"table {table}: " + "; ".join(
                ([f"column missing: {', '.join(missing)}"] if missing else [])
                + ([f"column not in the schema: {', '.join(map(str, unknown))}"] if unknown else [])
            ) + ". Rerun the rule that makes it."
        )
    ordered = frame[list(columns)].reset_index(drop=True)
    for name, column in columns.items():
        try:
            ordered[name] = ordered[name].astype(column.dtype)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise TableError(f"table {table}, column {name}: not {column.dtype}: {error}.") from error
        if not column.null and ordered[name].isna().any():
            row = int(ordered[name].isna().to_numpy().argmax())
            raise TableError(f"table {table}, column {name}, row {row}: a null where the schema allows none.")
    return ordered


def empty(table: str) -> pd.DataFrame:
    """A frame of `table` with no rows, columns and dtypes as in the schema."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=column.dtype) for name, column in TABLES[table].items()})


def concat(frames: list[pd.DataFrame], table: str) -> pd.DataFrame:
    """The rows of all `frames`, as `table`; empty frames carry no dtypes into it."""
    import pandas as pd

    filled = [frame for frame in frames if len(frame)]
    return check(pd.concat(filled, ignore_index=True), table) if filled else empty(table)
