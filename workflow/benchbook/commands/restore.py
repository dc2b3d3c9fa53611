"""`benchbook restore`: the booking of an archive into this project, and its report made anew."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "restore",
        help="put the booking of an archive into this project and make its report anew; needs no engine and no GPU",
        description="Nothing is overwritten: a booking that is there already is refused. The report made from the "
        "archived raw files is compared with the archived one, byte for byte.",
    )
    command.add_argument("archive", type=Path, metavar="ARCHIVE", help="a zip that `snakemake archive` wrote")
    command.add_argument("--cores", type=int, default=2, metavar="N", help="cores for snakemake (default: 2)")
    command.add_argument("--no-report", action="store_true", help="put the files there only")
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from benchbook.archive import restore
    from benchbook.measure.store import read_json

    root = Path.cwd()
    restored = restore.restore(given.archive, root)
    results = root / "results" / restored.booking
    sessions = [one for store in restored.stores for one in read_json(results / f"sessions/{store}.json")["sessions"]]
    told = f"{len(sessions)} session{'s' * (len(sessions) != 1)}, every raw file as it was measured"
    print(f"results/{restored.booking} restored: {told}.", file=sys.stderr)
    difference = restore.code_difference(restored, root)
    if given.no_report:
        print(f"Its report: snakemake --cores {given.cores} --config booking={restored.booking} -- report")
        return 0
    if restore.make_report(restored.booking, root, given.cores):
        print(f"benchbook: the report of {restored.booking} could not be made; see the lines above.", file=sys.stderr)
        return 1
    if restore.same_report(given.archive, restored.booking, root):
        print(f"reports/{restored.booking}/report.html is the archived one, byte for byte.")
        return 0
    print(f"reports/{restored.booking}/report.html is not the archived one. {_why(difference)}", file=sys.stderr)
    return 1


def _why(difference: object) -> str:
    from benchbook.archive.restore import CodeDifference

    assert isinstance(difference, CodeDifference)
    if not difference.any:
        return "The code is the same; benchbook verify names what differs."
    named = [*difference.changed, *difference.gone, *difference.new]
    checkout = f"git checkout {difference.commit}" if difference.commit else "take the code in the archive"
    return (f"The code here is another: {len(named)} files, such as {named[0]}. For the same report {checkout}, and "
            "restore again.")  # fmt: skip
