"""Rule `toll`: the fixed cost's share of the step at each concurrency."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import toll
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["steps", "fixed-cost", "floor"],
        params=["booking"],
        outputs=["toll"],
    ) as step:
        booking = json.loads(step.param("booking"))
        steps, fixed_cost, floor = (pd.read_parquet(step.file(name)) for name in ("steps", "fixed-cost", "floor"))
        toll.table(steps, fixed_cost, floor, booking).to_parquet(step.output("toll"))


if __name__ == "__main__":
    main()
