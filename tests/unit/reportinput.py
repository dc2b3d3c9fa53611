"""A complete input for a report, made of the synthetic tables."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import frames
import pandas as pd
from benchbook.present import (
    figure_comparisons,
    figure_fixed_cost,
    figure_sweep,
    figure_telemetry,
    figure_timeline,
    figure_warmup,
    summary,
)
from benchbook.present.context import FRAMES, Arm, ReportInput, Threshold
from benchbook.provenance.trace import Material

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
            "run_ids": run_ids, "inputs": {f"results/demo-cpu/{rule}.parquet": hashlib.sha256(b"x").hexdigest()},
            "output": {"path": f"results/demo-cpu/tables/{name}"}}


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


STORE = "s1-baseline-0123456789ab"


def sources(tables: dict[str, Any]) -> pd.DataFrame:
    """Table `sources` of `tables`: of every run and reading a result and lines of the log, of every session its log."""
    digest = hashlib.sha256(b"raw").hexdigest()

    def row(owner: str, session: str, kind: str, file: str, lines: tuple[int, int] | None, what: str) -> dict[str, Any]:
        first, last = lines or (None, None)
        return {"owner_id": owner, "session_id": session, "kind": kind, "file": f"raw/{STORE}/{session}/{file}",
                "sha256": digest, "first_line": first, "last_line": last, "what": what}  # fmt: skip

    rows = [row(session, session, "session", "server.log", None, "the server's log")
            for session in tables["sessions"]["session_id"]]  # fmt: skip
    for kind, key, folder in (("run", "runs", "runs"), ("reading", "warmup", "warmup")):
        for owner in tables[key]["run_id" if key == "runs" else "reading_id"]:
            session, _, name = owner.partition("/")
            rows.append(row(owner, session, kind, f"{folder}/{name}/bench.json", None, "every request"))
            rows.append(row(owner, session, kind, "server.log", (12, 34), "logged </script> & meanwhile"))
    return frames.frame("sources", rows)


def traced(folder: Path | None = None, tables: dict[str, Any] | None = None) -> ReportInput:
    """A report's input that leads from every number to raw files."""
    made = frames.make() if tables is None else tables
    context = make(made, folder, price_usd_per_hour=3.5)
    manifest = {f"results/demo-cpu/sessions/{STORE}.json": hashlib.sha256(b"manifest").hexdigest()}
    upstream = [
        {"rule": "bench", "script": "scripts/bench.py", "code_fingerprint": hashlib.sha256(b"code").hexdigest(),
         "run_ids": [], "inputs": manifest, "output": {"path": f"results/demo-cpu/{rule}.parquet"}}
        for rule in ("runs", "sweep", "sessions", "steps")
    ]  # fmt: skip
    return dataclasses.replace(context, frames={**context.frames, "sources": sources(made)}, upstream=upstream)


def material(context: ReportInput) -> Material:
    """What `benchbook trace` would read of that report."""
    counted = [summary.build(*(context.frames[name] for name in ("runs", "sessions", "failures")),
                             context.price_usd_per_hour), summary.claims(context.frames["verdicts"])]  # fmt: skip
    upstream = {told["output"]["path"]: told for told in context.upstream}
    return Material(context.frames, context.sidecars, upstream, context.frames["sources"],
                    pd.concat(counted, ignore_index=True))  # fmt: skip
