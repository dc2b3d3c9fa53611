"""Rule `warmup`: the warmup readings of a store and what they amount to."""

from __future__ import annotations

from pathlib import Path

from benchbook import rawdata
from benchbook.derive import warmup
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(inputs=["manifest", "boot"], params=["raw"], outputs=["warmup"]) as step:
        sessions = rawdata.as_listed(read_json(step.file("manifest")), Path(step.param("raw")))
        warmup.table(sessions).to_parquet(step.output("warmup"))


if __name__ == "__main__":
    main()
