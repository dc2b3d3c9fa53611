"""The command `benchbook`: what is useful by itself, also to people who never run the pipeline."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchbook import __version__
from benchbook.errors import BenchbookError


def main(argv: Sequence[str] | None = None) -> None:
    """Run one subcommand and exit: 0 fine, 1 something is wrong with the content, 2 it cannot be read."""
    parser = argparse.ArgumentParser(prog="benchbook", description=__doc__)
    parser.add_argument("--version", action="version", version=f"benchbook {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_session(commands)
    _add_spec(commands)
    _add_retry(commands)
    given = parser.parse_args(argv)
    run: Callable[[argparse.Namespace], int] = given.run
    try:
        sys.exit(run(given))
    except BenchbookError as error:
        print(f"benchbook: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        print(f"benchbook: {error}. Name a path that can be read and written.", file=sys.stderr)
        sys.exit(2)


def _add_session(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    command.set_defaults(run=_session)


def _session(given: argparse.Namespace) -> int:
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


def _add_spec(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "spec", help="write the specification of every session of a booking, to be measured on another node"
    )
    command.add_argument("booking", metavar="BOOKING", help="name of a file in config/bookings/")
    command.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the specifications")
    command.set_defaults(run=_spec)


def _spec(given: argparse.Namespace) -> int:
    from benchbook.config import spec
    from benchbook.config.load import load_booking

    given.out.mkdir(parents=True, exist_ok=True)
    for value in spec.session_specs(load_booking(Path.cwd(), given.booking), Path.cwd()):
        path = given.out / f"{spec.store_name(value)}.json"
        path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(path)
    return 0


def _add_retry(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "retry",
        help="have the next `snakemake report` measure a booking's failed runs again",
        description="Sessions with runs that did not end well are due again; good runs are kept and not repeated, and "
        "nothing that was measured is removed.",
    )
    command.add_argument("booking", metavar="BOOKING", help="name of a file in config/bookings/")
    command.set_defaults(run=_retry)


def _retry(given: argparse.Namespace) -> int:
    from benchbook.config import spec
    from benchbook.config.load import load_booking
    from benchbook.errors import ConfigError
    from benchbook.measure.store import Store

    booking = load_booking(Path.cwd(), given.booking)
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
