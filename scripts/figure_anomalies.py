"""Rule `figure_anomalies`: the requests and runs that show what is odd."""

from __future__ import annotations

import pandas as pd
from benchbook.present import figure_anomalies
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["anomalies", "evidence"], outputs=["figure"]) as step:
        anomalies, evidence = (pd.read_parquet(step.file(name)) for name in ("anomalies", "evidence"))
        figure_anomalies.draw(anomalies, evidence, step.output("figure"))


if __name__ == "__main__":
    main()
