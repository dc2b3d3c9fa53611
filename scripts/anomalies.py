"""Rule `anomalies`: what is odd, with the requests that show it."""

from __future__ import annotations

import json

import pandas as pd
from benchbook import schema
from benchbook.claims import anomalies
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["runs", "telemetry", "requests"],
        params=["booking"],
        outputs=["anomalies", "evidence"],
    ) as step:
        booking = json.loads(step.param("booking"))
        runs, telemetry = (pd.read_parquet(step.file(name)) for name in ("runs", "telemetry"))
        wanted = [("run_id", "in", sorted(anomalies.needed(runs)))]
        requests = [pd.read_parquet(path, filters=wanted) for path in step.files("requests")] if wanted[0][2] else []
        found, evidence = anomalies.tables(runs, schema.concat(requests, "requests"), telemetry, booking)
        found.to_parquet(step.output("anomalies"))
        evidence.to_parquet(step.output("evidence"))


if __name__ == "__main__":
    main()
