"""What sessions that are on disk took: the same model and engine on a node of the same kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from benchbook.config.records import Booking
from benchbook.config.spec import model_of
from benchbook.errors import BenchbookError
from benchbook.measure.store import read_json
from benchbook.rawdata import RawSession

SETTLED_FROM = 2  # readings before it may still compile


@dataclass(frozen=True)
class Earlier:
    """One session, times in seconds.

    `wave_s`: of a wave by concurrency, from runs where there are any, else from settled readings. `readings`: how many
    it took by concurrency. `reruns` of `gated` concurrencies were measured once more. None: the session did not say.
    """

    session: str
    booking: str
    arm: str
    recorded: bool
    cold_boot: bool
    lengths: tuple[object, object]
    boot_s: float | None
    beside_s: float
    gap_s: float | None
    wave_s: Mapping[int, float]
    readings: Mapping[int, int]
    reruns: int
    gated: int


def find(root: Path, booking: Booking, without: str | None = None) -> list[Earlier]:
    """Sessions below `root`/results that ended well, oldest first, of the node kind, model and engine of `booking`;
    those of the booking `without` are left out, and one that was adopted twice counts once. What cannot be read is
    passed over: a plan needs none of it."""
    model, engines = model_of(booking.model), {arm.engine.name for arm in booking.arms}
    found: dict[str, Earlier] = {}
    for folder in sorted((root / "results").glob("*/raw/*/[0-9]*-[0-9]*"), key=lambda path: path.name):
        try:
            spec, ending = read_json(folder / "spec.json"), read_json(folder / "session.json")
            if spec["booking"] == without or spec["node"]["kind"] != booking.node.kind:
                continue
            same = spec["model"] == model and spec["engine"]["name"] in engines
            if same and ending["status"] == "complete":
                found[folder.name] = _of(RawSession(folder, "complete"), spec)
        except (BenchbookError, OSError, KeyError, TypeError, ValueError):
            continue
    return list(found.values())


def _of(session: RawSession, spec: Mapping[str, Any]) -> Earlier:
    spent: dict[str, list[float]] = {}
    for event in session.events:
        spent.setdefault(event["phase"], []).append(event["t_end_s"] - event["t_start_s"])
    waves: dict[int, list[float]] = {}
    readings: dict[int, list[float]] = {}
    for record in session.runs:
        if record["status"] == "ok":
            seconds = record["t_end_s"] - record["t_start_s"]
            waves.setdefault(record["concurrency"], []).append(seconds * record["concurrency"] / record["num_prompts"])
    for record in session.readings:
        readings.setdefault(record["concurrency"], []).append(record["t_end_s"] - record["t_start_s"])
    settled = {level: values[SETTLED_FROM:] for level, values in readings.items() if values[SETTLED_FROM:]}
    spares = {run["name"] for block in spec["plan"] for run in block.get("rerun", ())}
    again = {record["concurrency"] for record in session.runs if record["run"] in spares}
    return Earlier(
        session=session.session_id, booking=spec["booking"], arm=spec["arm"], recorded="client" not in spent,
        cold_boot=bool(spec["server"]["cold_boot"]), lengths=lengths(spec["workload"]),
        boot_s=spent["boot"][0] if spent.get("boot") else None,
        beside_s=sum(spent.get("client", [])) + sum(spent.get("teardown", [])), gap_s=_gap_s(session),
        wave_s={level: _mean(values) for level, values in (settled | waves).items()},
        readings={level: len(values) for level, values in readings.items()},
        reruns=len(again), gated=len(waves),
    )  # fmt: skip


def lengths(workload: Mapping[str, Any]) -> tuple[object, object]:
    """Tokens in and out of a workload, as it says them; None for a kind that does not."""
    return workload.get("input_tokens"), workload.get("output_tokens")


def _gap_s(session: RawSession) -> float | None:
    """Median time between two tasks of the load client; None for a recording, whose gaps are a script's."""
    tasks = sorted((event["t_start_s"], event["t_end_s"]) for event in session.events
                   if event["phase"] in ("warmup", "run"))  # fmt: skip
    gaps = [later[0] - sooner[1] for sooner, later in pairwise(tasks)]
    return median(gaps) if gaps and any(event["phase"] == "client" for event in session.events) else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
