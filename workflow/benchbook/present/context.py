"""What a report is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

FRAMES = ("runs", "sessions", "warmup", "telemetry", "client", "scheduler", "reconciliation", "crosscheck", "sweep",
          "failures", "timeline", "repeatability", "noise", "comparisons", "steps", "fixed_cost", "toll", "floor",
          "anomalies", "occupancy", "elimination", "cost", "bill", "verdicts", "hypotheses", "next_experiments",
          "preflight")


@dataclass(frozen=True)
class Arm:
    """A server configuration: `args` are those that differ between the arms, name to value."""

    name: str
    description: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Threshold:
    """A threshold as printed; `rule` says which side of `value` passes, so that a relaxed one can be named."""

    name: str
    value: float
    default: float
    unit: str
    rule: Literal["at least", "at most"]
    meaning: str = ""

    @property
    def relaxed(self) -> bool:
        return self.value < self.default if self.rule == "at least" else self.value > self.default


@dataclass(frozen=True)
class ReportInput:
    """All that a report is made of.

    `node` and `workload` are facts in the order shown, label to value. `frames` holds the tables of FRAMES as
    schema.check returns them. `figures` maps each name of chapters.FIGURES to SVG text. `sidecars` maps each of those
    names and of FRAMES to rule, script, code_fingerprint, run_ids and inputs (path to sha256). `schedule` is slot and
    arm in the order of the booking. `superseded` lists the stores of earlier specifications that are still on disk,
    with their sessions. `upstream` are the sidecars of what the tables were made of, for the chain behind each number;
    with them, `frames` has table `sources`, too. `draft`: what of the booking is not measured yet, a sentence each;
    empty for a final report.
    """

    booking_id: str
    title: str
    question: str
    node: Mapping[str, Any]
    model: str
    workload: Mapping[str, Any]
    arms: Sequence[Arm]
    warmup_rule: str
    thresholds: Sequence[Threshold]
    schedule: Sequence[tuple[str, str]]
    frames: Mapping[str, pd.DataFrame]
    figures: Mapping[str, str]
    sidecars: Mapping[str, Mapping[str, Any]]
    superseded: Sequence[str]
    generated_by: str
    upstream: Sequence[Mapping[str, Any]] = ()
    draft: Sequence[str] = ()
    price_usd_per_hour: float | None = None
