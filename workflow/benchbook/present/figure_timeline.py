"""The sessions in time: where the node's minutes went."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from benchbook.present.canvas import PORTRAIT_IN, new, no_data, save, styled, thousands
from benchbook.present.palette import BAD, BAD_SOFT, MUTED, PHASE_NAMES, PHASES

ROW_IN = 0.34
BAR = 0.62
SPARSE = 4.0


def _starts(spans: pd.DataFrame) -> tuple[pd.Series, bool]:
    """Where each session's row begins on the axis (Unix s), and whether all share the first launch.

    Sessions that lie far apart (a booking taken up again another day) would leave nothing of each bar, so then each
    row counts from its own launch.
    """
    own = spans.groupby("session_id")["t_start_s"].min().astype(float)
    ends = spans.groupby("session_id")["t_end_s"].max().astype(float)
    shared = float(ends.max() - own.min()) <= SPARSE * max(float((ends - own).sum()), 1.0)
    return (own * 0 + own.min() if shared else own), shared


def _bar(axes: Axes, row: int, phases: pd.DataFrame, start: float) -> None:
    """One session: its whole span as a thin line, so that gaps show, and a block per phase."""
    begin, end = float(phases["t_start_s"].min()), float(phases["t_end_s"].max())
    axes.plot([(begin - start) / 60, (end - start) / 60], [row, row], color=MUTED, linewidth=0.8, zorder=2,
              solid_capstyle="butt")
    for item in phases.to_dict("records"):
        left, width = (item["t_start_s"] - start) / 60, (item["t_end_s"] - item["t_start_s"]) / 60
        colour = PHASES.get(item["phase"], MUTED)
        if item["ok"]:
            axes.barh(row, width, left=left, height=BAR, color=colour, linewidth=0, snap=False, zorder=3)
        else:
            axes.barh(row, width, left=left, height=BAR, color=BAD_SOFT, edgecolor=BAD, hatch="/////", linewidth=0.8,
                      snap=False, zorder=4)


def _legend(timeline: pd.DataFrame) -> list[Artist]:
    seen = set(timeline["phase"])
    handles: list[Artist] = [
        Patch(facecolor=colour, label=PHASE_NAMES[phase]) for phase, colour in PHASES.items() if phase in seen
    ]
    if not timeline["ok"].all():
        handles.append(Patch(facecolor=BAD_SOFT, edgecolor=BAD, hatch="/////", label="failed"))
    return [*handles, Line2D([], [], color=MUTED, linewidth=0.8, label="gap")]


def draw(timeline: pd.DataFrame, out: Path) -> None:
    """Write the SVG of the timeline: a row per session in the order of launch, minutes on the axis."""
    spans = timeline.dropna(subset=["t_start_s", "t_end_s"])
    if spans.empty:
        no_data(out, "no session was launched", PORTRAIT_IN)
        return
    starts, shared = _starts(spans)
    launches = spans.groupby("session_id")["t_start_s"].min().sort_values(kind="stable")
    with styled():
        figure = new(PORTRAIT_IN, ROW_IN * len(launches) + 1.15)
        axes = figure.subplots()
        names = []
        for row, session in enumerate(launches.index):
            phases = spans[spans["session_id"] == session].sort_values("t_start_s", kind="stable")
            names.append(f"{phases['slot'].iloc[0]}  {phases['arm'].iloc[0]}")
            _bar(axes, row, phases, float(starts[session]))
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.margins(x=0.01)
        axes.grid(False, axis="y")
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(FuncFormatter(thousands))
        axes.set_xlabel("Minutes since the first launch" if shared else
                        "Minutes since the session's own launch (the sessions lie far apart)")
        handles = _legend(spans)
        figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4))
        save(figure, out)
