"""What a report says of its booking file, as plain values that travel to the report's script as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.config import spec, warmup_facts, workload_facts
from benchbook.config.check import schema
from benchbook.config.load import Arm, Booking

_MEANINGS = {
    "steady_window_min_s": ("s", "at least", "width of a run's steady window"),
    "steady_window_min_e2el": ("mean E2EL", "at least", "width of a run's steady window, in request durations"),
    "little_pass": ("", "at most", "Little's check: size of delta that passes"),
    "little_warn": ("", "at most", "Little's check: size of delta that only warns"),
    "telemetry_coverage_min": ("", "at least", "share of the window that samples describe"),
    "prefix_hits_max": ("", "at most", "share of prompt tokens from the prefix cache"),
    "reconcile_max": ("", "at most", "relative difference between client, /metrics and log"),
    "client_cores_max": ("cores", "at most", "CPU of the load client"),
    "client_itl_ratio_max": ("", "at most", "mean ITL at the client over the server's"),
    "client_lag_max": ("mean ITL", "at most", "mean lateness of the client's event loop"),
    "client_resend_gap_max": ("mean E2EL", "at most", "a request's end to the dispatch that takes its place"),
    "frontend_share_max": ("", "at most", "share of the requests in flight outside the engine"),
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
            **workload_facts.prompts(workload),
            "concurrency": ", ".join(map(str, workload.concurrency)),
            "prompts per run": ", ".join(str(workload.num_prompts(level)) for level in workload.concurrency),
            "repeats per session": workload_facts.repeats(workload),
            "load client": workload_facts.client(booking),
            "boots": _boots(booking),
            **({"draft model": booking.draft_model.name} if booking.draft_model else {}),
            "server": " ".join(_words(booking.server.args)) or "the engine's defaults",
        },
        "arms": [
            {"name": arm.name, "description": arm.description or "", "args": _told(arm)}
            for arm in booking.arms
        ],
        "warmup_rule": warmup_facts.sentence(warmup),
        "thresholds": [
            {"name": name, "value": value, "default": method[name]["default"], "unit": unit, "rule": rule,
             "meaning": meaning}
            for name, (unit, rule, meaning) in _MEANINGS.items()
            for value in [getattr(booking.thresholds, name)]
        ]
        + warmup_facts.thresholds(warmup),
        "schedule": [[place.name, place.arm] for place in spec.slots(booking)],
        "price_usd_per_hour": node.price_usd_per_hour,
    }  # fmt: skip


def _words(args: Mapping[str, Any]) -> list[str]:
    return [f"--{name}" if value is True else f"--{name} {value}" for name, value in args.items()]


def _boots(booking: Booking) -> str:
    if booking.recorded is not None:
        return f"as recorded, which does not say how ({booking.recorded})"
    return "cold (empty compile cache)" if booking.schedule.cold_boot else "warm (the node's compile cache)"


def _told(arm: Arm) -> dict[str, Any]:
    """Flags, environment and cores of an arm as they are printed: a bare flag has no value."""
    cores = {} if arm.cpus is None else {"cores of the server": arm.cpus}
    return {f"--{name}": "" if value is True else value for name, value in arm.args.items()} | dict(arm.env) | cores
