"""Rule `session`: measure what the store lacks for one place of the schedule, and write the store's manifest.

The specification comes from the booking file as it is now; the store's name holds the hash of all in it that bears on
the figures. Dies with the pipeline that started it: the kernel sends SIGTERM when Snakemake goes, however it goes, and
that is asked for before anything else is imported.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel end this process with its parent, which must still be `parent` (Linux)."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("session: the pipeline that started it is gone already")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parent", type=int, required=True, help="process id of the pipeline")
    parser.add_argument("--booking", required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    parser.add_argument("--spec", type=Path, required=True, help="receives the specification")
    parser.add_argument("--log", type=Path, required=True, help="receives the progress lines as well")
    given = parser.parse_args()
    die_with(given.parent)

    from benchbook.config import spec
    from benchbook.config.load import load_booking
    from benchbook.errors import BenchbookError
    from benchbook.measure import session
    from benchbook.measure.interrupt import Interrupted
    from benchbook.measure.progress import Told
    from benchbook.measure.store import Store
    from benchbook.preflight import gate

    try:
        booking = load_booking(Path.cwd(), given.booking)
        specs = {spec.store_name(value): value for value in spec.session_specs(booking, Path.cwd())}
        value = specs[given.store.name]
        if Store(given.store).lacks(value):
            found = gate.findings(booking, Path.cwd())
            gate.write(given.manifest.parents[1] / "preflight.json", booking.id, found)
            gate.refuse(booking.id, found)
        given.spec.parent.mkdir(parents=True, exist_ok=True)
        given.spec.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        given.log.parent.mkdir(parents=True, exist_ok=True)
        with open(given.log, "w", encoding="utf-8") as log:
            manifest = session.measure(value, given.store, Path.cwd(), Told(sys.stderr, log))
        given.manifest.parent.mkdir(parents=True, exist_ok=True)
        given.manifest.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    except Interrupted as stop:
        print(f"session: {stop}; what was measured is kept, start again to go on.", file=sys.stderr)
        sys.exit(128 + stop.number)
    except BenchbookError as error:
        print(f"session: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        print(f"session: {error}. Free the disk or the path, then start again; what was measured is kept.",
              file=sys.stderr)  # fmt: skip
        sys.exit(2)


if __name__ == "__main__":
    main()
