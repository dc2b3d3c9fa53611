"""The level of one claim, by the rules of method.md 10, first match. Nothing else decides what a report may say."""

from __future__ import annotations

from dataclasses import dataclass

REFUSED, CONFOUNDED, UNREPLICATED = "REFUSED", "CONFOUNDED", "UNREPLICATED"
WITHIN_NOISE, EQUIVALENT, SOLID_SCALE, SOLID = "WITHIN NOISE", "EQUIVALENT", "SOLID-SCALE", "SOLID"
IN_DOUBT = (REFUSED, CONFOUNDED, UNREPLICATED, WITHIN_NOISE)
ORDER = (*IN_DOUBT, EQUIVALENT, SOLID_SCALE, SOLID)
"""From the least that may be said to the most."""

COMPARED, SCALED = frozenset({"comparison", "scale"}), frozenset({"comparison", "scale", "floor"})
RUNS_MIN = 3
SCALE_RATIO = 2.0
RETOKENIZED_MIN_PCT = 2.0
BOOKINGS_MIN = 3


@dataclass(frozen=True)
class Claim:
    """What the rules look at.

    kind            comparison | scale | value | fit | floor | occupancy
    tags            of the runs behind it, both sides; `voided_by`: those that make its metric unfit; `moved_by`: those
                    that can move it by a factor 2 or more
    incomplete      runs that failed, fell short or are missing where it was measured
    impossible      runs in which Little's check has the wrong sign: more in flight than clients
    refused         what the table it comes from says against it
    bookings        behind each side, where the sides are of different bookings; None where they are of one
    sessions, runs  of the side that has fewer; `sessions_needed`: boots that SOLID asks
    effect_pct, interval  in %, the interval family-wise; of a fit the fixed cost and its interval in ms
    worst_ratio     of the nearest runs, at least 1 when they do not overlap
    """

    kind: str
    tags: frozenset[str] = frozenset()
    voided_by: frozenset[str] = frozenset()
    moved_by: frozenset[str] = frozenset()
    incomplete: int = 0
    impossible: int = 0
    refused: str | None = None
    bookings: int | None = None
    sessions: int = 0
    sessions_needed: int = 3
    runs: int = 0
    effect_pct: float | None = None
    interval: tuple[float, float] | None = None
    smallest_pct: float = 1.0
    balanced: bool = True
    equivalent: bool = False
    worst_ratio: float | None = None


def level(claim: Claim) -> tuple[str, str | None]:
    """The level of `claim` and what decided it.

    REFUSED and CONFOUNDED ask what was measured, UNREPLICATED how often, the others what came out. Literally any tag
    confounds, also one that voids another metric: a bimodal TTFT leaves TPOT standing, but as CONFOUNDED.

    A value, a floor and an occupancy state a figure and compare it with nothing: with enough boots and no tag they are
    SOLID. A fit is SOLID when the interval of its fixed cost excludes 0 as well. Order and size of an effect are asked
    of comparisons only; a comparison that fails one of them is "the rest" of method.md 10, WITHIN NOISE.
    """
    refused = _refused(claim)
    if refused:
        return REFUSED, refused
    tags = ", ".join(sorted(claim.tags))
    apart = claim.worst_ratio is not None and claim.worst_ratio >= SCALE_RATIO
    if claim.kind in SCALED and apart and not claim.tags & claim.moved_by:
        verb = "does" if len(claim.tags) == 1 else "do"
        return SOLID_SCALE, f"in spite of {tags}, which {verb} not move it by a factor of 2" if tags else None
    across = claim.bookings is not None and claim.bookings < BOOKINGS_MIN
    if tags or across:
        return CONFOUNDED, ", ".join(filter(None, (tags, "BOOKING" if across else "")))
    if claim.sessions < claim.sessions_needed or claim.runs < RUNS_MIN:
        return UNREPLICATED, _too_few(claim)
    if claim.kind not in COMPARED and claim.kind != "fit":
        return SOLID, None
    doubt = _doubt(claim)
    if doubt is None:
        return SOLID, None
    if claim.kind in COMPARED and claim.equivalent:
        return EQUIVALENT, None
    return WITHIN_NOISE, doubt


def _refused(claim: Claim) -> str | None:
    if claim.incomplete or "INCOMPLETE" in claim.tags:
        return f"INCOMPLETE: {_of(claim.incomplete, 'run')} failed or fell short" if claim.incomplete else "INCOMPLETE"
    voiding = sorted(claim.tags & claim.voided_by)
    if voiding:
        return ", ".join(voiding) + (f": {claim.refused}" if claim.refused else "")
    if claim.impossible:
        return f"more requests in flight than clients in {_of(claim.impossible, 'run')}: a clock or a count is wrong"
    if claim.refused:
        return claim.refused
    if "RETOKENIZED" in claim.tags and claim.kind in COMPARED and abs(claim.effect_pct or 0) < RETOKENIZED_MIN_PCT:
        return "RETOKENIZED: counts of the client carry no effect below 2 %"
    return None


def _too_few(claim: Claim) -> str:
    if claim.sessions < claim.sessions_needed:
        return f"{_of(claim.sessions, 'boot')} of {claim.sessions_needed}"
    return f"{_of(claim.runs, 'run')} of {RUNS_MIN}"


def _doubt(claim: Claim) -> str | None:
    """Why an effect with enough boots and no tag is not SOLID; None when it is."""
    if claim.interval is None or claim.effect_pct is None:
        return "there is no interval"
    if claim.interval[0] <= 0 <= claim.interval[1]:
        return "the interval includes 0"
    if claim.kind in COMPARED and not claim.balanced:
        return "the boots are not in balanced order: drift cannot be told from the effect"
    if claim.kind in COMPARED and abs(claim.effect_pct) < claim.smallest_pct:
        return "the effect is below the smallest of interest"
    return None


def _of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
