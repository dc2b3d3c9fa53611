"""Rule `figure_timeline`: the sessions in time, phase by phase."""

from __future__ import annotations

import pandas as pd
from benchbook.present import figure_timeline
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["timeline"], outputs=["figure"]) as step:
        figure_timeline.draw(pd.read_parquet(step.file("timeline")), step.output("figure"))


if __name__ == "__main__":
    main()
