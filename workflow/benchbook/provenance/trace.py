"""The chain behind a number: its row's runs, the rules from its table down to the raw files, and their lines.

Pure: from tables, sidecars and the table `sources`. `benchbook trace` prints a Trace; the page's panel shows the same
lines (present/trace_data.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchbook.errors import TraceError
from benchbook.present import address, labels, summary
from benchbook.present import format as fmt
from benchbook.schema import TABLES

Sidecar = Mapping[str, Any]
SUMMED = ("runs", "sessions", "failures", "verdicts")


@dataclass(frozen=True)
class Step:
    """One rule on the way down: what it wrote, by which script and code, from which files (path to sha256)."""

    output: str
    rule: str
    script: str
    code: str
    inputs: Mapping[str, str]


@dataclass(frozen=True)
class RawFile:
    """A raw file behind a row: its sha256 as measured, and the lines that bear on the row (None: all)."""

    owner: str
    file: str
    sha256: str
    lines: tuple[int, int] | None
    what: str


@dataclass(frozen=True)
class Trace:
    """`of_row`: the owners are the row's own; else they are all of the table's. `why`: why the value is missing, ""
    where it is there."""

    address: str
    value: Any
    shown: str
    unit: str
    label: str
    meaning: str
    why: str
    owners: tuple[str, ...]
    of_row: bool
    steps: tuple[Step, ...]
    raw: tuple[RawFile, ...]


@dataclass(frozen=True)
class Material:
    """What a trace is made of: `frames` and `sidecars` by table (figures as figure_<name>), `upstream` sidecars by the
    path of what they are of, table `sources`, and the table `summary`."""

    frames: Mapping[str, pd.DataFrame]
    sidecars: Mapping[str, Sidecar]
    upstream: Mapping[str, Sidecar]
    sources: pd.DataFrame
    summary: pd.DataFrame


def trace(asked: str, material: Material) -> Trace:
    """The trace of an address, table:row:column or figure:name. Raises TraceError naming what comes nearest."""
    if asked.startswith("figure:"):
        return _figure(asked, material)
    try:
        table, key, column = address.split(asked)
    except ValueError as error:
        raise TraceError(f"{error} Hover over a number of report.html to read its address.") from error
    if table == "summary":
        return _summary(asked, key, column, material)
    if table not in material.frames:
        raise TraceError(f"there is no table {table!r}. {_near(table, material.frames)}")
    if column not in TABLES[table]:
        raise TraceError(f"table {table} has no column {column!r}. {_near(column, TABLES[table])}")
    rows = {address.row_key(table, row): row for row in material.frames[table].to_dict("records")}
    if key not in rows:
        raise TraceError(f"table {table} has no row {key!r}. {_near(key, rows)}")
    row, described = rows[key], TABLES[table][column]
    shown = fmt.cell(table, column, row[column])
    found = owners(table, row, material.frames)
    value = None if fmt.is_missing(row[column]) else row[column]
    return Trace(
        asked, value, shown.text, fmt.unit(table, column), labels.label(column), described.meaning, shown.why,
        found or tuple(material.sidecars[table]["run_ids"]), bool(found), steps([table], material),
        _raw(found, material.sources),
    )  # fmt: skip


def owners(table: str, row: Mapping[Any, Any], frames: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """The runs, readings or sessions that a row of `table` was made of; empty where it does not narrow them down.

    A row names its run, reading or session, or lists its runs; else it names an arm (of a comparison: two arms) at a
    concurrency, whose runs they are, but for those that were measured once more.
    """
    for name in ("run_id", "reading_id", "failure_id", "session_id"):
        if name in row and not fmt.is_missing(row[name]):
            if name == "session_id" and table == "timeline" and row["phase"] in ("run", "warmup"):
                return (f"{row['session_id']}/{row['label']}",)
            return (str(row[name]),)
    if "run_ids" in row and not fmt.is_missing(row["run_ids"]) and str(row["run_ids"]).strip():
        return tuple(str(row["run_ids"]).split())
    runs = frames["runs"]
    runs = runs[~runs["replaced"].astype(bool)]
    picked = pd.Series(False, index=runs.index)
    for arm, level in (("arm", "concurrency"), ("baseline", "baseline_concurrency")):
        if arm in row and not fmt.is_missing(row[arm]):
            of_arm = runs["arm"] == row[arm]
            told = [row[name] for name in (level, "concurrency") if name in row and not fmt.is_missing(row[name])]
            picked |= of_arm & (runs["concurrency"] == told[0]) if told else of_arm
    return tuple(runs.loc[picked, "run_id"])


def steps(tables: Sequence[str], material: Material) -> tuple[Step, ...]:
    """Every rule from `tables` down to the manifests of the sessions, each once, nearest first."""
    found: dict[str, Step] = {}
    waiting: list[Sidecar] = [material.sidecars[name] for name in tables]
    while waiting:
        told = waiting.pop(0)
        output = str(told["output"]["path"])
        if output in found:
            continue
        found[output] = Step(output, told["rule"], told["script"], told["code_fingerprint"], dict(told["inputs"]))
        waiting += [material.upstream[path] for path in told["inputs"] if path in material.upstream]
    return tuple(found.values())


def _raw(found: Sequence[str], sources: pd.DataFrame) -> tuple[RawFile, ...]:
    rows = sources[sources["owner_id"].isin(list(found))]
    return tuple(
        RawFile(row["owner_id"], row["file"], row["sha256"],
                None if fmt.is_missing(row["first_line"]) else (int(row["first_line"]), int(row["last_line"])),
                row["what"])
        for row in rows.to_dict("records")
    )  # fmt: skip


def _figure(asked: str, material: Material) -> Trace:
    name = f"figure_{asked.removeprefix('figure:').replace('-', '_')}"
    if name not in material.sidecars:
        known = [f"figure:{key.removeprefix('figure_')}" for key in material.sidecars if key.startswith("figure_")]
        raise TraceError(f"there is no {asked}. {_near(asked, known)}")
    return Trace(asked, None, "a figure", "", asked, "", "", tuple(material.sidecars[name]["run_ids"]), False,
                 steps([name], material), ())  # fmt: skip


def _summary(asked: str, key: str, column: str, material: Material) -> Trace:
    rows = {str(row["key"]): row for row in material.summary.to_dict("records")}
    if key not in rows or column != "value":
        raise TraceError(f"the summary has no {key}:{column}. {_near(key, rows)}")
    row = rows[key]
    shown = fmt.total(row["value"], str(row["unit"]), summary.WHY.get(key, ""))
    found = tuple(dict.fromkeys(run for name in SUMMED for run in material.sidecars[name]["run_ids"]))
    return Trace(asked, None if fmt.is_missing(row["value"]) else row["value"], shown.text, "", key,
                 f"counted or added up over the tables {', '.join(SUMMED)}", shown.why, found, False,
                 steps(SUMMED, material), ())  # fmt: skip


def _near(name: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.4)
    return f"Nearest: {', '.join(close)}." if close else f"There are {', '.join(list(known)[:6])}."


def store_of(path: str) -> str | None:
    """The store that a raw, derived or manifest file belongs to; None for a file of the whole booking."""
    parts = path.split("/")
    for folder in ("raw", "derived", "sessions"):
        if folder in parts[:-1]:
            return parts[parts.index(folder) + 1].removesuffix(".json")
    return None


def is_of_others(path: str, stores: Set[str | None]) -> bool:
    """Whether `path` belongs to another store than those that a row is made of; never where these are not known."""
    store = store_of(path)
    return bool(stores) and store is not None and store not in stores


LISTED = 12


def lines(found: Trace) -> Iterator[tuple[str, str]]:
    """The trace as label and text, in the order shown. The page's panel composes the same (reports/script/trace.js)."""
    yield "address", found.address
    yield "value", f"missing: {found.why}" if found.why else f"{found.shown} {found.unit}".strip()
    if found.meaning:
        yield "meaning", found.meaning
    count = len(found.owners)
    of = "of this row" if found.of_row else "of the whole table"
    more = f" and {count - LISTED} more" if count > LISTED else ""
    yield f"from ({of})", ", ".join(found.owners[:LISTED]) + more if count else "no run"
    stores = {store_of(raw.file) for raw in found.raw} - {None}
    for step in found.steps:
        if is_of_others(step.output, stores):
            continue
        yield "rule", f"{step.rule}: {step.script}, code {step.code[:12]}, wrote {step.output}"
        named = [path for path in step.inputs if not is_of_others(path, stores)]
        for path in named:
            yield "input", f"{path} sha256 {step.inputs[path]}"
        if len(named) < len(step.inputs):
            yield "input", f"and {len(step.inputs) - len(named)} files of other sessions"
    for raw in found.raw:
        where = f" lines {raw.lines[0]} to {raw.lines[1]}" if raw.lines else ""
        yield "raw", f"{raw.file}{where} sha256 {raw.sha256} ({raw.what})"
