"""Tables and figures beside a report against those made anew."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from benchbook.archive.tables import as_csv
from benchbook.measure.store import sha256
from benchbook.present.address import row_key
from benchbook.verify.finding import Finding

KEPT = (".parquet", ".svg")
NAMED = 50  # cells of one CSV that are named each by itself


def check(shown: Path, anew: Path) -> tuple[list[Finding], int]:
    """Everything by which the tables (Parquet, CSV) and figures in the folder `shown` differ from those in `anew`, and
    how many files were compared. What `shown` does not hold at all is no finding: not every folder has every form."""
    found: list[Finding] = []
    files = sorted(path for path in shown.iterdir() if path.suffix in (".parquet", ".csv", ".svg", ".json")
                   and not path.name.endswith(".prov.json")) if shown.is_dir() else []  # fmt: skip
    for path in files:
        made = anew / path.with_suffix(".parquet" if path.suffix == ".csv" else path.suffix).name
        if not made.exists():
            found.append(Finding(_named(path), "is made by no rule"))
        elif path.suffix == ".csv":
            found += _csv(path, pd.read_parquet(made))
        elif sha256(path) != sha256(made):
            found += _parquet(path, made) if path.suffix == ".parquet" else [_bytes(path)]
    return found, len(files)


def _named(path: Path) -> str:
    return "/".join(path.parts[-3:])


def _shown(value: object) -> str:
    """A cell as Python writes it, numbers in full, the beginning of a list."""
    return repr(value.tolist() if hasattr(value, "tolist") else value)[:80]


def _bytes(path: Path) -> Finding:
    kind = "figure" if path.suffix == ".svg" else "table"
    return Finding(f"{kind}:{path.stem}", f"{_named(path)} is not what its rule makes")


def _parquet(path: Path, made: Path) -> list[Finding]:
    try:
        now, then = pd.read_parquet(path), pd.read_parquet(made)
    except (OSError, ValueError) as error:
        return [Finding(f"table:{path.stem}", f"{_named(path)} cannot be read ({error})")]
    if list(now.columns) != list(then.columns) or len(now) != len(then):
        have, want = (f"{len(frame)} rows, {len(frame.columns)} columns" for frame in (now, then))
        what = f"{_named(path)} has other columns or rows than its rule makes"
        return [Finding(f"table:{path.stem}", what, have, want)]
    return list(_cells(path, now, then)) or [_bytes(path)]


def gone(shown: Path, anew: Path) -> list[Finding]:
    """Every table and figure in `anew` that `shown`, where the pipeline keeps all of them, does not hold."""
    made = sorted(path for path in anew.iterdir() if path.suffix in KEPT) if anew.is_dir() else []
    return [Finding(f"{'figure' if path.suffix == '.svg' else 'table'}:{path.stem}",
                    f"{_named(shown / path.name)} is missing; run snakemake report")
            for path in made if not (shown / path.name).exists()]  # fmt: skip


def _cells(path: Path, now: pd.DataFrame, then: pd.DataFrame) -> Iterator[Finding]:
    names = _addresses(path.stem, then)
    for column in then.columns:
        pairs = zip(now[column], then[column], strict=True)
        for at, (have, want) in enumerate(pairs):
            if _whole(have) != _whole(want):
                yield Finding(f"{names[at]}:{column}", f"{_named(path)} differs", _shown(have), _shown(want))


def _whole(value: object) -> str:
    """A cell in full; repr would shorten a long array and let a change in its middle pass."""
    listed = value.tolist() if hasattr(value, "tolist") else value
    return f"{type(value).__name__} {listed!r}"


def _addresses(table: str, frame: pd.DataFrame) -> list[str]:
    """`table:row` of every row; where rows share one, which of them it is, and the line in the CSV."""
    keys = []
    for at, row in enumerate(frame.to_dict("records")):
        try:
            keys.append(row_key(table, row))
        except KeyError:
            keys.append(f"row {at + 1}")
    times, seen, names = Counter(keys), Counter[str](), []
    for at, key in enumerate(keys):
        seen[key] += 1
        which = f" ({seen[key]} of {times[key]}, line {at + 2})" if times[key] > 1 else ""
        names.append(f"{table}:{key}{which}")
    return names


def _csv(path: Path, made: pd.DataFrame) -> Iterator[Finding]:
    shown = path.read_bytes().decode("utf-8", "replace")
    anew = as_csv(made)
    if shown == anew:
        return
    have, want = (list(csv.reader(io.StringIO(text, newline=""))) for text in (shown, anew))
    if len(have) != len(want) or have[:1] != want[:1]:
        what = f"{_named(path)} has other columns or rows than its rule makes"
        there, should = (f"{len(rows) - 1} rows, {len(rows[0]) if rows else 0} columns" for rows in (have, want))
        yield Finding(f"table:{path.stem}", what, there, should)
        return
    names, differing = _addresses(path.stem, made), 0
    for at, (row, wanted) in enumerate(zip(have[1:], want[1:], strict=True)):
        for place, column in enumerate(want[0]):
            there, should = (cells[place] if place < len(cells) else "nothing" for cells in (row, wanted))
            if there != should:
                differing += 1
                if differing <= NAMED:
                    yield Finding(f"{names[at]}:{column}", f"line {at + 2} of {_named(path)} differs",
                                  there[:80] or "empty", should[:80] or "empty")  # fmt: skip
        if len(row) > len(wanted):
            differing += 1
            yield Finding(f"{names[at]}:*", f"line {at + 2} of {_named(path)} has {len(row)} cells, not {len(wanted)}")
    if differing > NAMED:
        yield Finding(f"table:{path.stem}", f"{_named(path)} differs in {differing - NAMED} more cells")
    if not differing:
        yield Finding(f"table:{path.stem}", f"{_named(path)} is not written as its rule writes it")
