"""Rule `figure_fixed_cost`: the decode step against sequences per rank, its fit, and the fixed cost's share."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.present import figure_fixed_cost
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["steps", "fixed-cost", "toll"], params=["arms"], outputs=["figure"]) as step:
        steps, fixed_cost, toll = (pd.read_parquet(step.file(name)) for name in ("steps", "fixed-cost", "toll"))
        figure_fixed_cost.draw(steps, fixed_cost, toll, json.loads(step.param("arms")), step.output("figure"))


if __name__ == "__main__":
    main()
