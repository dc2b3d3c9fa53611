"""Which files a booking is configured by."""

from __future__ import annotations

from pathlib import Path

from benchbook.config.records import Booking


def used(root: Path, booking: Booking) -> list[str]:
    """Their paths below `root`: booking, node, model, draft model, engines with their locks, the workload's file, the
    manifest of a recording."""
    engines = {arm.engine.name: arm.engine for arm in booking.arms}
    if booking.client_engine is not None:
        engines[booking.client_engine.name] = booking.client_engine
    named = [f"config/{kind}/{name}.yaml" for kind, name in (("bookings", booking.id), ("nodes", booking.node.name),
                                                             ("models", booking.model.name))]  # fmt: skip
    if booking.draft_model is not None:
        named.append(f"config/models/{booking.draft_model.name}.yaml")
    for name, engine in sorted(engines.items()):
        named += [f"config/engines/{name}.yaml", *(path for path in (engine.requirements, engine.lock) if path)]
    if booking.workload.kind == "file":
        named.append(str(booking.workload.content["path"]))
    if booking.recorded is not None:
        named.append(f"{booking.recorded}/recording.yaml")
    return [name for name in dict.fromkeys(named) if (root / name).is_file()]
