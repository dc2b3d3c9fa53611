"""Rule `preflight`: pitfalls of the booking, before anything is booted.

The booking file is read as it is now. An error that it does not allow by name stops whatever is still to be measured; a
booking that is measured already is not held back by it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--booking", required=True)
    parser.add_argument("--preflight", type=Path, required=True, help="receives the findings")
    given = parser.parse_args()

    from benchbook.config import spec
    from benchbook.config.load import load_booking
    from benchbook.errors import BenchbookError
    from benchbook.preflight import gate, printed

    try:
        booking = load_booking(Path.cwd(), given.booking)
        found = gate.findings(booking, Path.cwd())
        gate.write(given.preflight, booking.id, found)
        names = [spec.store_name(value) for value in spec.session_specs(booking, Path.cwd())]
        if not all((given.preflight.parent / f"sessions/{name}.json").exists() for name in names):
            gate.refuse(booking.id, found)
        print(f"preflight: {printed.counted(found)}; benchbook preflight {booking.id} prints them")
    except BenchbookError as error:
        print(f"preflight: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
