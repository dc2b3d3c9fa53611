"""`benchbook session`: measure one session from its written specification."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "session",
        help="measure one session from its written specification; needs no Snakemake and no network",
        description="Boot, warm up, measure the runs that the store lacks, take down. Interrupt it and start it again: "
        "finished runs of finished sessions stay.",
    )
    command.add_argument("spec", type=Path, metavar="SPEC", help="a specification that `benchbook spec` wrote")
    command.add_argument("--store", type=Path, required=True, metavar="DIR", help="raw folder to measure into")
    command.add_argument("--root", type=Path, default=Path(), metavar="DIR",
                         help="folder that the specification's relative paths start from (default: here)")  # fmt: skip
    command.add_argument("--manifest", type=Path, metavar="FILE", help="also write the store's manifest there")
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from benchbook.measure import session, specification
    from benchbook.measure.interrupt import Interrupted
    from benchbook.measure.progress import Told

    try:
        manifest = session.measure(specification.load(given.spec), given.store, given.root, Told(sys.stderr))
    except Interrupted as stop:
        print(f"benchbook: {stop}; what was measured is kept, start again to go on.", file=sys.stderr)
        return 128 + stop.number
    if given.manifest is not None:
        given.manifest.parent.mkdir(parents=True, exist_ok=True)
        given.manifest.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    left = sorted(set(manifest["planned"]) - set(manifest["measured"]))
    if left:
        print(f"benchbook: {len(left)} of {len(manifest['planned'])} runs did not end well ({', '.join(left)}); see "
              f"session.json and the records in {given.store}.", file=sys.stderr)  # fmt: skip
    return 1 if left else 0
