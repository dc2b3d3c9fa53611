"""Rule `bench`: what the load client brought back, as one row per request, per chunk and per run."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from benchbook import rawdata
from benchbook.derive import bench
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["manifest", "warmup"], params=["raw", "thresholds", "expected"], outputs=["requests", "chunks", "runs"]
    ) as step:
        sessions = rawdata.as_listed(read_json(step.file("manifest")), Path(step.param("raw")))
        requests, chunks, runs = bench.tables(
            sessions, pd.read_parquet(step.file("warmup")), json.loads(step.param("thresholds")),
            json.loads(step.param("expected")),
        )
        requests.to_parquet(step.output("requests"))
        chunks.to_parquet(step.output("chunks"))
        runs.to_parquet(step.output("runs"))


if __name__ == "__main__":
    main()
