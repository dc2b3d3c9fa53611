"""The warmup: TPOT of every reading, arm by concurrency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from benchbook.present.canvas import PORTRAIT_IN, new, no_data, save, say_no_data, styled, thousands
from benchbook.present.palette import BAD, MUTED, ArmStyle, arm_styles

LINES = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.2, 1.2, 1.2)))
ROW_IN = 1.35
COLUMN_IN = 1.72
LEAST_SPAN = 0.10


def _panel(axes: Axes, readings: pd.DataFrame, style: ArmStyle, tolerance: float | None) -> None:
    """One arm at one concurrency: a line per session; the last reading says whether warmup was accepted."""
    for place, (_, series) in enumerate(readings.groupby("session_id", sort=True)):
        known = series.dropna(subset=["tpot_mean_ms"]).sort_values("reading")
        if known.empty:
            continue
        x, y = known["reading"].to_numpy(float), known["tpot_mean_ms"].to_numpy(float)
        axes.plot(x, y, color=style.colour, linestyle=LINES[place % len(LINES)], marker=style.marker, markersize=3.2,
                  markerfacecolor="white", markeredgewidth=0.8, linewidth=1.0)
        if known["verdict"].iloc[-1] == "CONVERGED":
            axes.plot(x[-1:], y[-1:], color=style.colour, marker=style.marker, markersize=5.5, zorder=5)
            if tolerance is not None:
                axes.axhspan(y[-1] * (1 - tolerance), y[-1] * (1 + tolerance), color=style.colour, alpha=0.10, lw=0)
        else:
            axes.plot(x[-1:], y[-1:], color=BAD, marker="x", markersize=6, markeredgewidth=1.5, zorder=7)


def _limits(values: pd.Series) -> tuple[float, float]:
    """y limits of a panel: never so narrow that noise looks like a trend."""
    low, high = float(values.min()), float(values.max())
    pad = max((high - low) * 0.12, (LEAST_SPAN * high - (high - low)) / 2, 1e-9)
    return max(0.0, low - pad), high + pad


def _legend(tolerance: float | None, unwarmed: bool) -> list[Artist]:
    band = "" if tolerance is None else f" (band: ±{tolerance * 100:g} %)"
    handles: list[Artist] = [
        Line2D([], [], color=MUTED, marker="o", markerfacecolor="white", markersize=3.2, linewidth=1.0,
               label="reading (one line per session)"),
        Line2D([], [], color=MUTED, marker="o", markersize=5.5, linestyle="none", label=f"accepted{band}"),
    ]
    if unwarmed:
        handles.append(Line2D([], [], color=BAD, marker="x", markersize=6, markeredgewidth=1.5, linestyle="none",
                              label="never accepted (UNWARMED)"))
    return handles


def draw(warmup: pd.DataFrame, out: Path, arms: Sequence[str] = (), tolerance: float | None = None) -> None:
    """Write the SVG of the warmup: TPOT (ms) against reading, one panel per arm and concurrency.

    `tolerance` is the relative spread of TPOT that the rule accepts, shown as a band around the accepted reading;
    `arms` fixes the order of rows and colours.
    """
    if warmup.empty:
        no_data(out, "no warmup was run")
        return
    all_styles = arm_styles((*arms, *warmup["arm"]))
    rows = [arm for arm in all_styles if arm in set(warmup["arm"])]
    columns = sorted(warmup["concurrency"].astype(int).unique())
    last = int(warmup["reading"].max())
    width = max(PORTRAIT_IN, COLUMN_IN * len(columns))
    with styled():
        figure = new(width, ROW_IN * len(rows) + 0.55)
        grid = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True)
        for y, arm in enumerate(rows):
            for x, concurrency in enumerate(columns):
                axes = grid[y][x]
                readings = warmup[(warmup["concurrency"] == concurrency) & (warmup["arm"] == arm)]
                _panel(axes, readings, all_styles[arm], tolerance)
                if readings["tpot_mean_ms"].notna().any():
                    axes.set_ylim(*_limits(readings["tpot_mean_ms"].dropna()))
                else:
                    say_no_data(axes, "every reading failed" if len(readings) else "not run")
                    axes.set_yticks([])
                axes.set_xlim(0.6, max(last, 2) + 0.4)
                axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
                axes.yaxis.set_major_locator(MaxNLocator(4))
                axes.yaxis.set_major_formatter(FuncFormatter(thousands))
                axes.set_title(f"{arm}, C = {concurrency:,}", fontsize=7.5, fontweight="normal")
        figure.supxlabel("Reading (one wave of C requests)", fontsize=8)
        figure.supylabel("Mean TPOT, ms", fontsize=8)
        handles = _legend(tolerance, bool((warmup["verdict"] == "UNWARMED").any()))
        figure.legend(handles=handles, loc="outside upper left", ncols=3)
        save(figure, out)
