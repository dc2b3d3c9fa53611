"""All rules over one booking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchbook.preflight import (
    autotune,
    boots,
    capture,
    client,
    cores,
    front_end,
    gpu_memory,
    gpus,
    host_memory,
    kv_cache,
    overrides,
    prompts,
    readable,
    runs,
    sglang,
    speculation,
)
from benchbook.preflight.asked import Asked, ServerAsked
from benchbook.preflight.finding import Finding, in_order, together
from benchbook.preflight.value import Value


def check(asked: Asked, earlier: Sequence[boots.Boot], available: Value[float]) -> list[Finding]:
    """What speaks against the booking, most serious first, overridden errors with the reason why they may stand.

    `earlier`: boots in the order of time. `available`: cores that server and client share.
    """
    found = [*speculation.findings(asked), *runs.findings(asked)]
    for arm in asked.arms:
        found += _of_arm(arm, asked, earlier, available)
    return in_order(overrides.applied(together(found), asked.allow))


def _of_arm(
    arm: ServerAsked, asked: Asked, earlier: Sequence[boots.Boot], available: Value[float]
) -> Iterable[Finding]:
    measured = boots.like(arm, asked, earlier)
    yield from readable.findings(arm)
    yield from gpus.findings(arm, asked)
    yield from capture.findings(arm, asked)
    yield from sglang.findings(arm, asked, measured)
    yield from autotune.findings(arm, asked)
    yield from gpu_memory.findings(arm, asked, measured)
    yield from kv_cache.findings(arm, asked, measured)
    yield from host_memory.findings(arm, asked)
    yield from cores.findings(arm, asked, available)
    yield from front_end.findings(arm, asked)
    yield from client.findings(arm, asked, available)
    yield from prompts.findings(arm, asked)
