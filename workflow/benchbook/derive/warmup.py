"""Warmup readings as a table, and what they and the gate say of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.derive.run_key import client_of
from benchbook.engines.late_work import late_work
from benchbook.measure import warmup as rules
from benchbook.rawdata import RawSession


def table(sessions: Sequence[RawSession]) -> pd.DataFrame:
    """Table `warmup` of one store's usable sessions; verdict and gate are computed again from records and log.

    It is the session's own rule that is applied, so a verdict here that differs from the one recorded while measuring
    would be a fault of one of the two; the recorded one is kept in the raw folder.
    """
    rows: list[dict[str, Any]] = []
    for session in sessions:
        if not session.usable:
            continue
        rule = rules.rule(session.spec["warmup"])
        by_concurrency: dict[int, list[dict[str, Any]]] = {}
        for record in session.readings:
            by_concurrency.setdefault(record["concurrency"], []).append(record)
        for concurrency, records in by_concurrency.items():
            readings = [rules.reading(record, session.log_of(record)) for record in records]
            verdict = rule.judge(readings)
            gate = _gate(rule, readings, session, concurrency)
            tpots = [record["tpot_mean_ms"] if record["status"] == "ok" else None for record in records]
            for number, (record, tpot) in enumerate(zip(records, tpots, strict=True), start=1):
                before = tpots[number - 2] if number > 1 else None
                log = session.log_of(record)
                rows.append({
                    "reading_id": f"{session.session_id}/{record['run']}",
                    "session_id": session.session_id,
                    "slot": session.spec["slot"],
                    "arm": session.spec["arm"],
                    "concurrency": concurrency,
                    "reading": number,
                    "duration_s": record["t_end_s"] - record["t_start_s"] if record["status"] == "ok" else None,
                    "throughput_tok_s": record["throughput_tok_s"],
                    "tpot_mean_ms": tpot,
                    "change": tpot / before - 1 if tpot is not None and before else None,
                    "stalls": record.get("stalls"),
                    "late_work": len(late_work(log)) if log is not None else None,
                    "verdict": verdict.verdict,
                    "verdict_reason": verdict.reason,
                    "gate": gate.outcome if gate else None,
                    "gate_reason": gate.reason if gate else None,
                })  # fmt: skip
    return schema.check(pd.DataFrame(rows), "warmup") if rows else schema.empty("warmup")


def of_run(readings: pd.DataFrame, spec: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[str | None, bool]:
    """CONVERGED or UNWARMED for one run, None where no warmup was run, and whether a run measured later replaces it.

    `readings`: the session's rows of table `warmup`. A run counts as warm when the readings were accepted and the gate
    passed: for those measured first, the first time; for those measured once more, the second.
    """
    mine = readings[readings["concurrency"] == record["concurrency"]]
    if mine.empty:
        return None, False
    verdict, gate = str(mine["verdict"].iloc[0]), mine["gate"].iloc[0]
    if pd.isna(gate):
        return verdict, False
    again = record["run"] in _spares(spec)
    replaced = gate == rules.RERUN_PASSED and not again
    return (rules.UNWARMED if gate == rules.FAILED or replaced else verdict), replaced


def is_spare(spec: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Whether a run was measured once more because the gate over the first ones failed."""
    return record["run"] in _spares(spec)


def measured_again(session: RawSession) -> int:
    """How many runs the session measured once more because the gate failed."""
    return sum(record["run"] in _spares(session.spec) for record in session.runs)


def _gate(
    rule: rules.Rule, readings: Sequence[rules.Reading], session: RawSession, concurrency: int
) -> rules.Gate | None:
    spares = _spares(session.spec)
    """The gate over the runs of the client that sent the readings: another's figures differ by what it is, not by
    whether the server stayed warm."""
    runs: tuple[list[rules.Reading], list[rules.Reading]] = [], []
    first = client_of(session.readings[0])
    for record in session.runs:
        if record["concurrency"] == concurrency and client_of(record) == first:
            runs[record["run"] in spares].append(rules.reading(record, session.log_of(record)))
    return rules.gate(rule, readings, *runs)


def _spares(spec: Mapping[str, Any]) -> set[str]:
    return {run["name"] for block in spec["plan"] for run in block.get("rerun", [])}
