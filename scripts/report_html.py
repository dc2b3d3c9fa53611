"""Rule `report_html`: the booking's tables and figures as one self-contained page."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from benchbook import __version__, schema
from benchbook.present import report
from benchbook.provenance import current, sidecar
from benchbook.provenance.step import Step


def main() -> None:
    with Step.from_command_line(
        inputs=["templates", "style", "script", "tables", "figures", "upstream"],
        params=["booking", "superseded", "draft"], outputs=["html"],
    ) as step:
        upstream = [json.loads(path.read_text(encoding="utf-8")) for path in step.files("upstream")]
        made = [sidecar.read(path) for name in ("tables", "figures") for path in step.files(name)]
        current.check([*upstream, *made], Path.cwd())
        facts = json.loads(step.param("booking"))
        tables = {path.stem: path for path in step.files("tables")}
        figures = {f"figure_{path.stem}": path for path in step.files("figures")}
        context = report.ReportInput(
            **facts
            | {
                "arms": [report.Arm(**arm) for arm in facts["arms"]],
                "thresholds": [report.Threshold(**threshold) for threshold in facts["thresholds"]],
            },
            frames={name: schema.check(pd.read_parquet(path), name) for name, path in tables.items()},
            figures={name: path.read_text(encoding="utf-8") for name, path in figures.items()},
            sidecars={name: sidecar.read(path) for name, path in (tables | figures).items()},
            upstream=upstream,
            draft=json.loads(step.param("draft")),
            superseded=json.loads(step.param("superseded")),
            generated_by=f"Benchbook {__version__}",
        )
        step.output("html").write_text(report.render(context), encoding="utf-8")


if __name__ == "__main__":
    main()
