"""What the engine's scheduler did during a run: running, waiting, and requests that were stuck before it.

Requests can be stuck in the API server, which renders and tokenizes, where no engine metric sees them: `running` climbs
slowly while `waiting` stays 0. The client knows how many it has in flight; what the engine does not know of is outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive.clip import largest, mean
from benchbook.derive.counters import Counted
from benchbook.derive.run_key import KEY

SCRAPES_MIN = 4
SCRAPES_ON_END = 3
_GAUGES = {"running": "vllm:num_requests_running", "waiting": "vllm:num_requests_waiting",
           "kv_usage": "vllm:kv_cache_usage_perc"}  # fmt: skip


def scrapes(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Gauges of every scrape among a session's telemetry lines: t_s, running and waiting (summed over engines),
    kv_usage (the fullest engine's); null where the server has no such gauge."""
    rows = []
    gauges: dict[str, str | None] = {}  # by full name, which a session's scrapes have in common
    for line in lines:
        if line["src"] == "metrics":
            values: dict[str, list[float]] = {name: [] for name in _GAUGES}
            for full, value in line["v"].items():
                if full not in gauges:
                    family = full.partition("{")[0]
                    gauges[full] = next((name for name, known in _GAUGES.items() if known == family), None)
                if (gauge := gauges[full]) is not None:
                    values[gauge].append(value)
            rows.append([
                line["t"],
                *(sum(values[name]) if values[name] else None for name in ("running", "waiting")),
                max(values["kv_usage"]) if values["kv_usage"] else None,
            ])  # fmt: skip
    return pd.DataFrame(rows, columns=["t_s", *_GAUGES], dtype=float).drop_duplicates("t_s", ignore_index=True)


def row(
    run: Mapping[Any, Any], requests: pd.DataFrame, watched: pd.DataFrame, counted: Counted | None,
    steps_count_once: bool, frontend_share: float,
) -> dict[str, Any]:  # fmt: skip
    """Row of table `scheduler` for one run.

    `run`: its row of table `runs`; `requests`: its rows of table `requests`; `watched`: `scrapes` of its session;
    `steps_count_once`: one API server and one engine, or each counts a step again (engines.md 3); `frontend_share`:
    share of the requests in flight that may be outside the engine.
    """
    known = requests["t_send_s"].notna().all() and requests["t_last_s"].notna().all() and len(requests) > 0
    during = _with_requests_in_flight(watched, requests) if known else _between_start_and_end(watched, run)
    outside = mean(during["outside"])
    share = outside / float(during["in_flight"].mean()) if outside is not None else None
    stuck = _stuck(during, share, frontend_share)
    steps = counted.difference("vllm:iteration_tokens_total_count") if counted and steps_count_once else None
    tokens = counted.difference("vllm:generation_tokens_total") if counted else None
    preemptions = counted.difference("vllm:num_preemptions_total") if counted else None
    return {
        **{name: run[name] for name in KEY},
        "scrapes": len(during),
        "running_mean": mean(during["running"]),
        "waiting_mean": mean(during["waiting"]),
        "waiting_p50": float(during["waiting"].median()) if during["waiting"].notna().any() else None,
        "waiting_max": largest(during["waiting"]),
        "outside_mean": outside,
        "outside_share": share,
        "engine_arrival_rate_req_s": arrival_rate_req_s(during, requests, frontend_share) if stuck else None,
        "frontend": stuck,
        "kv_cache_usage_max": largest(during["kv_usage"]),
        "preemptions": preemptions,
        "prefix_hit_rate": counted.prefix_hit_rate if counted else None,
        "engine_steps": steps,
        "tokens_per_engine_step": tokens / steps if tokens is not None and steps else None,
    }


def table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return schema.check(pd.DataFrame(list(rows)), "scheduler") if rows else schema.empty("scheduler")


def arrival_rate_req_s(during: pd.DataFrame, requests: pd.DataFrame, frontend_share: float) -> float | None:
    """Requests that entered the engine a second, over the stretches between scrapes at which some were outside.

    What entered by a time is what is in the engine plus what has left it: the client knows how many ended.
    """
    ends = np.sort(requests["t_last_s"].to_numpy(float))
    times = during["t_s"].to_numpy(float)
    entered = (during["running"] + during["waiting"]).to_numpy(float) + np.searchsorted(ends, times)
    crowded = _crowded(during, frontend_share)
    stretches = crowded[:-1] & crowded[1:]
    spent_s = float(np.diff(times)[stretches].sum())
    return float(np.diff(entered)[stretches].sum()) / spent_s if spent_s else None


def _with_requests_in_flight(watched: pd.DataFrame, requests: pd.DataFrame) -> pd.DataFrame:
    """Scrapes from the first send to the last end of a run, with the client's in_flight and how many are outside."""
    sends, ends = (np.sort(requests[name].to_numpy(float)) for name in ("t_send_s", "t_last_s"))
    inside = watched[(watched["t_s"] > sends[0]) & (watched["t_s"] < ends[-1])].copy()
    times = inside["t_s"].to_numpy(float)
    inside["in_flight"] = (np.searchsorted(sends, times) - np.searchsorted(ends, times)).astype(float)
    inside["outside"] = (inside["in_flight"] - inside["running"] - inside["waiting"]).clip(lower=0)
    return pd.DataFrame(inside)


def _between_start_and_end(watched: pd.DataFrame, run: Mapping[Any, Any]) -> pd.DataFrame:
    """Scrapes of a run in which some request's end is not known, so that neither is how many were in flight."""
    if pd.isna(run["t_start_s"]) or pd.isna(run["t_end_s"]):
        return watched.iloc[:0].assign(in_flight=[], outside=[])
    inside = watched[(watched["t_s"] > run["t_start_s"]) & (watched["t_s"] < run["t_end_s"])]
    return pd.DataFrame(inside).assign(in_flight=np.nan, outside=np.nan)


def _crowded(during: pd.DataFrame, frontend_share: float) -> np.ndarray:
    crowded: np.ndarray = (during["outside"] > frontend_share * during["in_flight"]).to_numpy(bool)
    return crowded


def _stuck(during: pd.DataFrame, share: float | None, frontend_share: float) -> bool | None:
    """More than `frontend_share` of the requests, and more than one, outside on average and at three scrapes on end,
    while none waits inside. A wave that has just been sent is outside too, but not for long."""
    if share is None or len(during) < SCRAPES_MIN:
        return None
    many = share > frontend_share and float(during["outside"].mean()) > 1
    lasting = "1" * SCRAPES_ON_END in "".join("1" if flag else "0" for flag in _crowded(during, frontend_share))
    return bool(many and lasting and float(during["waiting"].mean()) < float(during["outside"].mean()) * frontend_share)
