"""The page over several bookings: what differs between them, and what may be claimed across them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from benchbook.present import claim_chapters, claim_wording, svg
from benchbook.present.chapters import FIGURES, look, note, value
from benchbook.present.levels import LEVELS
from benchbook.present.origin import origin
from benchbook.present.report import REPORTS, page
from benchbook.present.tables import Col, Table
from benchbook.present.tables import build as table

SHOWN = ("figure_sweep", "figure_comparisons")
ACROSS = (
    "Side against side; the first is the baseline. The replicate is the booking: what a node, an engine version or a "
    "week brings along, all sessions of a booking share. With fewer than three bookings a side nothing may be claimed, "
    "however many runs there are; sides that served different models or workloads are not compared at all."
)


@dataclass(frozen=True)
class ComparedInput:
    """`frames`: tables bookings, runs, sweep, comparisons, verdicts; `figures` the SVG of SHOWN; `sidecars` by table
    and figure; `sides` in order, each with its bookings."""

    name: str
    title: str
    question: str
    sides: Mapping[str, Sequence[str]]
    frames: Mapping[str, pd.DataFrame]
    figures: Mapping[str, str]
    sidecars: Mapping[str, Mapping[str, Any]]
    generated_by: str


_FACTS = ("node", "model", "workload", "limits", "engine_version", "kernel", "cpu_model", "gpus", "driver")


def _differing(bookings: pd.DataFrame) -> list[str]:
    """Columns in which the bookings are not all alike, as far as they are on record."""
    return [name for name in _FACTS if bookings[name].dropna().nunique() > 1]


def _unknown(bookings: pd.DataFrame) -> list[str]:
    """Columns that are on record of some of the bookings and not of all."""
    return [name for name in _FACTS if bookings[name].isna().any() and bookings[name].notna().any()]


def _sweep(frame: pd.DataFrame) -> Table:
    return table(frame, "sweep", "Every side at every concurrency; below a mean the lowest to the highest run.", [
        "arm", "concurrency", Col("throughput_tok_s", span=("throughput_min_tok_s", "throughput_max_tok_s")),
        Col("tpot_mean_ms", span=("tpot_min_ms", "tpot_max_ms")),
        Col("ttft_mean_ms", span=("ttft_min_ms", "ttft_max_ms")), "sessions", "runs", "runs_not_ok", "tags"])


def render(told: ComparedInput, reports: Path = REPORTS) -> str:
    """The page as self-contained HTML."""
    frames = told.frames
    bookings, verdicts = frames["bookings"], frames["verdicts"]
    differing, unknown = _differing(bookings), _unknown(bookings)
    drawings = {
        name: {"name": name, "title": FIGURES[name][0],
               "svg": svg.inline(told.figures[name], name.replace("_", "-"), *FIGURES[name])} for name in SHOWN
    }  # fmt: skip
    origins = {name: origin(name, told.sidecars[name], frames["runs"]) for name in told.sidecars}
    facts = ["booking", "side", *differing, *(name for name in unknown if name not in differing), "sessions", "runs",
             "runs_tagged", "last_session", "sha256"]  # fmt: skip
    return page(
        "compared.html.j2", reports, r=told, value=value, note=note, look=look, levels=LEVELS, figures=drawings,
        origins=origins, wording=claim_wording, absent=claim_wording.ABSENT, across=ACROSS,
        differing=differing, unknown=unknown,
        claims_by_level=claim_chapters.levels(verdicts), trace_data=Markup(""),
        tables={
            "bookings": table(bookings, "bookings", "The bookings, and in what they differ.", facts),
            "sweep": _sweep(frames["sweep"]),
            **claim_chapters.comparisons(frames["comparisons"], verdicts),
        },
    )  # fmt: skip
