"""The address of a number: table:row:column, as `benchbook trace` takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BY_ID = {"runs": "run_id", "telemetry": "run_id", "client": "run_id", "scheduler": "run_id",
          "sessions": "session_id", "warmup": "reading_id", "failures": "failure_id", "summary": "key"}


def row_key(table: str, row: Mapping[Any, Any]) -> str:
    """The key of a row: sweep and crosscheck `<arm>/c<C>`, with `/<client>` after it where a sweep has several clients,
    timeline `<session>/<label>`, reconciliation `<run>/<quantity>`, else the row's id.

    Raises KeyError for a table whose rows have no address.
    """
    if table == "sweep":
        named = isinstance(row["client"], str)
        return f"{row['arm']}/c{row['concurrency']}" + (f"/{row['client']}" if named else "")
    if table == "crosscheck":
        return f"{row['arm']}/c{row['concurrency']}"
    if table == "timeline":
        return f"{row['session_id']}/{row['label']}"
    if table == "reconciliation":
        return f"{row['run_id']}/{row['quantity']}"
    return str(row[_BY_ID[table]])


def address(table: str, row: Mapping[Any, Any], column: str) -> str:
    """`table:row:column` of one cell."""
    return f"{table}:{row_key(table, row)}:{column}"


def split(text: str) -> tuple[str, str, str]:
    """Table, row key and column of an address. Raises ValueError when `text` has not all three."""
    table, _, rest = text.partition(":")
    key, _, column = rest.rpartition(":")
    if not (table and key and column):
        raise ValueError(f"{text!r} is not an address: table:row:column is asked for.")
    return table, key, column


def slug(text: str) -> str:
    """`text` as an element id: letters, digits, "-" and "_" stay, all else becomes "-"."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in text)
