"""A complete input for a report, made of the synthetic tables."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import frames
from benchbook.present import (
    figure_comparisons,
    figure_fixed_cost,
    figure_sweep,
    figure_telemetry,
    figure_timeline,
    figure_warmup,
)
from benchbook.present.context import FRAMES, Arm, ReportInput, Threshold

BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 4"><rect id="r" width="8" height="4"/></svg>'
FIGURES = ("figure_sweep", "figure_warmup", "figure_timeline", "figure_telemetry", "figure_comparisons",
           "figure_fixed_cost")
NOT_DRAWN = ("figure_anomalies",)


def draw_all(tables: dict[str, Any], folder: Path) -> dict[str, str]:
    """The figures of `tables` as SVG text."""
    figure_sweep.draw(tables["sweep"], tables["runs"], folder / "figure_sweep.svg")
    figure_warmup.draw(tables["warmup"], folder / "figure_warmup.svg")
    figure_timeline.draw(tables["timeline"], folder / "figure_timeline.svg")
    figure_telemetry.draw(tables["samples"], tables["timeline"], folder / "figure_telemetry.svg")
    figure_comparisons.draw(tables["comparisons"], tables["verdicts"], folder / "figure_comparisons.svg")
    figure_fixed_cost.draw(tables["steps"], tables["fixed_cost"], tables["toll"], list(tables["runs"]["arm"].unique()),
                           folder / "figure_fixed_cost.svg")
    return {name: (folder / f"{name}.svg").read_text(encoding="utf-8") for name in FIGURES}


def _sidecar(name: str, run_ids: list[str]) -> dict[str, Any]:
    rule = name.removeprefix("figure_")
    return {"rule": rule, "script": f"scripts/{name}.py", "code_fingerprint": hashlib.sha256(name.encode()).hexdigest(),
            "run_ids": run_ids, "inputs": {f"results/demo-cpu/{rule}.parquet": hashlib.sha256(b"x").hexdigest()}}


def make(tables: dict[str, Any] | None = None, folder: Path | None = None, **changes: Any) -> ReportInput:
    """A report's input, with real figures when a `folder` to draw them in is given; `changes` replace fields."""
    tables = frames.make() if tables is None else tables
    runs = list(tables["runs"]["run_id"])
    fields: dict[str, Any] = {
        "booking_id": "demo-cpu",
        "title": "torch.compile against eager execution, tiny Llama on a CPU",
        "question": "What does torch.compile buy a tiny model on a CPU?",
        "node": {"description": "one rented CPU node", "GPUs": "none", "price": None},
        "model": "tiny-llama",
        "workload": {"input tokens": 64, "output tokens": 64, "concurrency": "1, 2, 4, 8", "waves": 8, "repeats": 3},
        "arms": [Arm("baseline", "vLLM's defaults"), Arm("eager", "", {"enforce-eager": True})],
        "warmup_rule": "converged: at least 6 readings; the last three within 1 % in TPOT; at most 10.",
        "thresholds": [
            Threshold("steady_window_min_s", 1.0, 30.0, "s", "at least", "width of the steady window"),
            Threshold("warmup_tpot_spread", 1.0, 1.0, "%", "at most", "spread of TPOT over the last three readings"),
        ],
        "schedule": [("s1", "baseline"), ("s2", "eager"), ("s3", "eager"), ("s4", "baseline")],
        "frames": {name: tables[name] for name in FRAMES},
        "figures": dict.fromkeys((*FIGURES, *NOT_DRAWN), BLANK) | (draw_all(tables, folder) if folder else {}),
        "sidecars": {name: _sidecar(name, runs) for name in (*FRAMES, *FIGURES, *NOT_DRAWN)},
        "superseded": ["results/demo-cpu/raw/3b1f00aa9c12"],
        "generated_by": "Benchbook 0.1.0",
    }
    return ReportInput(**{**fields, **changes})
