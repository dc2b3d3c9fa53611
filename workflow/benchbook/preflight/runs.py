"""Runs and boots: whole waves, enough of them, requests for percentiles, boots for claims
(docs/method.md 1, 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchbook.derive import waves
from benchbook.preflight.asked import Asked, Level
from benchbook.preflight.finding import ERROR, NOTE, WARNING, Finding

WAVES_MIN = 4
P90_MIN, P99_MIN = 64, 662
_PLACE = "workload.num_prompts"


def partial_loss(prompts: int, concurrency: int) -> float:
    """Share by which a last wave that is not full lowers throughput at a fixed output length: the run takes as long as
    one of whole waves and has fewer tokens, 1 - (N/C) / ceil(N/C) (method.md 3)."""
    share = waves.waves(prompts, concurrency)
    return 1 - share / math.ceil(share)


def findings(asked: Asked) -> Iterator[Finding]:
    partial = [level for level in asked.levels if not waves.whole(level.prompts, level.concurrency)]
    if partial:
        yield _partial(partial)
    few = [level for level in asked.levels if level.prompts < WAVES_MIN * level.concurrency]
    if few:
        yield Finding(
            "waves-few", WARNING, None, _PLACE,
            f"Runs at concurrency {_listed(few)} have fewer than {WAVES_MIN} waves: most of them is ramp and "
            "drain.",
            "; ".join(f"{level.prompts:,} / {level.concurrency:,} = {level.prompts / level.concurrency:g} waves"
                      for level in few),
            f"Give {WAVES_MIN} x concurrency prompts or more, or waves: {WAVES_MIN} and more.",
        )  # fmt: skip
    yield from _percentiles(asked)
    yield from _boots(asked)


def _listed(levels: list[Level]) -> str:
    return ", ".join(f"{level.concurrency:,}" for level in levels)


def _partial(levels: list[Level]) -> Finding:
    sums = []
    for level in levels:
        share = waves.waves(level.prompts, level.concurrency)
        loss = 100 * partial_loss(level.prompts, level.concurrency)
        sums.append(f"{level.prompts:,} / {level.concurrency:,} = {share:g} waves: 1 - {share:g} / {math.ceil(share)} "
                    f"= {loss:.1f} % too low")  # fmt: skip
    worst = max(levels, key=lambda level: partial_loss(level.prompts, level.concurrency))
    below = worst.prompts // worst.concurrency * worst.concurrency
    use = f"{below:,} or {below + worst.concurrency:,}" if below else f"{worst.concurrency:,}"
    return Finding(
        "partial-wave", ERROR, None, _PLACE,
        f"The last wave is not full at concurrency {_listed(levels)}, and throughput divides by its whole time. "
        "Source 000's 100 prompts at 32 read 21 % low.",
        "; ".join(sums), f"Give whole waves: {use} prompts at concurrency {worst.concurrency:,}.",
    )  # fmt: skip


def _percentiles(asked: Asked) -> Iterator[Finding]:
    without = {name: [level for level in asked.levels if level.prompts < least]
               for name, least in (("p90", P90_MIN), ("p99", P99_MIN))}  # fmt: skip
    if not without["p99"]:
        return
    sums = "; ".join(
        f"{name} needs {least}: "
        f"{', '.join(f'{level.prompts:,} at {level.concurrency:,}' for level in without[name])}"
        for name, least in (("p90", P90_MIN), ("p99", P99_MIN)) if without[name]
    )  # fmt: skip
    severity = WARNING if without["p90"] else NOTE
    names = "p90 and p99" if without["p90"] else "p99"
    yield Finding("percentiles-few", severity, None, _PLACE,
                  f"Runs have too few requests for {names}, which the report withholds there.", sums,
                  "Give more prompts where these percentiles matter.")  # fmt: skip


def _boots(asked: Asked) -> Iterator[Finding]:
    if len(asked.arms) < 2 or asked.recorded:
        return
    if asked.sessions_per_arm < asked.sessions_min:
        yield Finding("boots-few", NOTE, None, "schedule.sessions_per_arm",
                      "A flag acts on the boot: with so few of them a difference between arms stays UNREPLICATED, "
                      "however many runs there are.", f"{asked.sessions_per_arm} < {asked.sessions_min} boots an arm",
                      f"Set schedule.sessions_per_arm: {asked.sessions_min}.")  # fmt: skip
    if asked.order == "blocked" and asked.sessions_per_arm > 1:
        yield Finding("order-blocked", WARNING, None, "schedule.order",
                      "All boots of one arm come before those of the next: a drift of the node becomes an effect.",
                      "a drift of 0.5 % a run makes blocks of three differ in 27 % of the cases where nothing "
                      "does",
                      "Set schedule.order: ABBA.")  # fmt: skip
