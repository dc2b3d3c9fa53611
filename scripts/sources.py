"""Rule `sources`: the raw files, and their lines, behind each run, reading and session."""

from __future__ import annotations

from pathlib import Path

from benchbook import rawdata, schema
from benchbook.derive import sources
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["manifest"], params=["raw"], outputs=["sources"]) as step:
        found = [
            sources.table(path.stem, rawdata.as_listed(read_json(path), Path(step.param("raw")) / path.stem))
            for path in step.files("manifest")
        ]
        schema.concat(found, "sources").to_parquet(step.output("sources"))


if __name__ == "__main__":
    main()
