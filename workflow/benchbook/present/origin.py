"""Where a table or a figure comes from, as the line under it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchbook.present.address import slug
from benchbook.present.format import HASH_LENGTH

SHOWN = 6
FIRST, LAST = 3, 2


@dataclass(frozen=True)
class Source:
    """A run id, and the id of its row in the run index ("" when it is not one of the booking's runs)."""

    name: str
    anchor: str


@dataclass(frozen=True)
class Origin:
    """`head` and `tail` are the runs named in the line, `runs` all of them; `all_runs`: they are all of the index."""

    name: str
    rule: str
    script: str
    code: str
    head: tuple[Source, ...]
    tail: tuple[Source, ...]
    runs: tuple[Source, ...]
    all_runs: bool
    inputs: tuple[tuple[str, str], ...]


def _named(runs: Sequence[Source]) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    if len(runs) <= SHOWN:
        return tuple(runs), ()
    return tuple(runs[:FIRST]), tuple(runs[-LAST:])


def _origin(name: str, rule: str, script: str, code: str, ids: Sequence[str], inputs: Mapping[str, str],
            runs: pd.DataFrame) -> Origin:
    known = set(runs["run_id"])
    sources = [Source(run, f"run-{slug(run)}" if run in known else "") for run in ids]
    head, tail = _named(sources)
    return Origin(name, rule, script, code, head, tail, tuple(sources), bool(ids) and set(ids) == known,
                  tuple(sorted(inputs.items())))


def origin(name: str, sidecar: Mapping[str, Any], runs: pd.DataFrame) -> Origin:
    """The origin told by a sidecar. Raises KeyError when it lacks rule, script, code_fingerprint, run_ids or inputs."""
    return _origin(name, str(sidecar["rule"]), str(sidecar["script"]), str(sidecar["code_fingerprint"])[:HASH_LENGTH],
                   [str(run) for run in sidecar["run_ids"]], dict(sidecar["inputs"]), runs)


def summary_origin(parts: Sequence[Origin], runs: pd.DataFrame) -> Origin:
    """The origin of the summary's counts and sums: that of the tables they are taken from."""
    ids = dict.fromkeys(run.name for part in parts for run in part.runs)
    inputs = dict(item for part in parts for item in part.inputs)

    def joined(texts: Sequence[str]) -> str:
        return ", ".join(dict.fromkeys(texts))

    return _origin("summary", joined([part.rule for part in parts]), joined([part.script for part in parts]),
                   joined([part.code for part in parts]), list(ids), inputs, runs)
