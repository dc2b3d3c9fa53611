"""Rule `across`: the runs of several finished bookings together, compared side against side."""

from __future__ import annotations

import json

from benchbook.bookings import across, taken
from benchbook.derive import sweep
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["tables"], params=["asked"], outputs=["runs", "sweep", "bookings", "comparisons", "verdicts"]
    ) as step:
        asked = json.loads(step.param("asked"))
        places = dict(zip(asked["bookings"], step.files("tables")[:: len(taken.TABLES)], strict=True))
        sides = [(booking, side) for side, names in asked["sides"].items() for booking in names]
        found = [taken.read(places[booking].parent, booking, side) for booking, side in sides]
        runs = across.pooled(found)
        compared, judged = across.compared(found, asked["name"])
        runs.drop(columns="booking").to_parquet(step.output("runs"))
        sweep.table(runs, list(dict.fromkeys(runs["arm"]))).to_parquet(step.output("sweep"))
        across.bookings(found).to_parquet(step.output("bookings"))
        compared.to_parquet(step.output("comparisons"))
        judged.to_parquet(step.output("verdicts"))


if __name__ == "__main__":
    main()
