"""The address of a number: table:row:column, as `benchbook trace` takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BY_ID = {"runs": "run_id", "telemetry": "run_id", "client": "run_id", "scheduler": "run_id", "steps": "run_id",
          "occupancy": "run_id", "sessions": "session_id", "warmup": "reading_id", "failures": "failure_id",
          "summary": "key", "comparisons": "comparison_id", "verdicts": "claim_id", "anomalies": "anomaly_id",
          "next_experiments": "rank", "bookings": "booking", "preflight": "finding_id"}
_BY_POINT = ("crosscheck", "toll", "floor", "cost")
_JOINED = {"timeline": ("session_id", "label"), "reconciliation": ("run_id", "quantity"),
           "sources": ("owner_id", "file"), "noise": ("booking", "metric"), "fixed_cost": ("arm", "response", "model"),
           "elimination": ("arm", "candidate")}


def row_key(table: str, row: Mapping[Any, Any]) -> str:
    """The key of a row.

    sweep                               <arm>/c<C>, with /<client> after it where a sweep has several clients
    crosscheck, toll, floor, cost       <arm>/c<C>
    repeatability                       <arm>/c<C>/<metric>
    hypotheses                          <hypothesis>/c<C>
    timeline, reconciliation, sources   <session>/<label>, <run>/<quantity>, <owner>/<file>
    noise, fixed_cost, elimination      <booking>/<metric>, <arm>/<response>/<model>, <arm>/<candidate>
    bill                                <item>, with /<arm> after it where it is one arm's
    any other                           the row's id

    Raises KeyError for a table whose rows have no address.
    """
    if table == "sweep":
        named = isinstance(row["client"], str)
        return f"{_point(row)}/{row['client']}" if named else _point(row)
    if table in _BY_POINT:
        return _point(row)
    if table == "repeatability":
        return f"{_point(row)}/{row['metric']}"
    if table == "hypotheses":
        return f"{row['hypothesis']}/c{row['concurrency']}"
    if table == "bill":
        return f"{row['item']}/{row['arm']}" if isinstance(row["arm"], str) else str(row["item"])
    if table in _JOINED:
        return "/".join(str(row[name]) for name in _JOINED[table])
    return str(row[_BY_ID[table]])


def _point(row: Mapping[Any, Any]) -> str:
    return f"{row['arm']}/c{row['concurrency']}"


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
