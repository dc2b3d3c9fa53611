"""What a trace is made of, read from the files beside a report, and the raw lines at its end."""

from __future__ import annotations

import gzip
import json
import unicodedata
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pandas as pd

from benchbook import rawdata
from benchbook.errors import ArchiveError, StoreError
from benchbook.measure.store import sha256
from benchbook.present import summary
from benchbook.present.context import FRAMES
from benchbook.provenance import sidecar
from benchbook.provenance.trace import Material, RawFile

WIDTH = 400


def material(tree: Path, report: Path) -> Material:
    """The tables, sidecars and sources of reports/BOOKING; `tree` holds its results/. ArchiveError without them."""
    results = tree / "results" / report.resolve().name
    names = [name for name in (*FRAMES, "sources") if (results / f"tables/{name}.parquet").exists()]
    if "runs" not in names or "sources" not in names:
        raise ArchiveError(f"{results}/tables lacks what a trace needs. Run snakemake report first.")
    frames = {name: _table(results / f"tables/{name}.parquet") for name in names}
    sidecars = {name: sidecar.read(results / f"tables/{name}.parquet") for name in names}
    sidecars |= {f"figure_{path.stem}": sidecar.read(path) for path in sorted(results.glob("figures/*.svg"))}
    price = _price(report, tree)
    counted = pd.concat([summary.build(frames["runs"], frames["sessions"], frames["failures"], price),
                         summary.claims(frames["verdicts"])], ignore_index=True)  # fmt: skip
    return Material(frames, sidecars, upstream(tree, results), frames["sources"], counted)


def _table(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({error}). Take it away and run snakemake report.") from error


def changed_since(tree: Path, report: Path) -> list[str]:
    """Names of the tables that are other files than those the page beside them was made from; none where no sidecar
    tells."""
    try:
        inputs = sidecar.read(report / "report.html")["inputs"]
    except StoreError:
        return []
    tables = {Path(path).stem: digest for path, digest in inputs.items() if Path(path).suffix == ".parquet"}
    folder = tree / "results" / report.resolve().name / "tables"
    there = {path.stem: path for path in folder.glob("*.parquet")}
    return sorted(name for name, digest in tables.items() if name in there and sha256(there[name]) != digest)


def upstream(tree: Path, results: Path) -> dict[str, sidecar.Sidecar]:
    """The sidecars of all that is derived and tabled in results/BOOKING, by the path of what they are of."""
    found = sorted([*results.glob("derived/*/*.prov.json"), *results.glob("tables/*.prov.json")])
    read = (sidecar.read(path.with_name(path.name.removesuffix(".prov.json"))) for path in found)
    return {str(told["output"]["path"]): told for told in read}


def _price(report: Path, tree: Path) -> float | None:
    """The node's price per hour as the report was told it."""
    for folder in (report, tree / "reports" / report.resolve().name):
        if (folder / "report.html.prov.json").exists():
            told = json.loads(sidecar.read(folder / "report.html")["params"]["booking"])
            price: float | None = told["price_usd_per_hour"]
            return price
    return None


def raw_lines(results: Path, raw: RawFile, most: int) -> Iterator[str]:
    """The first `most` of the lines of `raw`, control characters made visible. StoreError when the file is another."""
    path = results / raw.file
    wanted = rawdata.scrubbed(results).get((raw.file, raw.sha256), raw.sha256)
    if wanted is None:
        raise StoreError(f"{path}: the archive is without it, as no figure rests on it. Ask whoever measured it.")
    if not path.is_file():
        raise StoreError(f"{path} is missing. Restore it from a copy, or from the booking's archive.")
    if sha256(path) != wanted:
        raise StoreError(f"{path} is not the file that was measured (sha256 differs). Restore it from a copy.")
    first, last = raw.lines or (1, None)
    with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
        for line in islice(file, first - 1, None if last is None else last):
            if most <= 0:
                return
            most -= 1
            yield _visible(line.decode("utf-8", "replace").rstrip("\r\n"))


def _visible(text: str) -> str:
    shown = "".join(c if c == "\t" or unicodedata.category(c) not in ("Cc", "Cf") else f"\\x{ord(c):02x}"
                    for c in text[:WIDTH])  # fmt: skip
    return shown if len(text) <= WIDTH else f"{shown} … ({len(text):,} characters)"
