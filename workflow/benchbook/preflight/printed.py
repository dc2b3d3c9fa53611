"""Findings for the terminal: one block each, the most serious first."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from benchbook.preflight.finding import SEVERITIES, Finding

WIDTH = 100
_INDENT = "         "


def lines_of(booking: str, findings: Sequence[Finding]) -> Iterator[str]:
    for found in findings:
        yield from block(found)
        yield ""
    yield f"{booking}: {counted(findings)}"


def block(found: Finding) -> Iterator[str]:
    """One finding: severity and rule, then what, arithmetic, remedy and source."""
    mark = "allowed" if found.allowed is not None else found.severity
    arm = f" ({found.arm})" if found.arm else ""
    yield f"{mark.upper():<8} {found.rule}{arm}, at {found.place}"
    yield from _wrapped(found.evidence)
    if found.arithmetic:
        yield from _wrapped(f"= {found.arithmetic}")
    if found.allowed is not None:
        yield from _wrapped(f"Allowed by the booking file: {found.allowed}")
    else:
        yield from _wrapped(f"> {found.remedy}")
    yield f"{_INDENT}[{found.source}]"


def counted(findings: Sequence[Finding]) -> str:
    numbers = Counter("allowed" if found.allowed is not None else found.severity for found in findings)
    parts = [f"{numbers[name]} {name}{'s' * (numbers[name] != 1)}" for name in SEVERITIES if numbers[name]]
    parts += [f"{numbers['allowed']} allowed by name"] if numbers["allowed"] else []
    return ", ".join(parts) or "nothing found"


def _wrapped(text: str) -> list[str]:
    hanging = _INDENT + ("  " if text[:2] in ("= ", "> ") else "")
    return textwrap.wrap(text, WIDTH, initial_indent=_INDENT, subsequent_indent=hanging, break_long_words=False,
                         break_on_hyphens=False)
