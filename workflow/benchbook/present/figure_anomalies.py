"""Anomalies: one panel each, with the points that show what is odd marked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from benchbook.present.canvas import PORTRAIT_IN, concurrency_axis, new, save, say_no_data, styled, thousands
from benchbook.present.palette import INK, MUTED, ODD, PAPER, USUAL

PANELS_MAX, COLUMNS = 12, 3
PANEL_IN, LOG_FROM, PLACE_MAX = 2.0, 20.0, 42
MARKERS = {
    "TTFT": "o", "longest time between two chunks": "^", "fast group": "o", "slow group": "s",
    "first wave, not judged": "P", "run": "o", "samples throttled": "o", "SM clock over its highest": "^",
    "power over its limit": "s",
}  # fmt: skip
LINES = {"mean over sessions": "-", "median": "-", "lower limit": "--", "upper limit": "--"}
AXES = {
    "bimodal": ("Sent, s since the run's start", "TTFT, ms"),
    "stall": ("Sent, s since the run's start", "Wait, ms"),
    "monotonicity": ("Concurrency, requests in flight", "Mean TTFT, ms"),
    "outlier repeat": ("Repeat, in order of time", ""),
    "throttling": ("Concurrency, requests in flight", "Share, %"),
}
METRICS = {"throughput_tok_s": "Throughput, tok/s", "tpot_mean_ms": "Mean TPOT, ms"}


def draw(anomalies: pd.DataFrame, evidence: pd.DataFrame, out: Path) -> None:
    """Write the SVG of the first PANELS_MAX rows of table `anomalies` with their points from table `evidence`; it says
    how many more there are, and, where there is none, that nothing is odd."""
    with styled():
        if anomalies.empty:
            figure = new(PORTRAIT_IN, 1.2)
            figure.text(0.5, 0.5, "Nothing odd was found in the runs.", ha="center", va="center", fontsize=9,
                        color=MUTED)
            save(figure, out)
            return
        shown = anomalies.head(PANELS_MAX).to_dict("records")
        drawn = evidence[evidence["anomaly_id"].isin([row["anomaly_id"] for row in shown])]
        rows = -(-len(shown) // COLUMNS)
        figure = new(PORTRAIT_IN, 0.6 + PANEL_IN * rows)
        grid = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
        for axes, row in zip(grid, shown, strict=False):
            _panel(axes, row, drawn[drawn["anomaly_id"] == row["anomaly_id"]])
        for axes in grid[len(shown) :]:
            axes.set_visible(False)
        more = len(anomalies) - len(shown)
        if more:
            figure.supxlabel(f"{more} more in the table of anomalies", fontsize=8, color=MUTED)
        handles = _legend(drawn)
        if handles:
            figure.legend(handles=handles, loc="outside upper left", ncols=2)
        save(figure, out)


def _panel(axes: Axes, row: Mapping[Any, Any], points: pd.DataFrame) -> None:
    kind = row["kind"]
    across, along = AXES[kind]
    axes.set_title(f"{kind.capitalize()}, concurrency {row['concurrency']}", fontsize=7.5, pad=11)
    place = row["arm"] if pd.isna(row["run_id"]) else row["run_id"]
    axes.text(0, 1.03, place if len(place) <= PLACE_MAX else f"…{place[1 - PLACE_MAX:]}", transform=axes.transAxes,
              fontsize=7, color=MUTED)
    axes.set_xlabel(across, fontsize=7)
    axes.set_ylabel(along or METRICS[row["metric"]], fontsize=7)
    axes.tick_params(labelsize=7)
    if points.empty:
        say_no_data(axes, "no single requests were kept")
        axes.set_xticks([])
        axes.set_yticks([])
        return
    scale = 100.0 if kind == "throttling" else 1.0
    for series, mine in points.groupby("series", sort=True):
        _series(axes, str(series), mine, scale)
    _scales(axes, kind, points, scale)


def _series(axes: Axes, series: str, points: pd.DataFrame, scale: float) -> None:
    if series in LINES:
        ordered = points.sort_values("x")
        axes.plot(ordered["x"].to_numpy(float), scale * ordered["y"].to_numpy(float), LINES[series], color=MUTED,
                  linewidth=1.0, zorder=2)
        return
    for odd, size, face, edge in ((False, 8, PAPER, USUAL), (True, 16, ODD, INK)):
        mine = points[points["marked"].astype(bool) == odd]
        if len(mine):
            axes.scatter(mine["x"].to_numpy(float), scale * mine["y"].to_numpy(float), s=size, marker=MARKERS[series],
                         facecolors=face, edgecolors=edge, linewidths=0.6, zorder=4 if odd else 3, clip_on=False)


def _scales(axes: Axes, kind: str, points: pd.DataFrame, scale: float) -> None:
    heights = scale * points["y"].to_numpy(float)
    if kind == "outlier repeat":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    elif kind in ("monotonicity", "throttling"):
        concurrency_axis(axes, points["x"].astype(int))
    if kind in ("bimodal", "stall") and heights.min() > 0 and heights.max() > LOG_FROM * heights.min():
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        axes.yaxis.set_minor_locator(NullLocator())
    elif kind != "outlier repeat":
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))


def _legend(points: pd.DataFrame) -> list[Artist]:
    """One handle a marker or line, with the names of all series drawn with it, as each panel has some of them."""
    found = set(points["series"])
    markers: dict[str, list[str]] = {}
    for series, marker in MARKERS.items():
        if series in found:
            markers.setdefault(marker, []).append(series)
    handles: list[Artist] = [
        Line2D([], [], linestyle="none", marker=marker, markersize=4, markerfacecolor=PAPER, markeredgecolor=USUAL,
               label=" | ".join(names))
        for marker, names in markers.items()
    ]  # fmt: skip
    middles = [series for series, style in LINES.items() if series in found and style == "-"]
    if middles:
        handles.append(Line2D([], [], color=MUTED, linewidth=1.0, label=" | ".join(middles)))
    if found & {series for series, style in LINES.items() if style == "--"}:
        handles.append(Line2D([], [], color=MUTED, linestyle="--", linewidth=1.0, label="limits of the spread"))
    if points["marked"].any():
        handles.append(Line2D([], [], linestyle="none", marker="o", markersize=5, markerfacecolor=ODD,
                              markeredgecolor=INK, label="filled: what is odd"))  # fmt: skip
    return handles
