"""The columns that name a run in every table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEY = ("run_id", "session_id", "slot", "arm", "concurrency", "repeat")


UNNAMED_CLIENT = "vllm-bench"  # of records and plans from before there was another


def client_of(record: Mapping[str, Any]) -> str:
    """Name of the load client that sent the run or reading of a record."""
    return str(record.get("client_name", UNNAMED_CLIENT))


def planned_client(run: Mapping[str, Any]) -> str:
    """Name of the load client that is to send a run of a specification's plan."""
    return str(run.get("client", UNNAMED_CLIENT))


def run_key(session_id: str, spec: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """KEY of a run, from its session, specification and record."""
    return {
        "run_id": f"{session_id}/{record['run']}",
        "session_id": session_id,
        "slot": spec["slot"],
        "arm": spec["arm"],
        "concurrency": record["concurrency"],
        "repeat": record["repeat"],
    }
