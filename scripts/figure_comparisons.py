"""Rule `figure_comparisons`: every comparison of arms with its interval and its level."""

from __future__ import annotations

import pandas as pd
from benchbook.present import figure_comparisons
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["comparisons", "verdicts"], outputs=["figure"]) as step:
        comparisons, verdicts = (pd.read_parquet(step.file(name)) for name in ("comparisons", "verdicts"))
        figure_comparisons.draw(comparisons, verdicts, step.output("figure"))


if __name__ == "__main__":
    main()
