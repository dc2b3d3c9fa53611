"""Which keys each kind of workload has; a key that is misspelt must not be passed over in silence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.errors import WorkloadError

NEEDED = {
    "random": {"input_tokens", "output_tokens"},
    "shared-prefix": {"prefix_tokens", "prefixes", "input_tokens", "output_tokens"},
    "agentic": {"output_tokens"},
    "file": {"path"},
}
OPTIONAL = {
    "random": {"token_ids", "text"},
    "shared-prefix": {"token_ids", "text", "prefix_seed"},
    "agentic": {"tools", "input_tokens", "shared_tokens", "chars_per_token", "prefix_seed", "text"},
    "file": {"output_tokens", "seed_order", "repeat"},
}


def kind(workload: Mapping[str, Any]) -> str:
    """The workload's kind. Raises WorkloadError where it is none of ours, lacks a key or has one too many."""
    name = workload.get("kind")
    if name not in NEEDED:
        raise WorkloadError(f"workload: kind {name!r} is not one of {', '.join(NEEDED)}")
    given = set(workload) - {"kind"}
    if missing := NEEDED[name] - given:
        raise WorkloadError(f"workload {name}: {', '.join(sorted(missing))} must be given")
    if unknown := given - NEEDED[name] - OPTIONAL[name]:
        allowed = ", ".join(sorted(NEEDED[name] | OPTIONAL[name]))
        raise WorkloadError(f"workload {name}: no such key {', '.join(sorted(unknown))}; there are {allowed}")
    for key in ("text", "repeat"):
        if not isinstance(workload.get(key, False), bool):
            raise WorkloadError(f"workload {name}: {key} is true or false, not {workload[key]!r}")
    return str(name)


def whole(workload: Mapping[str, Any], key: str, default: int | None = None, least: int = 1) -> int:
    """A whole number of at least `least` under `key`. Raises WorkloadError."""
    value = workload.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise WorkloadError(f"workload {workload['kind']}: {key} is a whole number from {least} up, not {value!r}")
    return value


def seed(workload: Mapping[str, Any], key: str) -> int:
    """A seed under `key`, any whole number, 0 where there is none. Raises WorkloadError."""
    value = workload.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int):
        raise WorkloadError(f"workload {workload['kind']}: {key} is a whole number, not {value!r}")
    return value
