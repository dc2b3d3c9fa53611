"""Rule `verdicts`: the level of every claim, the hypotheses judged, and what to run next."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.claims import hypotheses, next_experiments, verdicts
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step

INPUTS = ["runs", "comparisons", "repeatability", "fixed-cost", "toll", "floor", "occupancy", "sessions", "timeline"]


def main() -> None:
    with Step.from_command_line(
        inputs=[*INPUTS, "declared"],
        params=["booking"],
        outputs=["verdicts", "hypotheses", "next-experiments"],
    ) as step:
        booking = json.loads(step.param("booking"))
        tables = {name: pd.read_parquet(step.file(name)) for name in INPUTS}
        levels = verdicts.table(
            tables["runs"], tables["comparisons"], tables["repeatability"], tables["fixed-cost"], tables["toll"],
            tables["floor"], tables["occupancy"], booking,
        )
        levels.to_parquet(step.output("verdicts"))
        board = hypotheses.table(tables["comparisons"], levels, booking, read_json(step.file("declared")))
        board.to_parquet(step.output("hypotheses"))
        ideas = next_experiments.table(
            levels, tables["comparisons"], tables["sessions"], tables["timeline"], booking, tables["runs"]
        )
        ideas.to_parquet(step.output("next-experiments"))


if __name__ == "__main__":
    main()
