"""Rule `fixed_cost`: the decode step of every run, and what it costs with no sequence in it."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import fixed_cost, steps
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["runs", "scheduler", "sessions"],
        params=["booking"],
        outputs=["steps", "fixed-cost"],
    ) as step:
        booking = json.loads(step.param("booking"))
        runs, scheduler, sessions = (pd.read_parquet(step.file(name)) for name in ("runs", "scheduler", "sessions"))
        points = steps.table(runs, scheduler, sessions, booking)
        points.to_parquet(step.output("steps"))
        fixed_cost.table(points, booking).to_parquet(step.output("fixed-cost"))


if __name__ == "__main__":
    main()
