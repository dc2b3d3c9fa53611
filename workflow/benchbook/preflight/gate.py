"""Preflight before a session: what was found goes to preflight.json, and an error that stands stops the booking."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchbook.config.records import Booking
from benchbook.errors import PreflightError
from benchbook.preflight import asked, gather, printed
from benchbook.preflight.boots import Boot
from benchbook.preflight.check import check
from benchbook.preflight.finding import Finding

SCHEMA = 1


def findings(booking: Booking, root: Path, boots: Sequence[Boot] = ()) -> list[Finding]:
    """All of a booking of the project at `root`, on this machine where it is the node; `boots` count as the latest."""
    wanted = asked.of_booking(booking, root)
    return check(wanted, [*gather.earlier(root, wanted), *boots], gather.cores(wanted))


def dumped(booking: str, found: Sequence[Finding]) -> dict[str, Any]:
    """The findings as `benchbook preflight --json` prints them and preflight.json holds them."""
    return {
        "schema": SCHEMA, "booking": booking, "stops": any(item.stops for item in found),
        "findings": [{**asdict(item), "source": item.source} for item in found],
    }  # fmt: skip


def write(path: Path, booking: str, found: Sequence[Finding]) -> None:
    """preflight.json, whole or not at all; a file that says the same is left alone."""
    text = json.dumps(dumped(booking, found), indent=1) + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def refuse(booking: str, found: Sequence[Finding]) -> None:
    """Raise PreflightError, every error that stands in it, or return."""
    standing = [item for item in found if item.stops]
    if not standing:
        return
    told = "\n".join(line for item in standing for line in printed.block(item))
    rules = ", ".join(dict.fromkeys(item.rule for item in standing))
    raise PreflightError(
        f"booking {booking} is stopped by {rules}.\n{told}\nCorrect the booking file, or let it stand by name and "
        "with a reason: preflight: {allow: {RULE: \"why\"}}."
    )
