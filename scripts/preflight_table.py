"""Rule `preflight_table`: what preflight finds in the booking, with what its own boots measured."""

from __future__ import annotations

import json

import pandas as pd
from benchbook.preflight import asked, table
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["sessions", "boot"], params=["asked"], outputs=["preflight"],
    ) as step:
        boots = [boot for path in step.files("boot") for boot in json.loads(path.read_text(encoding="utf-8"))]
        wanted = asked.from_json(json.loads(step.param("asked")))
        table.table(wanted, pd.read_parquet(step.file("sessions")), boots).to_parquet(step.output("preflight"))


if __name__ == "__main__":
    main()
