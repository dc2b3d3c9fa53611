"""Rule `figure_sweep`: throughput and TPOT against concurrency."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.present import figure_sweep
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["sweep", "runs"], params=["arms"], outputs=["figure"]) as step:
        sweep, runs = (pd.read_parquet(step.file(name)) for name in ("sweep", "runs"))
        figure_sweep.draw(sweep, runs, step.output("figure"), arms=json.loads(step.param("arms")))


if __name__ == "__main__":
    main()
