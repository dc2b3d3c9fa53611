"""Rule `figure_warmup`: every warmup reading, by arm and concurrency."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.present import figure_warmup
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["warmup"], params=["arms"], outputs=["figure"]) as step:
        figure_warmup.draw(
            pd.read_parquet(step.file("warmup")), step.output("figure"), arms=json.loads(step.param("arms"))
        )


if __name__ == "__main__":
    main()
