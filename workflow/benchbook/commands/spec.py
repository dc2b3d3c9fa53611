"""`benchbook spec`: write the specification of every session of a booking."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "spec", help="write the specification of every session of a booking, to be measured on another node",
        description="Writes nothing for a booking that preflight stops.",
    )  # fmt: skip
    command.add_argument("booking", metavar="BOOKING", help="name of a file in config/bookings/")
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the specifications")
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from benchbook.config import spec
    from benchbook.config.load import load_booking
    from benchbook.preflight import gate

    booking = load_booking(Path.cwd(), given.booking)
    gate.refuse(booking.id, gate.findings(booking, Path.cwd()))
    given.out.mkdir(parents=True, exist_ok=True)
    for value in spec.session_specs(booking, Path.cwd()):
        path = given.out / f"{spec.store_name(value)}.json"
        path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(path)
    return 0
