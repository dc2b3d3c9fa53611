"""Rule `figure_telemetry`: utilization and CPU time over each session, its runs shaded."""

from __future__ import annotations

import pandas as pd
from benchbook.present import figure_telemetry
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["series", "timeline"], outputs=["figure"]) as step:
        samples = pd.concat([pd.read_parquet(path) for path in step.files("series")], ignore_index=True)
        figure_telemetry.draw(samples, pd.read_parquet(step.file("timeline")), step.output("figure"))


if __name__ == "__main__":
    main()
