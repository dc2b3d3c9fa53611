"""The prompts of a run: made before it, from a workload as it stands in a session's specification, and a seed.

The same arguments give the same list anywhere, whatever the Python, so every arm of a comparison gets the same
requests; a longer list of the same seed begins with the shorter one. Another seed gives other prompts, so no server
sees one twice unless the workload says so. Each kind's keys are in its module's docstring.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.workloads import agentic, from_file, independent, shared_prefix
from benchbook.measure.client.workloads.content import token_range
from benchbook.measure.client.workloads.form import kind

__all__ = ["count_in", "prompts", "repeats_by_design", "token_range"]


def prompts(workload: Mapping[str, Any], count: int, seed: int, offset: int = 0) -> list[Prompt]:
    """`count` prompts. `offset`: how many were given out before from the same file (kind `file` only).

    Raises WorkloadError where the workload says something that cannot be made, or its file is unreadable or too short.
    """
    match kind(workload):
        case "random":
            return independent.prompts(workload, count, seed)
        case "shared-prefix":
            return shared_prefix.prompts(workload, count, seed)
        case "agentic":
            return agentic.prompts(workload, count, seed)
        case _:
            return from_file.prompts(workload, count, seed, offset)


def count_in(workload: Mapping[str, Any]) -> int | None:
    """How many different prompts the workload can give; None: as many as are asked for.

    For a file with `repeat: true` this is the length of one round. Raises WorkloadError as `prompts` does.
    """
    return from_file.count_in(workload) if kind(workload) == "file" else None


def repeats_by_design(workload: Mapping[str, Any]) -> bool:
    """Whether a server may find in its prefix cache what it was sent before, because the workload is meant to be so."""
    return kind(workload) in ("shared-prefix", "agentic") or bool(workload.get("repeat", False))
