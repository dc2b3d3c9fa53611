"""Table `next_experiments`: what to run next, the most claims out of doubt for the money first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims import remedies
from benchbook.claims.fixed_cost import LEVELS_ASKED, REPEATS_ASKED
from benchbook.claims.levels import CONFOUNDED, IN_DOUBT, REFUSED, RUNS_MIN, UNREPLICATED, WITHIN_NOISE
from benchbook.claims.reach import sessions_to_find
from benchbook.claims.records import Row, records
from benchbook.claims.timings import Timings, timings
from benchbook.claims.usable import counted
from benchbook.columns.tag_text import listed
from benchbook.derive import window

WAVES_TO_WINDOW = 2
"""The steady window begins after the first wave and ends before the last."""

AGAIN = frozenset({"INCOMPLETE"})


@dataclass(frozen=True)
class _Experiment:
    """A candidate: what to run and why, the claims that it would move, its boots and node time, and how."""

    what: str
    why: str
    claims: tuple[str, ...]
    sessions: int
    time_s: float | None
    how: str

    def spares(self, other: _Experiment) -> bool:
        """Whether this moves all claims that `other` does for no more time; for no more boots where neither's time is
        known."""
        if not set(other.claims) <= set(self.claims):
            return False
        if self.time_s is None or other.time_s is None:
            return self.time_s is other.time_s and self.sessions <= other.sessions
        return self.time_s <= other.time_s


@dataclass(frozen=True)
class _Plan:
    """What the booking has, and what a session of it takes."""

    booking: Mapping[str, Any]
    times: Timings
    arms: tuple[str, ...]
    runs: Sequence[Row]

    @property
    def planned(self) -> int:
        count: int = self.booking["schedule"]["sessions_per_arm"]
        return count

    @property
    def levels(self) -> list[int]:
        return list(self.booking["workload"]["concurrency"])

    def but(self, warmup: float = 1.0, waves: int | None = None, repeats: int | None = None) -> _Plan:
        """The same with warmups so many times as long, with runs of `waves` where they have fewer, or other
        `repeats`."""
        times = self.times
        return replace(self, times=Timings(
            times.boot_s, {level: warmup * seconds for level, seconds in times.warmup_s.items()},
            {level: self._longer(level, waves) * seconds for level, seconds in times.run_s.items()},
            times.repeats if repeats is None else repeats,
        ))  # fmt: skip

    def _longer(self, concurrency: int, waves: int | None) -> float:
        """How many times as long a run at `concurrency` takes with `waves`, where that is more."""
        had = [run["waves"] for run in self.runs if run["concurrency"] == concurrency and run["waves"]]
        return max(1.0, waves / min(had)) if waves is not None and had else 1.0

    @property
    def steady_waves(self) -> int | None:
        """Waves with which every run that is UNSTEADY now would have a steady window as long as asked; None without
        such a run."""
        asked = [_steady_waves(run, self.booking["thresholds"]) for run in self.runs
                 if "UNSTEADY" in listed(run["tags"]) and run["waves"]]  # fmt: skip
        return max(asked, default=None)

    def way(self, tag: str, sessions: int) -> str:
        """The change of the booking file that removes `tag`."""
        if tag == "CLIENT" and self.booking["clients"][0] == "native":
            return remedies.NATIVE_CLIENT_HOW
        if tag == "UNSTEADY" and self.steady_waves is not None:
            return f"workload.waves: {self.steady_waves}"
        return remedies.of(tag).how.format(booking=self.booking["id"], sessions=sessions)

    def boots_s(self, per_arm: int, further: int = 0) -> float | None:
        """Node time of `per_arm` boots of each arm, with `further` concurrencies."""
        each = [self.times.session_s(arm, self.levels, further) for arm in self.arms]
        return None if None in each else per_arm * sum(seconds for seconds in each if seconds is not None)

    def part_s(self, arm: str, share: float) -> float | None:
        """Node time of one boot of `arm` with that share of its readings and runs."""
        boot_s, whole_s = self.times.session_s(arm, []), self.times.session_s(arm, self.levels)
        return None if boot_s is None or whole_s is None else boot_s + share * (whole_s - boot_s)


def table(
    verdicts: pd.DataFrame,
    comparisons: pd.DataFrame,
    sessions: pd.DataFrame,
    timeline: pd.DataFrame,
    booking: Mapping[str, Any],
    runs: pd.DataFrame,
) -> pd.DataFrame:
    """Table `next_experiments`, ordered by claims per dollar, which at one price is claims per hour; those of unknown
    time last. Claims counted are those in doubt (method.md 10) that the experiment alone would settle: a claim that
    lacks boots and carries a tag is not moved by boots. What an experiment finds may still be WITHIN NOISE. Left out is
    one that moves no other claim than an earlier one, and costs no less.

    Experiments are alternatives as often as steps: after each, the report makes the list anew.
    """
    claims = [row for row in records(verdicts) if row["level"] in IN_DOUBT]
    per_session = booking["workload"]["repeats"] * len(booking["clients"])
    plan = _Plan(booking, timings(sessions, timeline, per_session), tuple(arm["name"] for arm in booking["arms"]),
                 records(counted(runs, booking["clients"])))  # fmt: skip
    found = [
        *_again(claims, records(sessions), plan),
        *_boots(claims, plan),
        *_without_tags(claims, plan),
        *_finer(claims, records(comparisons), plan),
        *_fits(claims, plan),
        *_floor(records(verdicts), plan),
    ]
    price = booking["node"]["price_usd_per_hour"]
    shown: list[_Experiment] = []
    for item in sorted((item for item in found if item.claims), key=_order):
        if not any(earlier.spares(item) for earlier in shown):
            shown.append(item)
    rows = [_row(rank, item, price) for rank, item in enumerate(shown, start=1)]
    return schema.check(pd.DataFrame(rows), "next_experiments") if rows else schema.empty("next_experiments")


def _order(item: _Experiment) -> tuple[float, int, int]:
    rate = math.inf if item.time_s == 0 else len(item.claims) / item.time_s if item.time_s else -1.0
    return -rate, -len(item.claims), item.sessions


def _row(rank: int, item: _Experiment, price: float | None) -> Row:
    hours = item.time_s / 3600 if item.time_s is not None else None
    return {
        "rank": rank,
        "experiment": item.what,
        "why": item.why,
        "claims": len(item.claims),
        "claim_ids": " ".join(item.claims),
        "sessions": item.sessions,
        "time_s": item.time_s,
        "usd": hours * price if hours is not None and price is not None else None,
        "claims_per_hour": len(item.claims) / hours if hours else None,
        "how": item.how,
    }


def _steady_waves(run: Row, thresholds: Mapping[str, float]) -> int:
    """Waves that lengthen the run's steady window to what is asked, one to spare: a further wave lengthens it by the
    time of a request. Twice as many where it is long enough and Little's check is what fails."""
    had = float(run["waves"])
    if run["window_s"] is not None and run["e2el_mean_ms"]:
        e2el_s = float(run["e2el_mean_ms"]) / 1000
        lacking_s = window.asked_s(thresholds, run["e2el_mean_ms"]) - float(run["window_s"])
        if lacking_s > 0:
            return math.ceil(max(had, WAVES_TO_WINDOW) + lacking_s / e2el_s) + 1
    return math.ceil(2 * had)


