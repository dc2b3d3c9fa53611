"""Tables `client`, `scheduler` and `reconciliation` of one store: each run as others than its requests saw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from benchbook.derive import client, reconcile, scheduler
from benchbook.derive.counters import Counted
from benchbook.engines.vllm_stats import stat_lines
from benchbook.rawdata import RawSession


def tables(
    sessions: Sequence[RawSession], requests: pd.DataFrame, runs: pd.DataFrame, thresholds: Mapping[str, float]
) -> dict[str, pd.DataFrame]:
    """The three tables by name, from a store's sessions and its tables `requests` and `runs`; a row for each run that
    was started."""
    rows: dict[str, list[dict[str, Any]]] = {"client": [], "scheduler": [], "reconciliation": []}
    places = requests.groupby("run_id", sort=False).indices
    for session in sessions:
        if not session.usable:
            continue
        watched = scheduler.scrapes(session.telemetry)
        lines = stat_lines(session.server_log, session.ending["t_launch_s"])
        once = counts_steps_once(session.spec["server"]["args"])
        spans = {record["run"]: (record["t_start_s"], record["t_end_s"]) for record in session.readings + session.runs}
        records = {f"{session.session_id}/{record['run']}": record for record in session.runs}
        for run in runs[runs["run_id"].isin(list(records))].to_dict("records"):
            record = records[run["run_id"]]
            mine = requests.iloc[places.get(run["run_id"], [])]
            scrapes = session.scrapes(record)
            counted = Counted(*scrapes) if scrapes else None
            rows["client"].append(client.row(run, mine, record.get("client"), counted, thresholds))
            rows["scheduler"].append(
                scheduler.row(run, mine, watched, counted, once, thresholds["frontend_share_max"])
            )
            others = [span for name, span in spans.items() if name != record["run"]]
            logged = reconcile.log_tokens(lines, *spans[record["run"]], others)
            rows["reconciliation"] += reconcile.rows(run, counted, logged, thresholds["reconcile_max"])
    return {
        "client": client.table(rows["client"]),
        "scheduler": scheduler.table(rows["scheduler"]),
        "reconciliation": reconcile.table(rows["reconciliation"]),
    }


def counts_steps_once(server_args: Mapping[str, Any]) -> bool:
    """Whether vllm:iteration_tokens_total counts an engine step once: one engine and one API server (engines.md 3).

    vLLM starts as many API servers as engines unless told otherwise.
    """
    engines = int(server_args.get("data-parallel-size") or 1)
    return engines == 1 and int(server_args.get("api-server-count") or engines) == 1
