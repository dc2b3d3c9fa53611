"""Rule `telemetry`: samples clipped to each run's steady window, and the whole sessions' samples for drawing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from benchbook import rawdata, schema
from benchbook.derive import gpu, telemetry
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["manifest", "runs"], params=["raw", "coverage"], outputs=["telemetry", "series"]
    ) as step:
        sessions = rawdata.as_listed(read_json(step.file("manifest")), Path(step.param("raw")))
        usable = [session for session in sessions if session.usable]
        runs = pd.read_parquet(step.file("runs"))
        tables, series = [], []
        for session in usable:
            seen = telemetry.watched(session.telemetry, _visible(session))
            series.append(telemetry.series(session.session_id, seen))
            mine = runs[(runs["session_id"] == session.session_id) & (runs["status"] != "missing")]
            tables.append(telemetry.table(
                seen, mine, coverage_min=float(step.param("coverage")),
                phases=[(event["t_start_s"], event["t_end_s"]) for event in session.events],
                sampled={f"{session.session_id}/{record['run']}": tuple(record["sampled"]) for record in session.runs
                         if record.get("sampled")},
            ))  # fmt: skip
        schema.concat(tables, "telemetry").to_parquet(step.output("telemetry"))
        telemetry.all_series(series).to_parquet(step.output("series"))


def _visible(session: rawdata.RawSession) -> set[int] | None:
    return gpu.visible((session.environment or {}).get("node", {}).get("gpu"))


if __name__ == "__main__":
    main()
