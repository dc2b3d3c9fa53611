"""`benchbook trace`: where a number of a report comes from, down to the raw lines."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "trace",
        help="say where a number of a report comes from, down to the raw lines",
        description="Without an address: the tables. With a table's name: its rows and columns. Exit code 1: there is "
        "no such number.",
    )
    command.add_argument("report", type=Path, metavar="REPORT", help="a folder reports/BOOKING")
    command.add_argument("address", nargs="?", metavar="ADDRESS", help="table:row:column, or figure:name")
    command.add_argument("--raw", type=int, default=0, metavar="N", help="print the first N lines of raw files, too")
    command.add_argument("--json", action="store_true", help="print the chain as JSON")
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from dataclasses import asdict

    from benchbook.archive.place import tree_of
    from benchbook.present.address import row_key
    from benchbook.provenance import trace, traced
    from benchbook.schema import TABLES

    with tree_of(given.report) as tree:
        material = traced.material(tree, given.report)
        if changed := traced.changed_since(tree, given.report):
            print(f"trace: the page shows an earlier state of {', '.join(changed)}; for the same numbers run snakemake "
                  "report.", file=sys.stderr)  # fmt: skip
        if given.address is None:
            for name, frame in material.frames.items():
                print(f"{name:<18} {len(frame):>6} rows")
            return 0
        if given.address in material.frames:
            print("columns:", ", ".join(TABLES[given.address]))
            for row in material.frames[given.address].to_dict("records"):
                print(row_key(given.address, row))
            return 0
        found = trace.trace(given.address, material)
        if given.json:
            print(json.dumps(asdict(found), indent=1, default=str))
            return 0
        for label, text in trace.lines(found):
            print(f"{label:<20} {text}")
        results = tree / "results" / given.report.resolve().name
        for raw in found.raw if given.raw else ():
            print(f"\n{raw.file}{f', from line {raw.lines[0]}' if raw.lines else ''}")
            for line in traced.raw_lines(results, raw, given.raw):
                print(f"  {line}")
    sys.stdout.flush()
    return 0