def _settled(claims: Iterable[Row], sessions: int, without: frozenset[str]) -> tuple[str, ...]:
    """Ids of the claims that lack nothing else than `without` their tags and up to `sessions` boots a side."""
    return tuple(
        claim["claim_id"] for claim in claims
        if (claim["level"] in (CONFOUNDED, UNREPLICATED) or _refused_by_tag(claim))
        and listed(claim["tags"]) <= without and claim["sessions_needed"] <= sessions
    )  # fmt: skip


def _refused_by_tag(claim: Row) -> bool:
    """Whether a tag is what refuses it, and not what its table says against it."""
    reason = (claim["because"] or "").split(":")[0].split(", ")
    return claim["level"] == REFUSED and set(reason) <= listed(claim["tags"])


def _again(claims: Sequence[Row], sessions: Sequence[Row], plan: _Plan) -> Iterable[_Experiment]:
    """The runs that failed, once more: as many sessions as lack runs, of each the share that it lacks; one boot of each
    arm concerned where all have a result, and some requests of it failed. None for a failure that was expected, nor in
    a recording, which cannot be measured again."""
    if plan.booking["recorded"]:
        return
    foreseen = {row["arm"] for row in sessions if row["expected_failure"]}
    open_to_it = [claim for claim in claims
                  if claim["tags"] and not foreseen & {claim["arm"], claim["baseline"]}]  # fmt: skip
    moved = _settled(open_to_it, plan.planned, AGAIN)
    due = [row for row in sessions
           if row["status"] != "set-aside" and not row["expected_failure"]
           and (row["runs_done"] < row["runs_planned"] or row["status"] == "failed")]  # fmt: skip
    concerned = {claim["arm"] for claim in open_to_it if claim["claim_id"] in moved}
    boots = [(row["arm"], _lacking(row)) for row in due] or [(arm, 1.0) for arm in plan.arms if arm in concerned]
    each = [plan.part_s(arm, lacking) for arm, lacking in boots]
    yield _Experiment(
        "Measure the failed runs again", "runs that failed or are missing refuse these claims", moved, len(boots),
        None if None in each else sum(seconds for seconds in each if seconds is not None),
        f"benchbook retry {plan.booking['id']}",
    )  # fmt: skip


