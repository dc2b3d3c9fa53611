"""The sessions of a booking in order, phase by phase, with the time that each will take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchbook.config.spec import slots
from benchbook.plan.estimate import Estimate, total
from benchbook.plan.times import Times

BOOT, WARMUP, RUN, RERUN, REST = "boot", "warmup", "run", "rerun", "rest"


@dataclass(frozen=True)
class Phase:
    """`what` is boot, warmup, run, rerun (runs that the gate has measured once more) or rest (client, gaps, teardown);
    `concurrency` is None but for warmup, run and rerun."""

    what: str
    concurrency: int | None
    time: Estimate


@dataclass(frozen=True)
class Planned:
    slot: str
    arm: str
    phases: tuple[Phase, ...]

    @property
    def time(self) -> Estimate:
        return total(phase.time for phase in self.phases)


def sessions(times: Times) -> list[Planned]:
    """Every session of the schedule in its order."""
    booking = times.booking
    arms = {arm.name: arm for arm in booking.arms}
    tasks = sum(times.readings(level)[0] + booking.workload.repeats[level] * len(booking.client)
                for level in booking.workload.concurrency)  # fmt: skip
    rest = Phase(REST, None, _with_source(total([times.beside(), times.gap().times(tasks, tasks, 1.5 * tasks)]),
                                          f"{times.beside().source}; {tasks} gaps, {times.gap().source}"))  # fmt: skip
    found = []
    for place in slots(booking):
        measured = list(_measured(times, place.arm))
        blocks = (phase for block in (measured[::-1] if place.descending else measured) for phase in block)
        found.append(Planned(place.name, place.arm, (Phase(BOOT, None, times.boot(arms[place.arm])), *blocks, rest)))
    return found


def _measured(times: Times, arm: str) -> Iterable[list[Phase]]:
    """Warmup and runs of `arm` at each concurrency, ascending."""
    booking = times.booking
    share, why = times.rerun_share()
    for level in sorted(booking.workload.concurrency):
        wave = times.wave(level, arm)
        runs = booking.workload.repeats[level] * len(booking.client)
        waves = runs * booking.workload.num_prompts(level) / level
        phases = [Phase(WARMUP, level, wave.times(*times.readings(level))), Phase(RUN, level, wave.times(*[waves] * 3))]
        if share:
            phases.append(Phase(RERUN, level, _with_source(wave.times(0, share * waves, waves), why)))
        yield phases


def whole(planned: Iterable[Planned]) -> Estimate:
    return total(session.time for session in planned)


def _with_source(time: Estimate, source: str) -> Estimate:
    return Estimate(time.low_s, time.expected_s, time.high_s, source)
