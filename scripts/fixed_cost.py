"""Rule `fixed_cost`: what a decode step costs with no sequence in it."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import fixed_cost
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["steps", "floor"], params=["booking"], outputs=["fixed-cost"]) as step:
        booking = json.loads(step.param("booking"))
        steps, floor = (pd.read_parquet(step.file(name)) for name in ("steps", "floor"))
        fixed_cost.table(steps, floor, booking).to_parquet(step.output("fixed-cost"))


if __name__ == "__main__":
    main()
