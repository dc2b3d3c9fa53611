"""`benchbook retry`: have a booking's failed runs measured again."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "retry",
        help="have the next `snakemake report` measure a booking's failed runs again",
        description="Sessions with runs that did not end well are due again; good runs are kept and not repeated, and "
        "nothing that was measured is removed.",
    )
    command.add_argument("booking", metavar="BOOKING", help="name of a file in config/bookings/")
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from benchbook.config import spec
    from benchbook.config.load import load_booking
    from benchbook.errors import ConfigError
    from benchbook.measure.store import Store

    booking = load_booking(Path.cwd(), given.booking)
    if booking.recorded:
        raise ConfigError(
            f"booking {booking.id} is a recording: nothing of it can be measured again. Correct {booking.recorded} or "
            "the booking file."
        )
    if booking.sealed:
        raise ConfigError(f"booking {booking.id} is sealed: nothing of it may be measured. Set sealed: false first.")
    results = Path("results") / booking.id
    due = 0
    if not (results / "sessions").is_dir():
        print(f"Nothing of booking {booking.id} was measured yet: snakemake --cores all report")
        return 0
    for value in spec.session_specs(booking, Path.cwd()):
        name = spec.store_name(value)
        manifest = results / "sessions" / f"{name}.json"
        lacking = Store(results / "raw" / name).lacks(value)
        if lacking and manifest.exists():
            manifest.unlink()  # made anew from the store, which keeps every session
            due += 1
            print(f"{name}: {len(lacking)} runs are due again")
    print(f"Now run: snakemake --cores all report --config booking={booking.id}" if due else
          f"Nothing is due: every run of {booking.id} has a result. Declare a failure that still stands as expected.")
    return 0
