"""Rule `repeatability`: how far repeats and sessions spread."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import noise, repeatability
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["runs"],
        params=["booking"],
        outputs=["repeatability", "noise"],
    ) as step:
        booking = json.loads(step.param("booking"))
        runs, clients = pd.read_parquet(step.file("runs")), booking["clients"]
        repeatability.table(runs, clients).to_parquet(step.output("repeatability"))
        mine = noise.table(runs, clients, booking["id"], booking["node"]["kind"])
        mine.to_parquet(step.output("noise"))


if __name__ == "__main__":
    main()
