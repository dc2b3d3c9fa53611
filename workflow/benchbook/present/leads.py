"""What each chapter says first: sentences of verdicts, and counts. Nothing else may name a direction or a cause."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from benchbook.present.claim_chapters import Claim, claim_of
from benchbook.present.levels import LEVELS, Level

QUOTABLE = ("SOLID", "SOLID-SCALE", "EQUIVALENT")
_OF_KIND = {"numbers": "floor", "sweep": "scale", "fixed_cost": "fit", "elimination": "occupancy"}
MOST = 6

COUNTS = {
    "numbers": "What this booking had to work with: the node as its own tools described it, the bytes that a decode "
               "step must read, and the price. What is not known says so where it would stand.",
    "metrics": "Where it could be made, Little’s check refuses the throughput of [[little_refused]] of [[runs]] runs "
               "as steady and warns about [[little_warn]].",
    "baseline": "Server configurations (arms): [[arms]], in sessions: [[sessions]]. Nothing differs between the arms "
                "but what the table lists; an arm is compared with the baseline of its comparison, by default the "
                "first.",
    "boot": "Sessions complete: [[sessions_complete]] of [[sessions]]. Of [[wall_s]] of node time [[run_share]] lay "
            "inside measured runs. Failures: [[failures]], which took [[failures_cost_s]].",
    "changes": "Claims judged beyond single values: [[claims]]. A difference between arms is one only where its "
               "level allows it: filled shapes may be quoted, hollow ones may not.",
    "elimination": "A cause is ruled out by a measurement of that cause, never by its being unlikely.",
}  # fmt: skip


def says(verdicts: pd.DataFrame) -> Mapping[str, list[tuple[Level, Claim]]]:
    """For each chapter the verdicts it begins with, each with its level: those of its kind, at most MOST; of the
    changes what was declared before measuring; of the summary what may be quoted."""
    order = {level.name: place for place, level in enumerate(LEVELS)}
    ranked = verdicts.assign(place=verdicts["level"].map(order)).sort_values("place", kind="stable")
    declared = (ranked["kind"] == "comparison") & ~ranked["exploratory"].fillna(True).astype(bool)
    quotable = ranked["level"].isin(QUOTABLE) & (ranked["kind"] != "value")
    picked = {"summary": quotable, "changes": declared}
    picked |= {chapter: ranked["kind"] == kind for chapter, kind in _OF_KIND.items()}
    levels = {level.name: level for level in LEVELS}
    return {
        chapter: [(levels[row["level"]], claim_of(row)) for row in ranked[rows].head(MOST).to_dict("records")]
        for chapter, rows in picked.items()
    }
