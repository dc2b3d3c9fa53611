"""What a report says of the booking's requests and of who sends them."""

from __future__ import annotations

from typing import Any

from benchbook.config.records import Booking, Workload
from benchbook.config.workload import PARAMETERS
from benchbook.measure.specification import NATIVE

_LABELS = {
    "input_tokens": "input tokens", "output_tokens": "output tokens", "prefix_tokens": "shared prefix, tokens",
    "prefixes": "shared prefixes", "tools": "tool schemas", "shared_tokens": "instructions and tools, tokens",
    "chars_per_token": "characters taken for a token", "path": "file of prompts", "repeat": "file is begun again",
}  # fmt: skip


def prompts(workload: Workload) -> dict[str, Any]:
    """Label to value, in the order shown; what is as a booking without the keys has it goes without saying."""
    told: dict[str, Any] = {}
    if workload.kind != "random":
        told["workload"] = workload.kind
    if workload.endpoint != "completions":
        told["endpoint"] = workload.endpoint
    for name, value in workload.content.items():
        if value is not False:
            told[_LABELS[name]] = "yes" if value is True else _length(value) if isinstance(value, dict) else value
    return told


def client(booking: Booking) -> str:
    """The load clients in words."""
    engine = booking.client_engine.name if booking.client_engine else ""
    told = ["Benchbook's own" if name == NATIVE else f"vllm bench serve of {engine}" for name in booking.client]
    kept = "" if booking.workload.connections == "kept" else ", a new connection each"
    return f"{' and '.join(told)}{', by turns' * (len(told) > 1)}, closed loop{kept}"


def repeats(workload: Workload) -> int | str:
    """Runs of each concurrency in a session: one number where it is the same for all."""
    numbers = list(workload.repeats.values())
    if len(set(numbers)) == 1:
        return numbers[0]
    return ", ".join(f"{number} at {level}" for level, number in workload.repeats.items())


def _length(value: dict[str, Any]) -> str:
    """A distribution of lengths in words."""
    name = value["distribution"]
    return f"{name} ({', '.join(f'{parameter} {value[parameter]:g}' for parameter in PARAMETERS[name])})"
