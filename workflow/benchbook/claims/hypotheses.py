"""Table `hypotheses`: what was expected before measuring, judged by the verdicts of the comparisons it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims import sentences
from benchbook.claims.levels import EQUIVALENT, REFUSED, SOLID, SOLID_SCALE, WITHIN_NOISE
from benchbook.claims.records import Row, records

SUPPORTED, CONTRADICTED, TOO_SMALL = "supported", "contradicted", "too small to matter"
UNDECIDED, NOT_MEASURED, EXPLORATORY = "undecided", "not measured", "exploratory"


def table(
    comparisons: pd.DataFrame,
    verdicts: pd.DataFrame,
    booking: Mapping[str, Any],
    declared: Sequence[Mapping[str, Any]],
) -> pd.DataFrame:
    """Table `hypotheses`: one row per hypothesis and concurrency.

    `declared`: the hypotheses as they were frozen in the sessions' specifications before measuring; only these are
    judged, also when the booking file says otherwise by now. One that stands in the booking file and was not frozen,
    or was frozen with other words, is exploratory: what suggested it cannot prove it.
    """
    known = {row["comparison_id"]: row for row in records(comparisons)}
    levels = {row["claim_id"]: row for row in records(verdicts)}
    frozen = [_terms(item) for item in declared]
    later = [item for item in booking["hypotheses"] if _terms(item) not in frozen]
    rows = [
        _row(item, concurrency, known, levels, declared=before)
        for before, items in ((True, declared), (False, later))
        for item in items
        for concurrency in item["concurrency"]
    ]
    return schema.check(pd.DataFrame(rows), "hypotheses") if rows else schema.empty("hypotheses")


def outcome(level: str | None, row: Row | None, direction: str, smallest_pct: float) -> str:
    """What a verdict's `level` and its comparison say of a hypothesis.

    supported            SOLID or SOLID-SCALE, in the direction, the estimate at least the smallest effect. The near end
                         of the interval need only exclude 0, which SOLID says: to put it beyond the smallest effect
                         as well is a claim of superiority by a margin, which the sentence states where it holds
    contradicted         SOLID or SOLID-SCALE the other way
    too small to matter  the interval lies within the smallest effect, or EQUIVALENT and the margin lies within it; only
                         where the sessions are in balanced order
    undecided            all else that was measured
    """
    if level is None or row is None:
        return NOT_MEASURED
    if level == REFUSED:
        return REFUSED.lower() if row["runs"] or row["baseline_runs"] or row["incomplete_runs"] else NOT_MEASURED
    gain = _gain(row["effect_pct"], direction)
    interval = row["holm_low_pct"], row["holm_high_pct"]
    if level in (SOLID, SOLID_SCALE):
        if gain < 0:
            return CONTRADICTED
        if gain >= smallest_pct:
            return SUPPORTED
    if level not in (SOLID, EQUIVALENT, WITHIN_NOISE) or not row["balanced"]:
        return UNDECIDED
    inside = None not in interval and max(abs(end) for end in interval) < smallest_pct
    margin_inside = level == EQUIVALENT and row["equivalence_margin_pct"] <= smallest_pct
    return TOO_SMALL if inside or margin_inside else UNDECIDED


def _row(
    item: Mapping[str, Any], concurrency: int, known: Mapping[str, Row], levels: Mapping[str, Row], declared: bool
) -> Row:
    claim = f"{item['arm']}/{item['baseline']}/{item['metric']}/c{concurrency}"
    row, verdict = known.get(claim), levels.get(claim)
    level = verdict["level"] if verdict else None
    smallest = 100 * item["smallest_effect"]
    found = outcome(level, row, item["direction"], smallest) if declared else EXPLORATORY
    statement = sentences.expected(item, concurrency)
    measured = row or {}
    said = verdict["sentence"] if verdict else None
    wholly = found == SUPPORTED and _wholly_beyond(row, item["direction"], smallest)
    return {
        "hypothesis": item["name"],
        "statement": statement,
        "because": item["because"],
        "comparison_id": claim if row else None,
        "arm": item["arm"],
        "baseline": item["baseline"],
        "metric": item["metric"],
        "concurrency": concurrency,
        "direction": item["direction"],
        "smallest_effect_pct": smallest,
        **{name: measured.get(name) for name in ("effect_pct", "holm_low_pct", "holm_high_pct")},
        "level": level,
        "outcome": found,
        "sentence": sentences.judged(found, statement, said, wholly) if declared
        else sentences.exploratory(statement, said),
    }


def _terms(item: Mapping[str, Any]) -> tuple[Any, ...]:
    """What of a hypothesis decides its outcome: its name and its reason may be reworded."""
    names = ("arm", "baseline", "metric", "direction", "smallest_effect")
    return (*(item[name] for name in names), *sorted(item["concurrency"]))


def _gain(effect_pct: float, direction: str) -> float:
    return effect_pct if direction == "higher" else -effect_pct


def _wholly_beyond(row: Row | None, direction: str, smallest_pct: float) -> bool:
    ends: Iterable[float | None] = (row["holm_low_pct"], row["holm_high_pct"]) if row else (None,)
    return all(end is not None and _gain(end, direction) >= smallest_pct for end in ends)
