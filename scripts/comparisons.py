"""Rule `comparisons`: the arms against each other, with the registry's noise as prior."""

from __future__ import annotations

import json

import pandas as pd
from benchbook import registry
from benchbook.claims import comparisons, noise
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["runs", "declared", "registry"],
        params=["booking"],
        outputs=["comparisons"],
    ) as step:
        booking = json.loads(step.param("booking"))
        prior = noise.prior([registry.read(path) for path in step.files("registry")])
        declared = read_json(step.file("declared"))
        found = comparisons.table(pd.read_parquet(step.file("runs")), booking, declared, prior)
        found.to_parquet(step.output("comparisons"))


if __name__ == "__main__":
    main()
