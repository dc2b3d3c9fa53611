"""Rule `elimination`: busy and idle time of the decode step, and which causes of it can be ruled out."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import elimination, occupancy
from benchbook.provenance.step import Step

INPUTS = ["runs", "telemetry", "client", "scheduler", "fixed-cost", "toll", "floor", "sessions"]


def main() -> None:
    with Step.from_command_line(
        inputs=INPUTS,
        params=["booking"],
        outputs=["occupancy", "elimination"],
    ) as step:
        booking = json.loads(step.param("booking"))
        tables = {name: pd.read_parquet(step.file(name)) for name in INPUTS}
        busy = occupancy.table(tables["runs"], tables["telemetry"], booking)
        busy.to_parquet(step.output("occupancy"))
        elimination.table(
            tables["runs"], tables["telemetry"], tables["client"], tables["scheduler"], busy, tables["fixed-cost"],
            tables["toll"], tables["floor"], tables["sessions"], booking,
        ).to_parquet(step.output("elimination"))


if __name__ == "__main__":
    main()
