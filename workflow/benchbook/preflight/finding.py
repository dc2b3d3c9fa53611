"""What preflight says of a booking: one finding per rule, with the arithmetic to do again by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from benchbook.preflight.rules import RULES

ERROR, WARNING, NOTE = SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """`rule`: its name, a key of rules.RULES. `arm`: None for the booking as a whole; several, comma separated, where
    they are alike. `place`: the key to look at. `evidence`: the values and where each is from. `arithmetic`: empty
    where there is none. `allowed`: the reason that the booking file gives for going on all the same, else None."""

    rule: str
    severity: str
    arm: str | None
    place: str
    evidence: str
    arithmetic: str
    remedy: str
    allowed: str | None = None

    @property
    def source(self) -> str:
        """The line of docs/ that the rule rests on, as "engines.md 4.1"."""
        return RULES[self.rule].source

    @property
    def finding_id(self) -> str:
        return self.rule if self.arm is None else f"{self.rule}/{self.arm.replace(', ', '+')}"

    @property
    def stops(self) -> bool:
        return self.severity == ERROR and self.allowed is None


def together(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that differ in nothing but the arm (and its place) made one that names all of their arms."""
    merged: dict[tuple[str, ...], Finding] = {}
    for found in findings:
        key = (found.rule, found.severity, found.evidence, found.arithmetic, found.remedy)
        first = merged.get(key)
        if first is None:
            merged[key] = found
        elif first.arm is not None and found.arm is not None:
            merged[key] = replace(first, arm=f"{first.arm}, {found.arm}")
    return list(merged.values())


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Errors that stop the booking first, then overridden ones, warnings and notes; the order of rules within each."""
    names = list(RULES)
    return sorted(findings, key=lambda found: (
        SEVERITIES.index(found.severity), found.allowed is not None, names.index(found.rule), found.arm or "",
    ))  # fmt: skip
