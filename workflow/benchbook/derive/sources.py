"""Which raw files, and which lines of them, stand behind each run, warmup reading and session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchbook import schema
from benchbook.rawdata import RawSession

_OF_A_RUN = {
    "bench.json": "what the load client noted of every request",
    "record.json": "when it ran, how it ended, and what sending cost",
    "bench.log": "what the load client printed",
    "metrics_before.prom.gz": "/metrics just before",
    "metrics_after.prom.gz": "/metrics just after",
}
_OF_A_SESSION = {
    "server.log": "the server's log",
    "session.json": "how the session ended, and what sampling cost",
    "environment.json": "what it ran on",
    "command.json": "the commands of server and client",
    "events.jsonl": "its phases with their times",
    "telemetry.jsonl": "samples of node, processes, GPUs and /metrics",
    "spec.json": "what was asked for",
}


def table(store: str, sessions: Sequence[RawSession]) -> pd.DataFrame:
    """Table `sources` of the sessions of one store."""
    rows = [row for session in sessions for row in _of_session(store, session)]
    return schema.check(pd.DataFrame(rows), "sources") if rows else schema.empty("sources")


def _of_session(store: str, session: RawSession) -> Iterator[dict[str, Any]]:
    base = f"raw/{store}/{session.session_id}"

    def row(owner: str, kind: str, file: str, what: str, lines: tuple[int, int] | None = None) -> dict[str, Any]:
        first, last = lines or (None, None)
        return {"owner_id": owner, "session_id": session.session_id, "kind": kind, "file": f"{base}/{file}",
                "sha256": session.measured[file], "first_line": first, "last_line": last, "what": what}  # fmt: skip

    for file, what in _OF_A_SESSION.items():
        if file in session.measured:
            yield row(session.session_id, "session", file, what)
    times = np.array([sample["t"] for sample in session.telemetry], dtype=float)
    for kind, folder, records in (("run", "runs", session.runs), ("reading", "warmup", session.readings)):
        for record in records:
            owner = f"{session.session_id}/{record['run']}"
            for file, what in _OF_A_RUN.items():
                if f"{folder}/{record['run']}/{file}" in session.measured:
                    yield row(owner, kind, f"{folder}/{record['run']}/{file}", what)
            logged, sampled = session.log_lines(record), _sampled(times, record)
            if logged and "server.log" in session.measured:
                yield row(owner, kind, "server.log", "what the server logged meanwhile", logged)
            if sampled and "telemetry.jsonl" in session.measured:
                yield row(owner, kind, "telemetry.jsonl", "samples taken meanwhile", sampled)


def _sampled(times: npt.NDArray[np.float64], record: Mapping[str, Any]) -> tuple[int, int] | None:
    """First and last line, from 1, of the samples from the start to the end of a run; None where there is none."""
    inside = np.flatnonzero((times >= float(record["t_start_s"])) & (times <= float(record["t_end_s"])))
    return (int(inside[0]) + 1, int(inside[-1]) + 1) if len(inside) else None
