"""Tables and figures beside a report against those made anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pandas as pd

from benchbook.archive.tables import as_csv
from benchbook.measure.store import sha256
from benchbook.present.address import address, row_key
from benchbook.verify.finding import Finding


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
    """A cell as Python writes it, numbers in full."""
    return repr(value.item() if hasattr(value, "item") else value)


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


def _cells(path: Path, now: pd.DataFrame, then: pd.DataFrame) -> Iterator[Finding]:
    rows = then.to_dict("records")
    for column in then.columns:
        pairs = zip(now[column], then[column], strict=True)
        for at, (have, want) in enumerate(pairs):
            if repr(have) != repr(want):
                try:
                    where = address(path.stem, rows[at], str(column))
                except KeyError:
                    where = f"{path.stem}:row {at}:{column}"
                yield Finding(where, f"{_named(path)} differs", _shown(have), _shown(want))


def _csv(path: Path, made: pd.DataFrame) -> Iterator[Finding]:
    shown, anew = path.read_text(encoding="utf-8", errors="replace").split("\n"), as_csv(made).split("\n")
    if shown == anew:
        return
    for at, (have, want) in enumerate(zip(shown, anew, strict=False)):
        if have != want:
            name = f"line {at + 1}"
            if 0 < at <= len(made) and len(shown) == len(anew):
                with suppress(KeyError):
                    name = row_key(path.stem, made.to_dict("records")[at - 1])
            yield Finding(f"{path.stem}:{name}:*", f"line {at + 1} of {_named(path)} differs", have[:80], want[:80])
            return
    yield Finding(f"table:{path.stem}", f"{_named(path)} has another number of lines", str(len(shown)), str(len(anew)))
