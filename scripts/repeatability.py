"""Rule `repeatability`: how far repeats and sessions spread."""

from __future__ import annotations

import json

import pandas as pd
from benchbook import registry
from benchbook.claims import noise, repeatability
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["runs", "registry"],
        params=["booking"],
        outputs=["repeatability", "noise"],
    ) as step:
        booking = json.loads(step.param("booking"))
        runs, clients = pd.read_parquet(step.file("runs")), booking["clients"]
        mine = noise.table(runs, clients, booking["id"], booking["node"]["kind"])
        mine.to_parquet(step.output("noise"))
        prior = noise.prior([registry.read(path) for path in step.files("registry")])
        repeatability.table(runs, clients, mine, prior).to_parquet(step.output("repeatability"))


if __name__ == "__main__":
    main()
