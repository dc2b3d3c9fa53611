"""The warmup: TPOT and throughput of every reading, arm by concurrency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from benchbook.present.canvas import PORTRAIT_IN, new, no_data, save, say_no_data, styled, thousands
from benchbook.present.palette import BAD, LINES, MUTED, PAPER, PHASES, ArmStyle, arm_styles

METRICS = (("tpot_mean_ms", "TPOT, ms"), ("throughput_tok_s", "tok/s"))
ROW_IN = 1.2
COLUMN_IN = 1.72
LEAST_SPAN = 0.10
MOVED = ("failed", "rerun passed")
STALL: dict[str, Any] = {"color": BAD, "marker": "v", "markersize": 5.5, "linestyle": "none"}
LATE: dict[str, Any] = {"color": PHASES["warmup"], "marker": "s", "markersize": 7.5, "markerfacecolor": "none",
                        "markeredgewidth": 1.4, "linestyle": "none"}  # fmt: skip
GIVEN_UP: dict[str, Any] = {"color": BAD, "marker": "x", "markersize": 6, "markeredgewidth": 1.5, "linestyle": "none"}
GATE_FAILED: dict[str, Any] = {"color": BAD, "marker": "o", "markersize": 9, "markerfacecolor": "none",
                               "markeredgewidth": 1.2, "linestyle": "none", "clip_on": False}  # fmt: skip


def _panel(axes: Axes, readings: pd.DataFrame, column: str, style: ArmStyle) -> None:
    """One metric of one arm at one concurrency: a line per session; the last reading says how the warmup ended."""
    for place, (_, series) in enumerate(readings.groupby("session_id", sort=True)):
        known = series.dropna(subset=[column]).sort_values("reading")
        if known.empty:
            continue
        x, y = known["reading"].to_numpy(float), known[column].to_numpy(float)
        axes.plot(x, y, color=style.colour, linestyle=LINES[place % len(LINES)], marker=style.marker, markersize=3.2,
                  markerfacecolor=PAPER, markeredgewidth=0.8, linewidth=1.0)
        for flag, mark in (("stalls", STALL), ("late_work", LATE)):
            seen = (known[flag].fillna(0) > 0).to_numpy(bool)
            axes.plot(x[seen], y[seen], zorder=6, **mark)
        if known["verdict"].iloc[-1] == "CONVERGED":
            axes.plot(x[-1:], y[-1:], color=style.colour, marker=style.marker, markersize=5.5, zorder=5)
        else:
            axes.plot(x[-1:], y[-1:], zorder=7, **GIVEN_UP)
        if known["gate"].iloc[-1:].isin(MOVED).any():
            axes.plot(x[-1:], y[-1:], zorder=7, **GATE_FAILED)


def _limits(values: pd.Series) -> tuple[float, float]:
    """y limits of a panel: never so narrow that noise looks like a trend."""
    low, high = float(values.min()), float(values.max())
    pad = max((high - low) * 0.12, (LEAST_SPAN * high - (high - low)) / 2, 1e-9)
    return max(0.0, low - pad), high + pad


def _legend(warmup: pd.DataFrame) -> list[Artist]:
    """What a reading looks like, and each mark that the figure has."""
    marks = (
        (GIVEN_UP, "never accepted (UNWARMED)", (warmup["verdict"] == "UNWARMED").any()),
        (STALL, "a request stalled", (warmup["stalls"].fillna(0) > 0).any()),
        (LATE, "server still compiling, tuning or capturing", (warmup["late_work"].fillna(0) > 0).any()),
        (GATE_FAILED, "the runs after it did not stay there", warmup["gate"].isin(MOVED).any()),
    )
    handles: list[Artist] = [
        Line2D([], [], color=MUTED, marker="o", markerfacecolor=PAPER, markersize=3.2, linewidth=1.0,
               label="reading (one line per session)"),
        Line2D([], [], color=MUTED, marker="o", markersize=5.5, linestyle="none", label="accepted"),
    ]
    return handles + [Line2D([], [], label=label, **mark) for mark, label, there in marks if there]


def draw(warmup: pd.DataFrame, out: Path, arms: Sequence[str] = ()) -> None:
    """Write the SVG of the warmup: TPOT (ms) and throughput (tok/s) against reading, by arm and concurrency.

    `warmup`: the booking's table. Marked are stalls, late work, how the readings were judged and whether the runs
    stayed where they left off. `arms` fixes the order of rows and colours.
    """
    if warmup.empty:
        no_data(out, "no warmup was run")
        return
    all_styles = arm_styles((*arms, *warmup["arm"]))
    rows = [(arm, metric) for arm in all_styles if arm in set(warmup["arm"]) for metric in METRICS]
    columns = sorted(warmup["concurrency"].astype(int).unique())
    last = int(warmup["reading"].max())
    width = max(PORTRAIT_IN, COLUMN_IN * len(columns))
    with styled():
        figure = new(width, ROW_IN * len(rows) + 0.75)
        grid = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True)
        for y, (arm, (column, unit)) in enumerate(rows):
            for x, concurrency in enumerate(columns):
                axes = grid[y][x]
                readings = warmup[(warmup["concurrency"] == concurrency) & (warmup["arm"] == arm)]
                _panel(axes, readings, column, all_styles[arm])
                if readings[column].notna().any():
                    axes.set_ylim(*_limits(readings[column].dropna()))
                else:
                    say_no_data(axes, "every reading failed" if len(readings) else "not run")
                    axes.set_yticks([])
                axes.set_xlim(0.6, max(last, 2) + 0.4)
                axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
                axes.yaxis.set_major_locator(MaxNLocator(4))
                axes.yaxis.set_major_formatter(FuncFormatter(thousands))
                axes.set_title(f"{arm}, C = {concurrency:,}" if column == METRICS[0][0] else "", fontsize=7.5,
                               fontweight="normal")
                if x == 0:
                    axes.set_ylabel(unit, fontsize=7.5)
        figure.supxlabel("Reading (one wave of C requests)", fontsize=8)
        figure.legend(handles=_legend(warmup), loc="outside upper left", ncols=3)
        save(figure, out)
