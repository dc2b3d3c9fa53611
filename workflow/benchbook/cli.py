"""The command `benchbook`: what is useful by itself, also to people who never run the pipeline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from benchbook import __version__
from benchbook.commands import check, facts, load, plan, preflight, restore, retry, session, spec, trace, verify
from benchbook.errors import BenchbookError


def main(argv: Sequence[str] | None = None) -> None:
    """Run one subcommand and exit: 0 fine, 1 something is wrong with the content, 2 it cannot be read."""
    parser = argparse.ArgumentParser(prog="benchbook", description=__doc__)
    parser.add_argument("--version", action="version", version=f"benchbook {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (preflight, plan, session, spec, retry, facts, check, load, restore, trace, verify):
        command.add(commands)
    given = parser.parse_args(argv)
    run: Callable[[argparse.Namespace], int] = given.run
    try:
        sys.exit(run(given))
    except BenchbookError as error:
        print(f"benchbook: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("benchbook: stopped; what was not finished by now is not kept.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        where = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"benchbook: {where}. Name a path that can be read and written.", file=sys.stderr)
        sys.exit(2)
