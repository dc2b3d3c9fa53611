"""A frame and a choice of columns to a table as shown: every cell with its address and its tooltip."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from benchbook.present import format as fmt
from benchbook.present import summary
from benchbook.present.address import address, slug
from benchbook.present.labels import label
from benchbook.present.levels import LEVELS
from benchbook.schema import TABLES

Row = Mapping[Hashable, Any]

TONES = {
    "ok": "good", "complete": "good", "pass": "good", "CONVERGED": "good", "agrees": "good", "passed": "good",
    "incomplete": "warn", "set-aside": "warn", "warn": "warn", "UNWARMED": "warn", "rerun passed": "warn",
    "differs": "bad", "not compared": "", "failed": "bad", "missing": "bad", "refused": "bad",
    "supported": "good", "contradicted": "bad", "too small to matter": "", "undecided": "", "not measured": "",
    "ruled out": "good", "not ruled out": "warn", "untested": "", "held": "good", "extrapolated": "", "not tried": "",
    "error": "bad", "warning": "warn", "note": "",
    **{level.name: f"level level-{level.slug}" for level in LEVELS},
}
SHORT = 14
TONED = {"severity", "status", "little", "warmup_verdict", "verdict", "gate", "tags", "outcome", "level", "prediction"}
UNTONED = {("elimination", "gate")}
CODED = {"run_id", "session_id", "reading_id", "failure_id", "spec_hash", "root_cause", "kernel", "engine", "claim_id",
         "anomaly_id", "comparison_id"}
PROSE = {"sentence", "because", "replicate", "statement", "found", "consequence", "signature", "measurement", "gate",
         "why", "evidence", "arithmetic", "remedy", "experiment", "how", "note", "refused", "regime", "method"}


@dataclass(frozen=True)
class Part:
    """One shown value: text, address, why it is missing if so, look ("good", "warn", "bad", "code", ""), and of a
    shortened one the `whole`."""

    text: str
    address: str
    why: str = ""
    tone: str = ""
    whole: str = ""

    @property
    def missing(self) -> bool:
        return bool(self.why)


@dataclass(frozen=True)
class Cell:
    """One cell: `layout` is "" (one value), "range" (mean over lowest to highest; over one dash where neither is
    known), "of" (a of b) or "list" (all of them); `prose` is set over several lines."""

    parts: tuple[Part, ...]
    numeric: bool
    layout: str = ""
    anchor: str = ""
    prose: bool = False


@dataclass(frozen=True)
class Head:
    label: str
    unit: str
    meaning: str
    numeric: bool


@dataclass(frozen=True)
class Table:
    """A table as shown; the first cell of a row heads the row. `missing`: each reason and the headings it holds for."""

    name: str
    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...] = ()
    dense: bool = False

    @property
    def short(self) -> bool:
        """Short enough to be kept on one page."""
        return len(self.rows) <= SHORT


@dataclass(frozen=True)
class Col:
    """A column: `name`, and for a range its lowest and highest, or the total that it is a part `of`."""

    name: str
    span: tuple[str, ...] = ()
    of: str = ""
    label: str = ""
    anchor: bool = False


def part(table: str, row: Row, column: str) -> Part:
    """One value of a row of `table`."""
    shown = fmt.cell(table, column, row[column])
    where = address(table, row, column)
    if shown.missing:
        return Part(shown.text, where, why=shown.why)
    tone = "code" if column in CODED else ""
    if column in TONED and (table, column) not in UNTONED:
        tone = TONES.get(shown.text, "" if shown.text == "none" else "warn")
    value = row[column]
    return Part(shown.text, where, tone=tone, whole=str(value) if column in fmt.HASHES else "")


def totals(frame: pd.DataFrame) -> dict[str, Part]:
    """The values of the summary table by key."""
    found = {}
    for row in frame.to_dict("records"):
        shown = fmt.total(row["value"], str(row["unit"]), summary.WHY.get(str(row["key"]), ""))
        where = address("summary", row, "value")
        found[str(row["key"])] = Part(shown.text, where, why=shown.why)
    return found


def _cell(table: str, row: Row, column: Col) -> Cell:
    names = (column.name, *column.span) if column.span else (column.name, column.of) if column.of else (column.name,)
    layout = "range" if column.span else "of" if column.of else ""
    anchor = f"run-{slug(str(row[column.name]))}" if column.anchor else ""
    parts = tuple(part(table, row, name) for name in names)
    if layout == "range" and (all(item.missing for item in parts) or len({row[name] for name in names}) == 1):
        parts, layout = parts[:1], ""
    elif layout == "range" and all(item.missing for item in parts[1:]):
        parts = parts[:2]
    return Cell(parts, fmt.is_number(table, column.name), layout, anchor, column.name in PROSE)


def head(table: str, column: Col) -> Head:
    """The heading of a column; the tooltip is the schema's meaning."""
    described = TABLES[table][column.name]
    return Head(column.label or label(column.name), fmt.unit(table, column.name), described.meaning,
                fmt.is_number(table, column.name))


def _reasons(heads: Sequence[Head], rows: Iterable[Sequence[Cell]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Why values of a table are missing: each reason once, with the headings of the columns it holds for."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for top, cell in zip(heads, row, strict=True):
            for item in cell.parts:
                if item.missing:
                    found.setdefault(item.why, {})[top.label] = None
    return tuple((why, tuple(labels)) for why, labels in found.items())


def build(
    frame: pd.DataFrame, table: str, caption: str, columns: Iterable[str | Col], *, name: str = "", dense: bool = False
) -> Table:
    """`frame`, rows in its order, as a shown table of `columns`. Raises KeyError for a column it does not have."""
    chosen = [Col(column) if isinstance(column, str) else column for column in columns]
    records: Sequence[Row] = frame.to_dict("records")
    heads = tuple(head(table, column) for column in chosen)
    rows = tuple(tuple(_cell(table, row, column) for column in chosen) for row in records)
    return Table(
        name=name or table,
        caption=caption,
        heads=heads,
        rows=rows,
        missing=_reasons(heads, rows),
        dense=dense,
    )


def alike(shown: Table, at: int) -> Table:
    """`shown` with rows that differ in nothing but column `at` made one, which lists what they have there. Its other
    cells keep the addresses of the first of them."""
    merged: dict[tuple[object, ...], tuple[Cell, ...]] = {}
    for row in shown.rows:
        key = tuple(tuple(item.text for item in cell.parts) for place, cell in enumerate(row) if place != at)
        first = merged.get(key)
        if first is None:
            merged[key] = row
        else:
            joined = replace(first[at], parts=(*first[at].parts, *row[at].parts), layout="list")
            merged[key] = (*first[:at], joined, *first[at + 1 :])
    return replace(shown, rows=tuple(merged.values()))


def beside(shown: Table, at: int, table: str, column: str, rows: Sequence[Row | None], absent: Sequence[str]) -> Table:
    """`shown` with a column of another `table` set in before column `at`: one row of it for each row of `shown`.

    Where there is none, the cell is missing under the address `absent` gives it.
    """
    cells = [
        _cell(table, row, Col(column)) if row is not None
        else Cell((Part(fmt.MISSING, where, why="none was given"),), False)
        for row, where in zip(rows, absent, strict=True)
    ]
    heads = (*shown.heads[:at], head(table, Col(column)), *shown.heads[at:])
    wider = tuple((*row[:at], cell, *row[at:]) for row, cell in zip(shown.rows, cells, strict=True))
    return replace(shown, heads=heads, rows=wider, missing=_reasons(heads, wider))
