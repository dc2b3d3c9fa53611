"""`benchbook verify`: every number of a report made anew from its raw files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchbook.commands.kind import Commands

PRINTED = 50


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "verify",
        help="make every number of a report anew from its raw files and name what differs",
        description="Exit code 0: everything is what the raw files give; 1: something is not, and is named by its "
        "address; 2: there is nothing to verify it with.",
    )
    command.add_argument("report", type=Path, metavar="REPORT", help="a folder reports/BOOKING")
    command.add_argument("--cores", type=int, default=2, metavar="N", help="cores for snakemake (default: 2)")
    command.add_argument("--archived-code", action="store_true", help="make it anew by the code in its archive instead "
                         "of this one; runs that code, so only for an archive whose origin you trust")  # fmt: skip
    command.add_argument("--json", action="store_true", help="print what was compared and found as JSON")
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from benchbook.errors import ArchiveError
    from benchbook.verify import check

    def say(line: str) -> None:
        print(f"verify: {line}", file=sys.stderr, flush=True)

    try:
        told = check.verify(given.report, given.cores, say, given.archived_code)
    except ArchiveError as error:
        print(f"benchbook: {error}", file=sys.stderr)
        return 2
    if given.json:
        print(check.dumped(told))
    else:
        for finding in told.findings[:PRINTED]:
            print(finding)
        if len(told.findings) > PRINTED:
            print(f"and {len(told.findings) - PRINTED} more; --json has all of them")
        for remark in told.remarks:
            print(remark)
        verdict = f"NOT VERIFIED, {len(told.findings)} findings" if told.findings else "verified"
        print(f"{verdict}: {check.summary(told)}")
    return 1 if told.findings else 0