def _lacking(session: Row) -> float:
    """Share of its planned runs that a session lacks."""
    if not session["runs_planned"] or not session["runs_done"]:
        return 1.0
    return 1 - float(session["runs_done"] / session["runs_planned"])


def _boots(claims: Sequence[Row], plan: _Plan) -> Iterable[_Experiment]:
    """More boots of every arm, for the claims that lack nothing else."""
    lacking = [claim for claim in claims if claim["level"] == UNREPLICATED]
    for target in sorted({max(claim["sessions_needed"], claim["sessions"]) for claim in lacking}):
        moved = [claim for claim in lacking if claim["sessions_needed"] <= target]
        more = max((target - claim["sessions"] for claim in moved), default=0)
        repeats = math.ceil(RUNS_MIN / target)
        short = repeats > plan.booking["workload"]["repeats"]
        if more <= 0:  # boots enough, runs too few
            yield _Experiment(
                f"Run each concurrency {repeats} times a boot", "fewer than three runs stand behind these claims",
                tuple(claim["claim_id"] for claim in moved), target * len(plan.arms),
                plan.but(repeats=repeats * len(plan.booking["clients"])).boots_s(target),
                f"workload.repeats: {repeats}",
            )  # fmt: skip
            continue
        sessions = max(target, plan.planned)
        yield _Experiment(
            f"Boot each arm {remedies.times_more(more)}",
            "repeats inside one boot are no replicates: these claims lack boots",
            tuple(claim["claim_id"] for claim in moved), more * len(plan.arms), plan.boots_s(more),
            f"schedule.sessions_per_arm: {sessions}" + (f"; workload.repeats: {repeats}" if short else ""),
        )  # fmt: skip


