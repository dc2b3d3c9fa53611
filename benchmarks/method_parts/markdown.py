"""The tables in Markdown, put between the marks that a document has for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from method_parts import anomalies, coverage, designs, warmup
from method_parts.cells import Cell

# which tables stand at which mark of the document
MARKS = {
    "warmup": (warmup.TABLE,),
    "comparisons": (coverage.ONE, coverage.BOOTS, designs.POWER, designs.PSEUDO, designs.ORDER, designs.EQUAL,
                    designs.BAND),
    "anomalies": (anomalies.TABLE,),
}  # fmt: skip
_PAIR = re.compile(r"^(.*), (wrong|never) %$")


class NoMark(Exception):
    """The document lacks a mark; the message says which."""


def put(path: Path, cells: Sequence[Cell], asked: str) -> None:
    """Replace what stands between `<!-- tables: NAME -->` and `<!-- end of tables -->`. Raises NoMark."""
    text = path.read_text(encoding="utf-8")
    for name, tables in MARKS.items():
        block = "\n\n".join(_table(title, [cell for cell in cells if cell.table == title]) for title in tables)
        pattern = rf"(<!-- tables: {name} -->\n).*?(<!-- end of tables -->)"
        text, found = re.subn(pattern, lambda m, b=block: f"{m[1]}\n{b}\n\n{asked}\n\n{m[2]}", text, flags=re.S)
        if not found:
            raise NoMark(f"{path} has no lines <!-- tables: {name} --> and <!-- end of tables -->; add them where the "
                         "tables are to stand")  # fmt: skip
    path.write_text(text, encoding="utf-8")


def _table(title: str, cells: Sequence[Cell]) -> str:
    rows, columns = _names(cell.row for cell in cells), _names(_heading(cell) for cell in cells)
    lines = [f"| {title} | {' | '.join(columns)} |", f"|{' --- |' * (len(columns) + 1)}"]
    for row in rows:
        mine = [[cell for cell in cells if cell.row == row and _heading(cell) == column] for column in columns]
        lines.append(f"| {row} | {' | '.join(_shown(found) for found in mine)} |")
    return "\n".join(lines)


def _heading(cell: Cell) -> str:
    paired = _PAIR.match(cell.column)
    return f"{paired[1]}, wrong / never %" if paired else cell.column


def _shown(cells: Sequence[Cell]) -> str:
    """A cell, or a pair; the figure it repeats in brackets, in bold where they do not agree."""
    if not cells:
        return ""
    values = " / ".join(figure(cell) for cell in cells)
    if cells[0].published is None:
        return values
    known = " / ".join(f"{cell.published:g}" for cell in cells)
    shown = f"{values} ({known})"
    return shown if all(cell.agrees for cell in cells) else f"**{shown}**"


def figure(cell: Cell) -> str:
    """What was found with two standard errors, or exactly."""
    digits = 0 if cell.rounding >= 0.5 else 1 if cell.rounding >= 0.05 else 2
    return f"{cell.found + 0:.{digits}f}" + (f" ± {2 * cell.error:.{max(digits, 1)}f}" if cell.error else "")


def _names(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
