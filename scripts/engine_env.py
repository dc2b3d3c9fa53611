"""Rule `engine_env`: build an engine's own virtual environment from its lock file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchbook.errors import BenchbookError
from benchbook.prepare import engine_env


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", type=Path, required=True)
    parser.add_argument("--environment", type=Path, required=True, help="the file that says it is built")
    parser.add_argument("--log", type=Path, required=True)
    given = parser.parse_args()
    try:
        engine_env.build(given.lock, given.environment, given.log)
    except BenchbookError as error:
        print(f"engine_env: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
