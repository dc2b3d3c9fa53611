"""A session's records and results to its requests and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive import ragged, requests, results, runs, warmup
from benchbook.derive.counters import Counted
from benchbook.engines.late_work import late_work
from benchbook.rawdata import RawSession

Expectations = Sequence[Mapping[str, Any]]


def tables(
    sessions: Sequence[RawSession], verdicts: pd.DataFrame, thresholds: Mapping[str, float], expectations: Expectations
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Tables `requests`, `chunks` and `runs` of one store.

    `verdicts`: its table `warmup`. `expectations`: the booking's.

    Runs of usable sessions only: those of a session that was set aside stay on disk and enter no figure. A planned
    run without a record gets a row that says why.
    """
    usable = [session for session in sessions if session.usable]
    request_frames: list[pd.DataFrame] = []
    chunk_frames: list[pd.DataFrame] = []
    run_rows: list[dict[str, Any]] = []
    for session in usable:
        read = _read(session)
        request_frames.append(requests.table(requests.joined([one.requests for one in read if one.requests])))
        chunk_frames.append(schema.concat([one.chunks for one in read], "chunks"))
        known = verdicts[verdicts["session_id"] == session.session_id]
        places = ragged.ends(np.array([one.count for one in read], int)).tolist()
        for one, (first, last) in zip(read, pairwise(places), strict=True):
            listed = request_frames[-1].iloc[first:last]
            run_rows.append(_run_row(session, one, listed, known, thresholds, expectations))
    seen = {record["run"] for session in usable for record in session.runs}
    if usable:
        end = usable[-1]
        spec = end.spec
        reason = end.ending["reason"] or "the session ended before this run"
        foreseen = expected(expectations, spec["arm"], "boot", "run")
        run_rows += [
            runs.never_measured(end.session_id, spec, block, run, f"not measured: {reason}", foreseen)
            for block in spec["plan"]
            for run in block["runs"]
            if run["name"] not in seen
        ]
    return schema.concat(request_frames, "requests"), schema.concat(chunk_frames, "chunks"), runs.table(run_rows)


@dataclass(frozen=True)
class _Read:
    """What one run left: its record, its columns of table `requests` (empty without a result) and its `chunks`;
    `busy_until_s`: when the last request of the run before it ended, or the reading before it."""

    record: dict[str, Any]
    duration_s: float | None
    requests: requests.Columns
    chunks: pd.DataFrame
    tokens_from: str | None
    busy_until_s: float | None

    @property
    def count(self) -> int:
        return len(self.requests["ok"]) if self.requests else 0


def _read(session: RawSession) -> list[_Read]:
    """The session's runs in the order they were started. Only one result is held as it was written at any time; those
    of readings are not looked at, which an archive is without."""
    found = []
    busy_until_s: float | None = None
    for record in sorted(session.readings + session.runs, key=lambda item: float(item["t_start_s"])):
        if record["repeat"] is None:
            busy_until_s = record["t_end_s"]
            continue
        result = session.result(record)
        told = results.read(result) if result is not None else None
        listed = requests.columns(session.session_id, session.spec, record, told) if told is not None else {}
        noted = results.chunks(result, told.ok) if result is not None and told is not None else results.NO_CHUNKS
        found.append(_Read(
            record, result["duration"] if result else None, listed,
            requests.chunk_table(session.session_id, session.spec, record, noted),
            told.counted_by if told is not None else None, busy_until_s,
        ))  # fmt: skip
        ends = listed.get("t_last_s", np.empty(0))
        busy_until_s = record["t_end_s"] if np.isnan(ends).all() else float(np.nanmax(ends))
    return found


def _run_row(
    session: RawSession, one: _Read, listed: pd.DataFrame, known: pd.DataFrame, thresholds: Mapping[str, float],
    expectations: Expectations,
) -> dict[str, Any]:  # fmt: skip
    spec, record = session.spec, one.record
    verdict, replaced = warmup.of_run(known, spec, record)
    scrapes = session.scrapes(record)
    return runs.row(
        session.session_id, spec, record, one.duration_s, listed, counted=Counted(*scrapes) if scrapes else None,
        tokens_from=one.tokens_from, late_work=_late_work(session, record), warmup_verdict=verdict, replaced=replaced,
        spare=warmup.is_spare(spec, record),
        expected_failure=expected(expectations, spec["arm"], "run", "requests"), busy_until_s=one.busy_until_s,
        thresholds=thresholds,
    )


def _late_work(session: RawSession, record: Mapping[str, Any]) -> int | None:
    log = session.log_of(dict(record))
    return None if log is None else len(late_work(log))


def expected(expectations: Expectations, arm: str, *kinds: str) -> bool:
    """Whether the booking declares a failure of one of these kinds as expected for this arm."""
    return any(item["arm"] == arm and item["what"] in kinds for item in expectations)
