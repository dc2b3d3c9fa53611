"""What is read of each finished booking: two tables, and what their sidecars say of its configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.errors import StoreError, TableError
from benchbook.measure.store import sha256
from benchbook.provenance import sidecar

TABLES = ("runs", "sessions", "comparisons")


@dataclass(frozen=True)
class Taken:
    """A booking on a side; `claims`: config.claims_facts of it, as its comparisons were told; `sha256` of its runs."""

    booking: str
    side: str
    runs: pd.DataFrame
    sessions: pd.DataFrame
    claims: Mapping[str, Any]
    sha256: str


def folder(root: Path, booking: str) -> Path:
    """The tables of a finished booking: in results/, where the newest are, else beside its archived report. StoreError
    when there are none."""
    for place in (Path("results") / booking / "tables", Path("reports") / booking / "tables"):
        if all((root / place / f"{name}.parquet").exists() for name in TABLES):
            return place
    raise StoreError(f"booking {booking} has no tables to compare. Finish it: snakemake --cores all --config "
                     f"booking={booking} -- report; or restore its archive.")  # fmt: skip


def read(tables: Path, booking: str, side: str) -> Taken:
    """The booking whose tables lie in the folder `tables`. StoreError when one is not what its sidecar says."""
    for name in TABLES:
        sidecar.check(tables / f"{name}.parquet")
    try:
        frames = {name: schema.check(pd.read_parquet(tables / f"{name}.parquet"), name) for name in TABLES}
    except TableError as error:
        raise TableError(
            f"booking {booking}: {tables} was made by other code than this ({error}). Make its report anew: snakemake "
            f"--cores 2 --config booking={booking} -- report archive; where it is in an archive only, restore it first."
        ) from error
    claims = json.loads(sidecar.read(tables / "comparisons.parquet")["params"]["booking"])
    return Taken(booking, side, frames["runs"], frames["sessions"], claims, sha256(tables / "runs.parquet"))
