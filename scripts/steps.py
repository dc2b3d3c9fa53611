"""Rule `steps`: the decode step of every run, and how many sequences were in it."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import steps
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["runs", "scheduler", "sessions"], params=["booking"], outputs=["steps"]
    ) as step:
        runs, scheduler, sessions = (pd.read_parquet(step.file(name)) for name in ("runs", "scheduler", "sessions"))
        steps.table(runs, scheduler, sessions, json.loads(step.param("booking"))).to_parquet(step.output("steps"))


if __name__ == "__main__":
    main()
