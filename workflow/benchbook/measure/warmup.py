"""When is a server warm enough to be measured? One reading is one wave at the run's own concurrency (method.md 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CONVERGED = "CONVERGED"
UNWARMED = "UNWARMED"


@dataclass(frozen=True)
class Verdict:
    """`accepted` ends the warmup; `verdict` and `reason` are what the report prints."""

    accepted: bool
    verdict: str
    reason: str


def two_agree(tpots_ms: Sequence[float | None], tolerance: float, min_readings: int) -> Verdict:
    """Accept when the last two readings' mean TPOT differ by at most `tolerance` of the smaller one.

    TPOT and not throughput, which is the noisier of the two (method.md 2). A reading without a TPOT (its requests
    failed) never agrees with anything. `tpots_ms` in ms, oldest first.
    """
    if len(tpots_ms) < max(2, min_readings):
        return Verdict(False, UNWARMED, f"{len(tpots_ms)} reading{'s' * (len(tpots_ms) != 1)}, too few to agree")
    before, last = tpots_ms[-2:]
    if not before or not last:
        return Verdict(False, UNWARMED, f"one of the last two of {len(tpots_ms)} readings has no TPOT")
    change = abs(last - before) / min(last, before)
    told = f"the last two of {len(tpots_ms)} readings differ by {100 * change:.1f} % in TPOT"
    if change <= tolerance:
        return Verdict(True, CONVERGED, f"{told}, within {100 * tolerance:g} %")
    return Verdict(False, UNWARMED, f"{told}, more than {100 * tolerance:g} %")
