"""The tables of a report beside it, for people who read them elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from benchbook.measure.store import sha256
from benchbook.provenance import sidecar

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def publish(files: Iterable[Path], folder: Path) -> None:
    """Copy Parquet tables and SVG figures with their sidecars into `folder`, tables as CSV beside them. A file that is
    there already with the same bytes is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = set()
    for path in files:
        for source in (path, sidecar.path_of(path)):
            target = folder / source.name
            wanted.add(target)
            if not target.exists() or sha256(target) != sha256(source):
                target.write_bytes(source.read_bytes())
        if path.suffix == ".parquet":
            target = (folder / path.name).with_suffix(".csv")
            wanted.add(target)
            target.write_text(as_csv(pd.read_parquet(path)), encoding="utf-8", newline="")
    for stale in set(folder.iterdir()) - wanted:
        stale.unlink()


def as_csv(frame: pd.DataFrame) -> str:
    """Numbers in full, missing as empty. A text that a spreadsheet would take for a formula begins with an apostrophe;
    Parquet has it as it is."""
    safe = frame.copy()
    for column in safe.columns:
        if pd.api.types.is_string_dtype(safe[column].dtype):
            formula = safe[column].str.startswith(_FORMULA).fillna(False).astype(bool)
            safe.loc[formula, column] = "'" + safe.loc[formula, column]
    return str(safe.to_csv(index=False, lineterminator="\n"))
