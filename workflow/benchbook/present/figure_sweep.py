"""The sweep: throughput and TPOT against concurrency, every run shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from benchbook.present.canvas import PORTRAIT_IN, concurrency_axis, new, no_data, save, say_no_data, styled, thousands
from benchbook.present.palette import MUTED, PAPER, ArmStyle, arm_styles

DODGE = 0.09
PANELS = (("throughput_tok_s", "Throughput, tok/s"), ("tpot_mean_ms", "Mean TPOT, ms"))


def _draw_arm(axes: Axes, sweep: pd.DataFrame, runs: pd.DataFrame, column: str, style: ArmStyle, dodge: float) -> None:
    """One arm in one panel: the sweep table's means as a line, its runs as points."""
    means = sweep.dropna(subset=[column]).sort_values("concurrency")
    if len(means):
        axes.plot(means["concurrency"].to_numpy(float) * dodge, means[column].to_numpy(float), color=style.colour,
                  linestyle=style.line, linewidth=1.3, zorder=3)
    usable = runs[(runs["status"] == "ok") & runs[column].notna()]
    for tagged, face in ((False, style.colour), (True, PAPER)):
        points = usable[(usable["tags"] != "") == tagged]
        if len(points):
            axes.scatter(points["concurrency"].to_numpy(float) * dodge, points[column].to_numpy(float), s=15,
                         marker=style.marker, facecolors=face, edgecolors=style.colour, linewidths=0.9,
                         zorder=4)
    failed = runs[runs["status"] != "ok"]
    if len(failed):
        axes.scatter(failed["concurrency"].to_numpy(float) * dodge, [0.0] * len(failed), s=28, marker="x",
                     color=style.colour, linewidths=1.4, clip_on=False, zorder=6)


def _legend(styles: dict[str, ArmStyle], runs: pd.DataFrame) -> list[Artist]:
    handles: list[Artist] = [
        Line2D([], [], color=style.colour, linestyle=style.line, linewidth=1.3, marker=style.marker,
               markersize=4, label=arm)
        for arm, style in styles.items()
    ]
    if ((runs["status"] == "ok") & (runs["tags"] != "")).any():
        handles.append(Line2D([], [], color=MUTED, marker="o", markerfacecolor=PAPER, linestyle="none",
                              label="run with a tag"))
    if (runs["status"] != "ok").any():
        handles.append(Line2D([], [], color=MUTED, marker="x", linestyle="none", label="run not ok (on the axis)"))
    return handles


def draw(sweep: pd.DataFrame, runs: pd.DataFrame, out: Path, arms: Sequence[str] = ()) -> None:
    """Write the SVG of the sweep: one point per ok run that counts, a line through the sweep table's means.

    Tagged runs are hollow, runs that are not ok are crosses on the axis. `arms` fixes the order of the colours; by
    default the order in the runs table. Of several load clients each draws a line of its own, named after both.
    """
    runs = runs[~runs["replaced"].fillna(False).astype(bool)]
    if runs.empty:
        no_data(out, "no run was asked for")
        return
    if runs["client"].nunique() > 1:
        clients = runs["client"].unique()
        arms = [f"{arm}, {client}" for arm in dict.fromkeys((*arms, *runs["arm"])) for client in clients]
        sweep, runs = (frame.assign(arm=frame["arm"] + ", " + frame["client"]) for frame in (sweep, runs))
    shown = [arm for arm in (*arms, *runs["arm"]) if arm in set(runs["arm"])]
    all_styles = arm_styles((*arms, *runs["arm"]))
    styles = {arm: all_styles[arm] for arm in dict.fromkeys(shown)}
    with styled():
        figure = new(PORTRAIT_IN, 2.7)
        for axes, (column, title) in zip(figure.subplots(1, 2), PANELS, strict=True):
            concurrency_axis(axes, runs["concurrency"].astype(int))
            for place, (arm, style) in enumerate(styles.items()):
                dodge = 2 ** (DODGE * (place - (len(styles) - 1) / 2))
                _draw_arm(axes, sweep[sweep["arm"] == arm], runs[runs["arm"] == arm], column, style, dodge)
            if not ((runs["status"] == "ok") & runs[column].notna()).any():
                say_no_data(axes, "no run is ok")
                axes.set_ylim(0, 1)
                axes.set_yticks([0])
            axes.set_ylim(bottom=0)
            axes.set_title(title)
            axes.set_xlabel("Concurrency, requests in flight")
            axes.yaxis.set_major_formatter(FuncFormatter(thousands))
        handles = _legend(styles, runs)
        figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4), handlelength=3.4)
        save(figure, out)
