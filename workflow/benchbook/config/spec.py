"""From a booking file to the written specification of each session: all that `benchbook session` needs to know."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchbook.config import claims_facts, schedule, workload
from benchbook.config.load import Arm, Booking, Engine, Model
from benchbook.measure.specification import SPEC_SCHEMA, digest, spec_hash
from benchbook.measure.warmup import Converged


def slots(booking: Booking) -> list[schedule.Slot]:
    return schedule.slots(
        [arm.name for arm in booking.arms], booking.schedule.sessions_per_arm, booking.schedule.order
    )


def session_specs(booking: Booking, root: Path) -> list[dict[str, Any]]:
    """The specification of every session, in schedule order. Relative paths in it start from the project's folder."""
    places = slots(booking)
    arms = {arm.name: arm for arm in booking.arms}
    return [_spec(booking, arms[place.arm], place, len(places), root) for place in places]


def store_name(spec: dict[str, Any]) -> str:
    """Name of the session's folders and files: slot, arm and hash of all that bears on what is measured."""
    return f"{spec['slot']}-{spec['arm']}-{spec['spec_hash']}"


def _spec(booking: Booking, arm: Arm, place: schedule.Slot, positions: int, root: Path) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "schema": SPEC_SCHEMA,
        "booking": booking.id,
        "slot": place.name,
        "position": place.position,
        "positions": positions,
        "arm": arm.name,
        "node": {"name": booking.node.name, "kind": booking.node.kind, "gpus": booking.node.gpus},
        "model": model_of(booking.model),
        **({"draft_model": model_of(booking.draft_model)} if booking.draft_model else {}),
        "engine": _engine(arm.engine, root),
        "client": list(booking.client),
        "client_engine": _engine(booking.client_engine, root) if booking.client_engine else None,
        "server": {
            "args": dict(arm.server_args),
            "env": dict(arm.server_env),
            "port": booking.server.port,
            "cold_boot": booking.schedule.cold_boot,
            **({"cpus": arm.cpus} if arm.cpus is not None else {}),
        },
        "endpoint": booking.workload.endpoint,
        "connections": booking.workload.connections,
        "workload": _workload(booking),
        "prompts_sha256": booking.workload.file_sha256,
        "warmup": {
            "rule": booking.warmup.rule,
            "max_readings": booking.warmup.max_readings,
            **asdict(booking.warmup.limits),
        },
        "limits": asdict(booking.limits),
        "telemetry": asdict(booking.telemetry),
        "plan": _plan(booking, arm, place),
        "hypotheses": claims_facts.hypotheses(booking),
    }
    spec["spec_hash"] = spec_hash(spec)
    return spec


def model_of(model: Model) -> dict[str, Any]:
    """The model as a specification has it: name, path, whether that is a directory here, the config it is built of."""
    if model.config is not None:
        config = dict(model.config)
        return {"name": model.name, "path": f".models/{model.name}-{digest(config)}", "local": True, "config": config}
    assert model.path is not None
    return {"name": model.name, "path": model.path, "local": model.path.startswith(("/", ".")), "config": None}


def _engine(engine: Engine, root: Path) -> dict[str, Any]:
    built = engine.source == "requirements"
    return {
        "name": engine.name,
        "kind": engine.kind,
        "python": f".engines/{engine.name}/bin/python" if built else engine.python,
        "command": list(engine.command) if engine.command else None,
        "env": dict(engine.env),
        "lock_sha256": hashlib.sha256((root / engine.lock).read_bytes()).hexdigest() if engine.lock else None,
    }


def _workload(booking: Booking) -> dict[str, Any]:
    asked, config = booking.workload, booking.model.config or {}
    vocabulary = config.get("vocab_size")
    return workload.specified(
        asked.kind,
        asked.content,
        asked.endpoint,
        booking=booking.id,
        seed=asked.seed,
        vocabulary=vocabulary if isinstance(vocabulary, int) else None,
    )


def _plan(booking: Booking, arm: Arm, place: schedule.Slot) -> list[dict[str, Any]]:
    """The blocks of a session in order, one per concurrency: warmup readings, runs, and `rerun`, a spare for each run.

    The spares are measured when the runs do not pass the warmup rule's gate; a rule without a gate has none. A spare
    that was not needed is neither planned nor missing. `offset`: prompts that what stands before it in the order of
    concurrency takes from the workload's file; the same in every arm and session, whichever way their sweep goes.
    """
    asked = booking.workload
    has_gate = isinstance(booking.warmup.limits, Converged)
    taken = 0

    def task(name: str, concurrency: int, phase: str, n: int, prompts: int, client: str) -> dict[str, Any]:
        nonlocal taken
        taken += prompts
        seed = schedule.seed(booking.id, asked.seed, concurrency, phase, n)
        return {"name": name, "seed": seed, "client": client, "offset": taken - prompts}

    def run(concurrency: int, n: int, client: str) -> dict[str, Any]:
        prompts = asked.num_prompts(concurrency)
        return task(f"{arm.name}_c{concurrency}_r{n}", concurrency, "run", n, prompts, client) | {"repeat": n}

    def block(concurrency: int) -> dict[str, Any]:
        clients = schedule.runs(booking.client, asked.repeats[concurrency])
        spares = clients if has_gate else []
        return {
            "concurrency": concurrency,
            "num_prompts": asked.num_prompts(concurrency),
            "readings": [
                task(f"warmup_c{concurrency}_w{n}", concurrency, "warmup", n, concurrency, booking.client[0])
                for n in range(1, booking.warmup.max_readings + 1)
            ],
            "runs": [run(concurrency, n, client) for n, client in enumerate(clients, start=1)],
            "rerun": [run(concurrency, n, client) for n, client in enumerate(spares, start=len(clients) + 1)],
        }

    blocks = [block(concurrency) for concurrency in sorted(asked.concurrency)]
    return blocks[::-1] if place.descending else blocks
