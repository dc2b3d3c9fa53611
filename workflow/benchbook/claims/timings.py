"""What a further session would take, from what the sessions of this booking took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from benchbook.claims.records import Row, records

COMPLETE = "complete"


@dataclass(frozen=True)
class Timings:
    """Seconds, all means over this booking's own sessions.

    boot_s     of an arm: from launch to the last process gone without readings and runs, boot, client start, gaps and
               teardown together
    warmup_s   of a concurrency in a session: all of its readings
    run_s      of a concurrency: one run
    repeats    runs of a concurrency in a session
    """

    boot_s: dict[str, float]
    warmup_s: dict[int, float]
    run_s: dict[int, float]
    repeats: int

    def session_s(self, arm: str, concurrency: Iterable[int], further: int = 0) -> float | None:
        """A session of `arm` over `concurrency` and as many `further` ones as an average one takes; None without a
        boot, or without a run at one of these. Where an arm has no session or a concurrency no warmup, the mean of the
        others is taken."""
        wanted = list(concurrency)
        if not self.boot_s or not self.run_s or any(level not in self.run_s for level in wanted):
            return None
        boot_s = self.boot_s.get(arm, _mean(list(self.boot_s.values())))
        usual_s = _mean(list(self.warmup_s.values())) if self.warmup_s else 0.0
        each = [self.warmup_s.get(level, usual_s) + self.repeats * self.run_s[level] for level in wanted]
        return boot_s + sum(each) + further * (sum(each) / len(each) if each else 0.0)


def timings(sessions: pd.DataFrame, timeline: pd.DataFrame, repeats: int) -> Timings:
    """From tables `sessions` and `timeline`; sessions that failed or were set aside are left out, and so is what ended
    badly of the others."""
    whole = [row for row in records(sessions) if row["status"] == COMPLETE]
    ids = {row["session_id"] for row in whole}
    spent: dict[tuple[str, int], list[float]] = {}
    readings: dict[tuple[int, str], float] = {}
    for event in records(timeline):
        level = event["concurrency"]
        if event["session_id"] not in ids or level is None or not event["ok"]:
            continue
        seconds = event["t_end_s"] - event["t_start_s"]
        if event["phase"] == "run":
            spent.setdefault(("run", level), []).append(seconds)
        elif event["phase"] == "warmup":
            key = level, event["session_id"]
            readings[key] = readings.get(key, 0.0) + seconds
    for (level, _), seconds in readings.items():
        spent.setdefault(("warmup", level), []).append(seconds)
    boots: dict[str, list[float]] = {}
    for row in whole:
        seconds = _boot_s(row)
        if seconds is not None:
            boots.setdefault(row["arm"], []).append(seconds)
    return Timings(
        {arm: _mean(values) for arm, values in boots.items()},
        {level: _mean(values) for (phase, level), values in spent.items() if phase == "warmup"},
        {level: _mean(values) for (phase, level), values in spent.items() if phase == "run"},
        repeats,
    )


def _boot_s(session: Row) -> float | None:
    """What of a session is neither reading nor run; the sum of its phases where its end is not recorded."""
    if session["boot_s"] is None:
        return None
    if session["wall_s"] is not None:
        return float(session["wall_s"] - (session["warmup_s"] or 0.0) - (session["runs_s"] or 0.0))
    return float(session["boot_s"] + (session["client_start_s"] or 0.0) + (session["teardown_s"] or 0.0))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
