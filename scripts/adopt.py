"""Rule `adopt`: a recording made elsewhere becomes a session of the booking."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchbook.adopt import recording, session
from benchbook.config import spec
from benchbook.config.load import load_booking
from benchbook.errors import BenchbookError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recording", nargs="+", required=True, help="every file of the recording (Snakemake's input)")
    parser.add_argument("--booking", required=True)
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True)
    given = parser.parse_args()
    try:
        booking = load_booking(Path.cwd(), given.booking)
        specs = {spec.store_name(value): value for value in spec.session_specs(booking, Path.cwd())}
        wanted = specs[given.manifest.stem]
        recorded = recording.read(Path.cwd() / str(booking.recorded), wanted["slot"])
        manifest = session.adopt(recorded, wanted, given.raw)
    except BenchbookError as error:
        print(f"adopt: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    given.manifest.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