def _without_tags(claims: Sequence[Row], plan: _Plan) -> Iterable[_Experiment]:
    """All arms anew with what caused a set of tags removed, as often as SOLID asks: runs with a tag cannot be mended by
    further ones beside them."""
    target = max(plan.planned, plan.booking["comparisons"]["sessions_min"])
    for tags in sorted({listed(claim["tags"]) - AGAIN for claim in claims} - {frozenset()}, key=sorted):
        moved = _settled(claims, target, tags | AGAIN)
        named = ", ".join(sorted(tags))
        ways = [plan.way(tag, target) for tag in sorted(tags)]
        if target > plan.planned:
            ways.append(f"schedule.sessions_per_arm: {target}")
        means = "; ".join(remedies.of(tag).means for tag in sorted(tags))
        yield _Experiment(
            f"Measure anew without {named}: {remedies.to_do(tags)}", means, moved, target * len(plan.arms),
            plan.but(warmup=2.0 if "UNWARMED" in tags else 1.0,
                     waves=plan.steady_waves if "UNSTEADY" in tags else None).boots_s(target),
            "; ".join(dict.fromkeys(ways)),
        )  # fmt: skip


def _finer(claims: Sequence[Row], comparisons: Sequence[Row], plan: _Plan) -> Iterable[_Experiment]:
    """Boots that find an effect of the size seen, where it could not be told from noise."""
    doubted = {claim["claim_id"] for claim in claims if claim["level"] == WITHIN_NOISE}
    said = plan.booking["comparisons"]
    needs: dict[str, int] = {}
    have: dict[str, int] = {}
    for row in comparisons:
        if row["comparison_id"] in doubted and row["balanced"]:
            sessions = sessions_to_find(row, said["alpha"], 100 * said["smallest_effect"])
            if sessions is not None:
                needs[row["comparison_id"]] = sessions
                have[row["comparison_id"]] = min(row["sessions"], row["baseline_sessions"])
    for target in sorted(set(needs.values())):
        moved = tuple(claim for claim, sessions in needs.items() if sessions <= target)
        more = target - min(have[claim] for claim in moved)
        yield _Experiment(
            f"Boot each arm {remedies.times_more(more)}, to {target}",
            "so many boots find effects of the size seen in 4 of 5 tries", moved, more * len(plan.arms),
            plan.boots_s(more), f"schedule.sessions_per_arm: {target}",
        )  # fmt: skip


def _fits(claims: Sequence[Row], plan: _Plan) -> Iterable[_Experiment]:
    """More concurrencies and repeats for a fit that the data do not carry."""
    moved = tuple(claim["claim_id"] for claim in claims
                  if claim["kind"] == "fit" and claim["level"] == REFUSED and not listed(claim["tags"]))  # fmt: skip
    further = max(0, LEVELS_ASKED - len(plan.levels))
    repeats = max(REPEATS_ASKED, plan.booking["workload"]["repeats"])
    if not further and repeats == plan.booking["workload"]["repeats"]:
        return
    target = max(plan.planned, plan.booking["comparisons"]["sessions_min"])
    ways = [f"workload.concurrency: {LEVELS_ASKED} values or more"] if further else []
    ways.append(f"workload.repeats: {repeats}")
    if target > plan.planned:
        ways.append(f"schedule.sessions_per_arm: {target}")
    yield _Experiment(
        f"Measure at {len(plan.levels) + further} concurrencies, {repeats} runs each",
        "a fixed cost takes six concurrencies, and repeats to test its fit", moved, target * len(plan.arms),
        plan.but(repeats=repeats * len(plan.booking["clients"])).boots_s(target, further), "; ".join(ways),
    )  # fmt: skip


def _floor(verdicts: Sequence[Row], plan: _Plan) -> Iterable[_Experiment]:
    """The node's bandwidth, which costs no run: without it no step can be held against its byte floor."""
    node = plan.booking["node"]
    if not node["gpus"] or node["memory_bandwidth_tb_s"] is not None or not plan.booking["model"]["sizes"]:
        return
    points = dict.fromkeys((row["arm"], row["concurrency"]) for row in verdicts
                           if row["kind"] == "value" and row["concurrency"] is not None)  # fmt: skip
    yield _Experiment(
        "State the memory bandwidth of one GPU", "no decode step can be held against its byte floor",
        tuple(f"floor/{arm}/c{concurrency}" for arm, concurrency in points), 0, 0.0,
        f"memory_bandwidth_tb_s in config/nodes/{node['name']}.yaml",
    )  # fmt: skip
