"""Table `preflight`: the findings as a report shows them, from configuration and raw files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.preflight.asked import Asked
from benchbook.preflight.boots import Boot
from benchbook.preflight.check import check
from benchbook.preflight.finding import Finding
from benchbook.preflight.flags import named
from benchbook.preflight.value import Value


def table(asked: Asked, sessions: pd.DataFrame, boots: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """`sessions`: the table of that name. `boots`: entries of derive.boot.facts, of the booking's own sessions only:
    the table must not depend on what else lies under results/, nor on the machine that makes it."""
    return frame(check(asked, _own(asked, sessions, boots), cores(asked, sessions)))


def frame(findings: Sequence[Finding]) -> pd.DataFrame:
    rows = [
        {
            "finding_id": found.finding_id, "rule": found.rule, "severity": found.severity, "arm": found.arm,
            "place": found.place, "evidence": found.evidence, "arithmetic": found.arithmetic or None,
            "remedy": found.remedy, "source": found.source, "allowed": found.allowed,
        }
        for found in findings
    ]  # fmt: skip
    return schema.check(pd.DataFrame(rows), "preflight") if rows else schema.empty("preflight")


def cores(asked: Asked, sessions: pd.DataFrame) -> Value[float]:
    """What the node's file says, else the fewest that a session was allowed."""
    declared = asked.node["cores"]
    if declared is not None:
        return Value(float(declared), f"the node has {declared} cores by its file", True)
    recorded = sessions["cores"].dropna()
    if recorded.empty:
        return Value(None, f"node {asked.node['name']} does not say how many cores it has, and no session tells")
    return Value(float(recorded.min()), f"the sessions were allowed {int(recorded.min())} cores (affinity)")


def _own(asked: Asked, sessions: pd.DataFrame, boots: Sequence[Mapping[str, Any]]) -> list[Boot]:
    """The booking's own boots, each with the flags of its arm."""
    arms = {arm.name: arm for arm in asked.arms}
    of_session = sessions.set_index("session_id")["arm"]
    found = []
    for boot in sorted(boots, key=lambda boot: str(boot["session"])):
        arm = arms.get(str(of_session.get(boot["session"], "")))
        if arm is not None:
            found.append(Boot(str(boot["session"]), asked.model["name"], arm.engine, asked.node["name"],
                              named(arm.args), boot["facts"]))  # fmt: skip
    return found
