"""Is the recording one of what the booking file says? What both name must be the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchbook.adopt.recording import RecordedSession
from benchbook.errors import StoreError


def check(recorded: RecordedSession, arguments: Any, spec: Mapping[str, Any]) -> None:
    """Raise StoreError with everything in which `recorded` contradicts the specification: prompts and input lengths of
    its runs, GPUs, and `arguments`, what the server's log prints of its own (facts.read's `args`)."""
    found = [*_runs(recorded, spec), *_arguments(arguments, spec), *_node(recorded, spec)]
    if found:
        raise StoreError(f"the recording is not of this booking: {'; '.join(found)}. Correct one of the two.")


def _runs(recorded: RecordedSession, spec: Mapping[str, Any]) -> Iterator[str]:
    prompts = {block["concurrency"]: block["num_prompts"] for block in spec["plan"]}
    asked = spec["workload"]["input_tokens"]
    for item in recorded.runs:
        planned = prompts.get(int(item.result["max_concurrency"]))
        if planned is not None and item.result["num_prompts"] != planned:
            yield f"{item.source} has {item.result['num_prompts']} prompts, the booking plans {planned}"
        lengths = [length for length in item.result["input_lens"] if length]
        mean = sum(lengths) / len(lengths) if lengths else asked
        if abs(mean / asked - 1) > 0.05:
            yield f"{item.source} has prompts of {mean:.0f} tokens on average, the booking says {asked}"


def _arguments(told: Any, spec: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(told, dict):
        return
    for flag, value in spec["server"]["args"].items():
        logged = told.get(flag.replace("-", "_"))
        if logged is not None and str(logged) != str(value):
            yield f"the server's log says {flag} {logged}, the booking {value}"


def _node(recorded: RecordedSession, spec: Mapping[str, Any]) -> Iterator[str]:
    gpus = recorded.node.get("gpus")
    if gpus is not None and len(gpus) != spec["node"]["gpus"]:
        yield f"it was made on {len(gpus)} GPUs, node {spec['node']['name']} has {spec['node']['gpus']}"
