"""What the rules that make claims need of the booking file, as plain values that travel to their scripts as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchbook.config.records import Booking


def claims_facts(booking: Booking) -> dict[str, Any]:
    """What the functions of benchbook.claims take as `booking`; JSON values only.

        id, recorded (adopted from elsewhere)
        node{name, kind, gpus, price_usd_per_hour, memory_bandwidth_tb_s, matrix_tflops}
        model{name, config or None, sizes}
        arms[{name, server_args}], in order; clients, names in order
        workload{kind, content, concurrency, repeats}, repeats being the fewest of any concurrency
        schedule{order, sessions_per_arm, cold_boot}
        comparisons, hypotheses[]: fields of the records of that name
        thresholds: those of the booking
    """
    node, workload = booking.node, booking.workload
    return {
        "id": booking.id,
        "recorded": booking.recorded is not None,
        "node": {name: getattr(node, name) for name in ("name", "kind", "gpus", "price_usd_per_hour",
                                                        "memory_bandwidth_tb_s", "matrix_tflops")},
        "model": {
            "name": booking.model.name,
            "config": dict(booking.model.config) if booking.model.config is not None else None,
            "sizes": dict(booking.model.sizes),
        },
        "arms": [{"name": arm.name, "server_args": dict(arm.server_args)} for arm in booking.arms],
        "clients": list(booking.client),
        "workload": {
            "kind": workload.kind, "content": dict(workload.content), "concurrency": list(workload.concurrency),
            "repeats": min(workload.repeats.values()),
        },
        "schedule": asdict(booking.schedule),
        "comparisons": _listed(asdict(booking.comparisons)),
        "hypotheses": hypotheses(booking),
        "thresholds": asdict(booking.thresholds),
    }  # fmt: skip


def hypotheses(booking: Booking) -> list[dict[str, Any]]:
    """The hypotheses as they also stand in every session's specification, where measuring freezes them."""
    return [_listed(asdict(item)) for item in booking.hypotheses]


def _listed(record: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in record.items()}
