"""Rule `acceptance`: end with a non-zero code when something failed that the booking does not expect to fail."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.derive import failures
from benchbook.errors import BenchbookError
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["sessions", "runs"], outputs=["acceptance"]) as step:
        sessions, runs = (pd.read_parquet(step.file(name)) for name in ("sessions", "runs"))
        standing = failures.unexpected(sessions, runs)
        if standing:
            named, reason = standing[0]
            raise BenchbookError(
                f"{len(standing)} sessions or runs did not end well, the first is {named}: {reason}. The report lists "
                "them all. Have them measured again (benchbook retry, then snakemake), or declare the failure under "
                "expected_failures in the booking file."
            )
        summary = {"sessions": len(sessions), "runs": len(runs), "unexpected": 0}
        step.output("acceptance").write_text(json.dumps(summary) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
