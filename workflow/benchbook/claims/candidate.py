"""One cause that could hold a decode step back, and how it is judged at one point of one arm (method.md 9).

A cause is ruled out only by what was measured against it: beyond three standard errors, with its gates passed. What was
not measured leaves it untested, and what merely does not point to it leaves it not ruled out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchbook.claims import busy
from benchbook.claims.estimate import Estimate, blocks_df, of_runs

RULED_OUT, NOT_RULED_OUT, UNTESTED = "ruled out", "not ruled out", "untested"


@dataclass(frozen=True)
class Point:
    """One arm at one concurrency, with its rows of each table.

    `runs`: those judged; `tagged`: their tags, empty where the arm has runs without; `telemetry`: of the runs whose
    telemetry was accepted; `lowest`: rows of table `occupancy` at the arm's lowest concurrency, empty where that is
    this one; `fixed_cost` (the chosen model of the step), `toll`, `floor`: single rows, None where the table has none;
    `floor_sessions`: sessions behind the floor's interval. `left_out`: runs at this concurrency that carry a tag,
    beside those judged.
    """

    arm: str
    concurrency: int
    runs: pd.DataFrame
    tagged: str
    telemetry: pd.DataFrame
    client: pd.DataFrame
    scheduler: pd.DataFrame
    sessions: pd.DataFrame
    occupancy: pd.DataFrame
    lowest: pd.DataFrame
    fixed_cost: Mapping[Any, Any] | None
    toll: Mapping[Any, Any] | None
    floor: Mapping[Any, Any] | None
    floor_sessions: int
    server_args: Mapping[str, Any]
    booking: Mapping[str, Any]
    left_out: int = 0


@dataclass(frozen=True)
class Finding:
    """What a candidate's test gave; `measurement` None leaves it untested."""

    measurement: str | None
    gate: str
    outcome: str
    why: str


@dataclass(frozen=True)
class Candidate:
    """A cause by its name: the signature it predicts, the run tag that speaks for it ("": none), its test, and whether
    that asks the GPUs' telemetry."""

    name: str
    signature: str
    tag: str
    test: Callable[[Point], Finding]
    on_gpus: bool = False

    def judge(self, point: Point) -> Finding:
        why = no_gpu(point) if self.on_gpus else None
        return untested(why) if why is not None else self.test(point)


def gate(point: Point, *others: tuple[str, bool]) -> tuple[str, bool]:
    """The gates in words, each with whether it held, and whether all did."""
    carried = f" (they carry {point.tagged.replace(',', ', ')})" if point.tagged else ""
    beside = f", and {point.left_out} beside them that do are left out" if point.left_out else ""
    tags = f"the runs carry no tag{beside}{carried}"
    gates = [(tags, not point.tagged), *others]
    return "; ".join(f"{said}: {'held' if held else 'failed'}" for said, held in gates), all(held for _, held in gates)


def finding(measurement: str, gate: tuple[str, bool], contrary: bool, because: str, otherwise: str) -> Finding:
    """Ruled out `because`, where the measurement is contrary and the gates held; `otherwise` says what would tell."""
    if contrary and gate[1]:
        return Finding(measurement, gate[0], RULED_OUT, because)
    if contrary:
        otherwise = f"The measurement speaks against it but does not count, as a gate failed. {otherwise}"
    return Finding(measurement, gate[0], NOT_RULED_OUT, otherwise)


def untested(why: str) -> Finding:
    """Nothing was measured; `why` says so, and what to do."""
    return Finding(None, "not reached: there is nothing to judge", UNTESTED, why)


def watched(point: Point) -> tuple[str, bool]:
    """The gate that telemetry has to pass."""
    least = point.booking["thresholds"]["telemetry_coverage_min"]
    agree = not (point.occupancy["quadrant"] == busy.CONTRADICTORY).any()
    return (f"telemetry is clipped to the window, covers {100 * least:g} % of it, and power does not contradict "
            "utilization", bool(agree))  # fmt: skip


def no_gpu(point: Point) -> str | None:
    """Why nothing is known of the GPUs, as a sentence; None where telemetry was accepted in some run."""
    if len(point.telemetry):
        return None
    refused = point.occupancy["refused"].dropna()
    said = str(refused.iloc[0]) if len(refused) else "no GPU was sampled; measure with the sampler running"
    return f"{said[0].upper()}{said[1:]}."


def mean(frame: pd.DataFrame, column: str, factor: float = 1.0, se: str | None = None) -> Estimate | None:
    """Mean over runs of a column; None where a run lacks it. `se`: the column of its own standard error."""
    if frame.empty or frame[column].isna().any():
        return None
    ses = [None if se is None or pd.isna(value) else float(value) * factor
           for value in (frame[se] if se is not None else [None] * len(frame))]  # fmt: skip
    dfs = [blocks_df(float(width)) if pd.notna(width) else 1 for width in frame["window_s"]] \
        if "window_s" in frame else [1] * len(frame)  # fmt: skip
    return of_runs([float(value) * factor for value in frame[column]], ses, dfs)


def percent(name: str, value: Estimate | None) -> str:
    """A share in words, with its standard error."""
    if value is None:
        return f"{name} not offered"
    error = "no standard error" if value.se is None else f"SE {100 * value.se:.2g}"
    return f"{name} {100 * value.value:.1f} % ({error})"


def without_error(*values: Estimate | None) -> str:
    """What to do where a value of telemetry has no standard error to be judged by; empty where it has one."""
    if any(value is not None and value.reach is None for value in values):
        return " One run and a window of fewer than three 10 s blocks give no standard error: measure longer or repeat."
    return ""


def without_repeat(value: Estimate | None) -> str:
    """The same for what is one value a run."""
    return " One run gives no standard error: repeat it." if value is not None and value.reach is None else ""
