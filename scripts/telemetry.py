"""Rule `telemetry`: samples clipped to each run's steady window, and the whole sessions' samples for drawing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from benchbook import rawdata, schema
from benchbook.derive import telemetry
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["manifest", "runs"], params=["raw"], outputs=["telemetry", "series"]
    ) as step:
        sessions = rawdata.sessions(read_json(step.file("manifest")), Path(step.param("raw")))
        usable = [session for session in sessions if session.usable]
        runs = pd.read_parquet(step.file("runs"))
        tables = []
        for session in usable:
            both = {f"{session.session_id}/{record['run']}": session.scrapes(record) for record in session.runs}
            scrapes = {run: pair for run, pair in both.items() if pair is not None}
            mine = runs[(runs["session_id"] == session.session_id) & (runs["status"] != "missing")]
            tables.append(telemetry.table(session.telemetry, mine, scrapes))
        schema.concat(tables, "telemetry").to_parquet(step.output("telemetry"))
        telemetry.all_series([(session.session_id, session.telemetry) for session in usable]).to_parquet(
            step.output("series")
        )


if __name__ == "__main__":
    main()
