"""Rule `cost`: what a million tokens cost, and where the booking's money went."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import bill, cost
from benchbook.provenance.step import Step

INPUTS = ["runs", "repeatability", "telemetry", "sessions", "timeline"]


def main() -> None:
    with Step.from_command_line(
        inputs=INPUTS,
        params=["booking"],
        outputs=["cost", "bill"],
    ) as step:
        booking = json.loads(step.param("booking"))
        runs, repeatability, telemetry, sessions, timeline = (pd.read_parquet(step.file(name)) for name in INPUTS)
        cost.table(runs, repeatability, telemetry, booking).to_parquet(step.output("cost"))
        bill.table(sessions, timeline, runs, booking).to_parquet(step.output("bill"))


if __name__ == "__main__":
    main()
