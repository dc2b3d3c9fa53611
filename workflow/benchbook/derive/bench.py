"""A session's records and results to its requests and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive import requests, results, runs, warmup
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
    seen: set[str] = set()
    for session in usable:
        spec = session.spec
        known = verdicts[verdicts["session_id"] == session.session_id]
        busy_until_s: float | None = None
        for record in sorted(session.readings + session.runs, key=lambda item: float(item["t_start_s"])):
            result = session.result(record)
            told = results.read(result) if result is not None else None
            listed = requests.columns(session.session_id, spec, record, told) if told is not None else {}
            if record["repeat"] is not None:
                seen.add(record["run"])
                request_frames.append(requests.table(listed))
                if result is not None and told is not None:
                    noted = results.chunks(result, told.ok)
                    chunk_frames.append(requests.chunk_table(session.session_id, spec, record, noted))
                verdict, replaced = warmup.of_run(known, spec, record)
                scrapes = session.scrapes(record)
                run_rows.append(
                    runs.row(
                        session.session_id, spec, record, result["duration"] if result else None,
                        request_frames[-1], counted=Counted(*scrapes) if scrapes else None,
                        tokens_from=told.counted_by if told is not None else None,
                        late_work=_late_work(session, record),
                        warmup_verdict=verdict, replaced=replaced, spare=warmup.is_spare(spec, record),
                        expected_failure=expected(expectations, spec["arm"], "run", "requests"),
                        busy_until_s=busy_until_s, thresholds=thresholds,
                    )
                )
            last_s = _last_s(listed)
            busy_until_s = record["t_end_s"] if last_s is None else last_s
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


def _last_s(listed: requests.Columns) -> float | None:
    """Unix time at which the last request ended; None where no end is known."""
    ends = listed.get("t_last_s", np.empty(0))
    return None if np.isnan(ends).all() else float(np.nanmax(ends))


def _late_work(session: RawSession, record: Mapping[str, Any]) -> int | None:
    log = session.log_of(dict(record))
    return None if log is None else len(late_work(log))


def expected(expectations: Expectations, arm: str, *kinds: str) -> bool:
    """Whether the booking declares a failure of one of these kinds as expected for this arm."""
    return any(item["arm"] == arm and item["what"] in kinds for item in expectations)
