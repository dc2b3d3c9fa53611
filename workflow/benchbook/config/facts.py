"""What a report says of its booking file, as plain values that travel to the report's script as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.config import spec
from benchbook.config.check import schema
from benchbook.config.load import Booking

_MEANINGS = {
    "steady_window_min_s": ("s", "at least", "width of a run's steady window"),
    "steady_window_min_e2el": ("mean E2EL", "at least", "width of a run's steady window, in request durations"),
    "little_pass": ("", "at most", "Little's check: size of delta that passes"),
    "little_warn": ("", "at most", "Little's check: size of delta that only warns"),
    "telemetry_coverage_min": ("", "at least", "share of the window that samples describe"),
}


def report_facts(booking: Booking) -> dict[str, Any]:
    """Fields of present.context.ReportInput that come from the booking file; JSON values only.

    Thresholds stand beside the method's own (the schema's defaults), so that a relaxed one can be named.
    """
    method = schema("booking")["properties"]["thresholds"]["properties"]
    node, workload, warmup = booking.node, booking.workload, booking.warmup
    return {
        "booking_id": booking.id,
        "title": booking.title,
        "question": booking.question or "",
        "node": {"name": node.name, "description": node.description, "GPUs": node.gpus},
        "model": booking.model.name,
        "workload": {
            "input tokens": workload.input_tokens,
            "output tokens": workload.output_tokens,
            "concurrency": ", ".join(map(str, workload.concurrency)),
            "prompts per run": ", ".join(str(workload.num_prompts(level)) for level in workload.concurrency),
            "repeats per session": workload.repeats,
            "load client": f"vllm bench serve of {booking.client_engine.name}, closed loop",
            "boots": "cold (empty compile cache)" if booking.schedule.cold_boot else "warm (the node's compile cache)",
        },
        "arms": [
            {"name": arm.name, "description": arm.description or "", "args": _told(arm.args, arm.env)}
            for arm in booking.arms
        ],
        "warmup_rule": (
            f"{warmup.rule}: the last two readings within {100 * warmup.tolerance:g} % in mean TPOT; at least "
            f"{warmup.min_readings}, at most {warmup.max_readings} readings, each one wave at the run's concurrency."
        ),
        "thresholds": [
            {"name": name, "value": value, "default": method[name]["default"], "unit": unit, "rule": rule,
             "meaning": meaning}
            for name, (unit, rule, meaning) in _MEANINGS.items()
            for value in [getattr(booking.thresholds, name)]
        ]
        + [
            {"name": "warmup.tolerance", "value": warmup.tolerance,
             "default": schema("booking")["properties"]["warmup"]["properties"]["tolerance"]["default"], "unit": "",
             "rule": "at most", "meaning": "relative difference in TPOT at which two readings agree"}
        ],
        "schedule": [[place.name, place.arm] for place in spec.slots(booking)],
        "price_usd_per_hour": node.price_usd_per_hour,
    }  # fmt: skip


def _told(args: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
    """Flags and environment of an arm as they are printed: a bare flag has no value."""
    return {f"--{name}": "" if value is True else value for name, value in args.items()} | dict(env)
