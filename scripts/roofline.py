"""Rule `roofline`: the least that a decode step can take."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import byte_floor
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["steps", "runs"],
        params=["booking"],
        outputs=["floor"],
    ) as step:
        booking = json.loads(step.param("booking"))
        steps, runs = (pd.read_parquet(step.file(name)) for name in ("steps", "runs"))
        byte_floor.table(steps, runs, booking).to_parquet(step.output("floor"))


if __name__ == "__main__":
    main()
