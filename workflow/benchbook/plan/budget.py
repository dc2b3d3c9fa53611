"""What to cut when a booking does not fit its budget, the least loss first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from benchbook.config.records import Booking
from benchbook.plan import schedule
from benchbook.plan.times import Times

MORE_BOOTS_MAX = 10
REPEATS_KEPT = 2  # until points of the sweep are gone
RAMPS = 2  # the steady window begins after the first wave and ends before the last


@dataclass(frozen=True)
class Cut:
    """`how`: the change of the booking file; `costs`: what is lost; `saves_s` after the cuts before it, `left_s` what
    the booking then takes, both expected."""

    what: str
    how: str
    costs: str
    saves_s: float
    left_s: float

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def expected_s(times: Times) -> float:
    return schedule.whole(schedule.sessions(times)).expected_s


def cuts(times: Times, budget_s: float) -> tuple[list[Cut], bool]:
    """Cuts in order until the booking's expected time is within `budget_s`, and whether it then is."""
    found: list[Cut] = []
    left_s = expected_s(times)
    while left_s > budget_s:
        for what, how, costs, changed in _candidates(times):
            trial = replace(times, booking=changed)
            takes_s = expected_s(trial)
            if takes_s < left_s - 1:
                found.append(Cut(what, how, costs, left_s - takes_s, takes_s))
                times, left_s = trial, takes_s
                break
        else:
            return found, False
    return found, True


def _candidates(times: Times) -> Iterator[tuple[str, str, str, Booking]]:
    """Single steps that shorten the booking, the least loss first."""
    booking = times.booking
    work, plan = booking.workload, booking.schedule
    for level in _longer_than_asked(times):
        prompts = {**work.prompts, level: _steady(times, level) * level}
        yield (f"shorter runs at concurrency {level}", f"workload.num_prompts: {{{level}: {prompts[level]}}}",
               "nothing: the steady window stays as long as asked",
               replace(booking, workload=replace(work, prompts=prompts)))  # fmt: skip
    most = max(work.repeats.values())
    if most > REPEATS_KEPT:
        yield _fewer_repeats(booking, most - 1)
    used = {level for item in booking.hypotheses for level in item.concurrency}
    used |= {min(work.concurrency), max(work.concurrency)}
    for level in sorted(set(work.concurrency) - used, key=lambda level: -_level_s(times, level)):
        kept = tuple(item for item in work.concurrency if item != level)
        compared = tuple(item for item in booking.comparisons.concurrency if item != level) or kept
        yield (f"leave out concurrency {level}", f"workload.concurrency without {level}",
               "a point of the sweep that no hypothesis names",
               replace(booking, workload=replace(work, concurrency=kept),
                       comparisons=replace(booking.comparisons, concurrency=compared)))  # fmt: skip
    if most > 1:
        yield _fewer_repeats(booking, most - 1)
    fewer = plan.sessions_per_arm - 1
    if fewer:
        yield (f"boot each arm {fewer} times" if fewer > 1 else "boot each arm once",
               f"schedule.sessions_per_arm: {fewer}", "comparisons find less, or nothing",
               replace(booking, schedule=replace(plan, sessions_per_arm=fewer)))  # fmt: skip


def _fewer_repeats(booking: Booking, most: int) -> tuple[str, str, str, Booking]:
    repeats = {level: min(count, most) for level, count in booking.workload.repeats.items()}
    return (f"at most {most} run{'s' * (most > 1)} of a concurrency", f"workload.repeats: {most}",
            "how far runs of one boot scatter is known less well",
            replace(booking, workload=replace(booking.workload, repeats=repeats)))  # fmt: skip


def _longer_than_asked(times: Times) -> list[int]:
    """Concurrencies whose runs are two waves or more longer than their steady window asks for, the most first."""
    work = times.booking.workload
    over = {level: work.num_prompts(level) / level - _steady(times, level) for level in work.concurrency}
    return sorted((level for level, waves in over.items() if waves >= 2),
                  key=lambda level: -over[level] * _wave_s(times, level))  # fmt: skip


def _steady(times: Times, level: int) -> int:
    """Waves of a run whose steady window is as long as the booking asks, a tenth to spare."""
    asked, wave_s = times.booking.thresholds, _wave_s(times, level)
    window_s = max(asked.steady_window_min_s, asked.steady_window_min_e2el * wave_s)
    return RAMPS + ceil(1.1 * window_s / wave_s)


def _wave_s(times: Times, level: int) -> float:
    """Of the arm whose waves are the shortest: its steady window is the first to be too short."""
    return min(times.wave(level, arm.name).expected_s for arm in times.booking.arms)


def _level_s(times: Times, level: int) -> float:
    return sum(phase.time.expected_s for session in schedule.sessions(times) for phase in session.phases
               if phase.concurrency == level)  # fmt: skip


def room(times: Times, budget_s: float) -> Sequence[str]:
    """What still fits into `budget_s`, in words; nothing where no further boot of each arm does."""
    plan = times.booking.schedule
    fitting = [boots for boots in range(plan.sessions_per_arm + 1, plan.sessions_per_arm + MORE_BOOTS_MAX + 1)
               if expected_s(_with_boots(times, boots)) <= budget_s]  # fmt: skip
    if not fitting:
        return []
    return [f"{fitting[-1]} boots of each arm fit as well: schedule.sessions_per_arm: {fitting[-1]}"]


def _with_boots(times: Times, boots: int) -> Times:
    booking = times.booking
    return replace(times, booking=replace(booking, schedule=replace(booking.schedule, sessions_per_arm=boots)))
