"""Rule `compared`: the page over several bookings, and its figures."""

from __future__ import annotations

import json

import pandas as pd
from benchbook import __version__, schema
from benchbook.present import compared, figure_comparisons, figure_sweep
from benchbook.provenance import sidecar
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["templates", "style", "script", "tables"], params=["asked"], outputs=["sweep", "comparisons", "html"]
    ) as step:
        asked, tables = json.loads(step.param("asked")), {path.stem: path for path in step.files("tables")}
        frames = {name: schema.check(pd.read_parquet(path), name) for name, path in tables.items()}
        arms = list(dict.fromkeys(frames["runs"]["arm"]))
        figure_sweep.draw(frames["sweep"], frames["runs"], step.output("sweep"), arms=arms)
        figure_comparisons.draw(frames["comparisons"], frames["verdicts"], step.output("comparisons"))
        sidecars = {name: sidecar.read(path) for name, path in tables.items()}
        told = compared.ComparedInput(
            name=asked["name"], title=asked["title"], question=asked["question"], sides=asked["sides"], frames=frames,
            figures={f"figure_{name}": step.output(name).read_text(encoding="utf-8")
                     for name in ("sweep", "comparisons")},
            sidecars=sidecars | {f"figure_{name}": sidecars[name] for name in ("sweep", "comparisons")},
            generated_by=f"Benchbook {__version__}",
        )  # fmt: skip
        step.output("html").write_text(compared.render(told), encoding="utf-8")


if __name__ == "__main__":
    main()
