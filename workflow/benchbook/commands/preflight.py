"""`benchbook preflight`: pitfalls of a booking, before anything is hired."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "preflight",
        help="find the pitfalls of a booking before it costs money, each with its arithmetic and remedy",
        description="Holds a booking against docs/engines.md and docs/method.md. Exits 0 when nothing stops it, 1 when "
        "an error does that the booking file does not allow by name, 2 when it cannot be read.",
    )
    command.add_argument("booking", metavar="BOOKING", help="name or path of a file in config/bookings/")
    command.add_argument("--json", action="store_true", help="print the findings as JSON")
    command.add_argument("--log", type=Path, metavar="SERVER.log", help="log of an earlier boot of such a server, for "
                         "what it measured of memory and graphs")  # fmt: skip
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from benchbook.config.load import load_booking
    from benchbook.preflight import gate, gather, printed

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that is not UTF-8
    root, name = _place(given.booking)
    booking = load_booking(root, name)
    found = gate.findings(booking, root, [gather.of_log(given.log)] if given.log else [])
    if given.json:
        print(json.dumps(gate.dumped(booking.id, found), indent=1, ensure_ascii=False))
    else:
        print("\n".join(printed.lines_of(booking.id, found)))
    return 1 if any(item.stops for item in found) else 0


def _place(booking: str) -> tuple[Path, str]:
    """The project's folder and the booking's name: of a name here, or of a path .../config/bookings/NAME.yaml."""
    from benchbook.errors import ConfigError

    path = Path(booking)
    if path.suffix not in (".yaml", ".yml") and len(path.parts) == 1:
        return Path.cwd(), booking
    if path.resolve().parent.parts[-2:] != ("config", "bookings") or path.suffix != ".yaml":
        raise ConfigError(f"{booking} is no booking of a project: name a file config/bookings/NAME.yaml, or its NAME.")
    return path.resolve().parents[2], path.stem
