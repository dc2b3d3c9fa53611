"""The columns that name a run in every table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEY = ("run_id", "session_id", "slot", "arm", "concurrency", "repeat")


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
