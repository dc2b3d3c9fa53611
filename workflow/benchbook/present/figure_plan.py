"""The sessions of a plan in time: what the node's hours will go to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from benchbook.present.canvas import PORTRAIT_IN, new, save, styled, thousands
from benchbook.present.palette import MUTED, PAPER, PHASE_NAMES, PHASES

ROW_IN = 0.34
BAR = 0.62
SHOWN_AS = {"boot": "boot", "warmup": "warmup", "run": "run", "rerun": "run", "rest": "teardown"}
NAMES = {**PHASE_NAMES, "run": "runs, with those expected once more", "teardown": "client, gaps, teardown"}
NARROW_MIN = 0.8


def draw(sessions: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Write the SVG of `sessions` as plan.json has them: a row each in order, minutes on the axis, a block per phase
    with its concurrency, a whisker from the low to the high end of the session."""
    with styled():
        figure = new(PORTRAIT_IN, ROW_IN * len(sessions) + 1.15)
        axes = figure.subplots()
        clock = 0.0
        whole = sum(item["expected_s"] for item in sessions) / 60
        for row, session in enumerate(sessions):
            begin = clock
            for phase in session["phases"]:
                width = phase["expected_s"] / 60
                axes.barh(row, width, left=clock, height=BAR, color=PHASES[SHOWN_AS[phase["what"]]], linewidth=0.4,
                          edgecolor=PAPER, snap=False, zorder=3)
                if phase["what"] == "run" and width > NARROW_MIN * whole / 40:
                    axes.annotate(f"{phase['concurrency']}", (clock + width / 2, row), ha="center", va="center",
                                  color=PAPER, fontsize=7, zorder=4)
                clock += width
            ends = begin + session["low_s"] / 60, begin + session["high_s"] / 60
            axes.plot(ends, [row + BAR / 2 + 0.08] * 2, color=MUTED, linewidth=0.9, zorder=2)
        axes.set_yticks(range(len(sessions)), [f"{item['slot']}  {item['arm']}" for item in sessions])
        axes.set_ylim(len(sessions) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.margins(x=0.01)
        axes.grid(False, axis="y")
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_formatter(FuncFormatter(thousands))
        axes.set_xlabel("Minutes of node time as expected; the line below a row goes from its low to its high end")
        used = dict.fromkeys(SHOWN_AS[phase["what"]] for session in sessions for phase in session["phases"])
        handles = [Patch(facecolor=PHASES[name], label=NAMES[name]) for name in used]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles))
        save(figure, out)
