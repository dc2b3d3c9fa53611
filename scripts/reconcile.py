"""Rule `reconcile`: what client, server and scheduler say of each run, held against each other."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from benchbook import rawdata
from benchbook.derive import observed
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["manifest", "requests", "runs"], params=["raw", "thresholds"],
        outputs=["client", "scheduler", "reconciliation"],
    ) as step:
        sessions = rawdata.as_listed(read_json(step.file("manifest")), Path(step.param("raw")))
        tables = observed.tables(
            sessions, pd.read_parquet(step.file("requests")), pd.read_parquet(step.file("runs")),
            json.loads(step.param("thresholds")),
        )
        for name, table in tables.items():
            table.to_parquet(step.output(name))


if __name__ == "__main__":
    main()
