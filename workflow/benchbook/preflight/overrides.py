"""Errors that a booking file lets stand, each by its rule's name and with a reason (docs/engines.md 4.18)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from benchbook.preflight.finding import ERROR, WARNING, Finding


def applied(findings: Iterable[Finding], allow: Mapping[str, str]) -> Iterator[Finding]:
    """The findings, overridden errors with their reason, and a warning for each override without an error of its rule.

    Names of rules that do not exist are refused when the booking file is read (config/rules.py).
    """
    used = set()
    for found in findings:
        if found.severity == ERROR and found.rule in allow:
            used.add(found.rule)
            yield replace(found, allowed=allow[found.rule])
        else:
            yield found
    for rule in allow:
        if rule not in used:
            yield Finding("override-unused", WARNING, None, f"preflight.allow.{rule}",
                          f"Nothing is found by {rule} that would stop the booking.", "",
                          "Remove the override: it would hide an error that comes later.")  # fmt: skip
