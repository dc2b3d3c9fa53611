"""Telemetry over time, session by session, with the measured runs marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from benchbook.present.canvas import LANDSCAPE_IN, new, no_data, save, say_no_data, styled, thousands
from benchbook.present.envelope import envelope
from benchbook.present.palette import PHASES, SAMPLED

ROW_IN, LEAST_ROW_IN, PAGE_IN = 1.0, 0.6, 4.6
RUN_SHADE, RUN_BAR = 0.06, (1.0, 1.06)
PIXELS = 600

Line = tuple[str, str, str]
PANELS: tuple[tuple[str, float | None, tuple[Line, ...]], ...] = (
    ("Utilization, %", 100.0, (("cpu_util_pct", "CPU, mean of cores", SAMPLED["cpu"]),
                               ("gpu_util_pct", "GPU, mean of GPUs", SAMPLED["gpu"]))),
    ("CPU time, cores", None, (("server_cpu_cores", "server", SAMPLED["server"]),
                               ("client_cpu_cores", "client", SAMPLED["client"]))),
    ("Power per GPU, W", None, (("gpu_power_w", "power", SAMPLED["power"]),)),
)


def _panel(axes: Axes, samples: pd.DataFrame, runs: pd.DataFrame, launch: float, lines: Sequence[Line],
           span_min: float) -> None:
    """One quantity of one session: run windows as a bar on top and a faint shade, a line per column that has values.

    `span_min`: minutes on the panel's x axis.
    """
    for item in runs.to_dict("records"):
        window = (item["t_start_s"] - launch) / 60, (item["t_end_s"] - launch) / 60
        axes.axvspan(*window, color=PHASES["run"], alpha=RUN_SHADE, linewidth=0)
        axes.axvspan(*window, *RUN_BAR, color=PHASES["run"], linewidth=0, clip_on=False)
    for column, _, colour in lines:
        if column in samples and samples[column].notna().any():
            minutes = (samples["t_s"].astype(float) - launch) / 60
            values = samples[column].to_numpy(float, na_value=float("nan"))
            axes.plot(*envelope(minutes.to_numpy(), values, span_min / PIXELS), color=colour, linewidth=0.9)
    if not any(column in samples and samples[column].notna().any() for column, _, _ in lines):
        say_no_data(axes, "no sample")


def _legend(samples: pd.DataFrame, any_run: bool) -> list[Artist]:
    handles: list[Artist] = [
        Line2D([], [], color=colour, label=label)
        for _, _, lines in PANELS for column, label, colour in lines
        if column in samples and samples[column].notna().any()
    ]
    return [*handles, Patch(facecolor=PHASES["run"], label="measured run")] if any_run else handles


def draw(samples: pd.DataFrame, timeline: pd.DataFrame, out: Path) -> None:
    """Write the SVG of the telemetry: a row per session, a column per quantity that was sampled.

    `samples` has session_id, t_s (Unix s), cpu_util_pct (%), server_cpu_cores, client_cpu_cores (cores), gpu_util_pct
    (%) and gpu_power_w (W); a null is a gap in its line. Quantities that no session has are left out. Of a series
    denser than PIXELS over the axis only what can be seen is drawn, its extremes included.
    """
    panels = [panel for panel in PANELS
              if any(column in samples and samples[column].notna().any() for column, _, _ in panel[2])]
    if samples.empty or not panels:
        no_data(out, "no telemetry was sampled" if samples.empty else "every sample is empty", LANDSCAPE_IN)
        return
    launches = timeline.groupby("session_id")["t_start_s"].min().astype(float).to_dict()
    for session, first in samples.groupby("session_id")["t_s"].min().astype(float).items():
        launches.setdefault(session, first)
    sessions = sorted(launches, key=lambda session: (launches[session], session))
    since = samples["t_s"].astype(float) - samples["session_id"].map(launches).astype(float)
    ends = timeline["t_end_s"].astype(float) - timeline["session_id"].map(launches).astype(float)
    span_min = float(pd.concat([since, ends]).max()) / 60
    with styled():
        row_in = min(ROW_IN, max(LEAST_ROW_IN, PAGE_IN / len(sessions)))
        figure = new(LANDSCAPE_IN, row_in * len(sessions) + 0.8)
        grid = figure.subplots(len(sessions), len(panels), squeeze=False, sharex=True)
        for y, session in enumerate(sessions):
            of_session = timeline[timeline["session_id"] == session]
            runs = of_session[of_session["phase"] == "run"].dropna(subset=["t_start_s", "t_end_s"])
            own = samples[samples["session_id"] == session].sort_values("t_s", kind="stable")
            name = str(session) if of_session.empty else f"{of_session['slot'].iloc[0]} {of_session['arm'].iloc[0]}"
            for x, (title, top, lines) in enumerate(panels):
                axes = grid[y][x]
                _panel(axes, own, runs, launches[session], lines, span_min)
                axes.set_ylim(0, top)
                axes.set_xlim(0, span_min)
                axes.yaxis.set_major_locator(MaxNLocator(2 if row_in < 0.8 else 4))
                axes.yaxis.set_major_formatter(FuncFormatter(thousands))
                axes.xaxis.set_major_formatter(FuncFormatter(thousands))
                axes.set_title(f"{name}: {title}", fontsize=7.5, fontweight="normal", pad=8)
                if y == len(sessions) - 1:
                    axes.set_xlabel("Minutes since the session's launch")
        handles = _legend(samples, bool((timeline["phase"] == "run").any()))
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles))
        save(figure, out)
