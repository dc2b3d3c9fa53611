"""The fixed cost: decode step against sequences per rank, and the share of it that is toll."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from benchbook.present.canvas import PORTRAIT_IN, concurrency_axis, new, no_data, save, say_no_data, styled, thousands
from benchbook.present.palette import BAD, INK, MUTED, PAPER, ArmStyle, arm_styles

ROW_IN = 2.35
ROOM = 1.06
LEFT = 0.035
FLOOR: dict[str, Any] = {"linewidth": 0.7, "marker": "o", "markersize": 3.0, "markerfacecolor": PAPER}


def _line(axes: Axes, fit: pd.Series, reach: float, style: ArmStyle) -> None:
    """The chosen model from no sequence to `reach`, and its fixed cost where it meets the axis."""
    fixed, slope = float(fit["t_fixed_ms"]), 0.0 if pd.isna(fit["slope_ms"]) else float(fit["slope_ms"])
    bend = 0.0 if pd.isna(fit["hinge"]) else float(fit["hinge"])
    refused = pd.notna(fit["refused"])
    axes.plot([0.0, bend, reach], [fixed, fixed, fixed + slope * max(0.0, reach - bend)],
              color=MUTED if refused else style.colour, linewidth=0.7 if refused else 1.3, linestyle=style.line,
              zorder=3)
    if refused:
        axes.text(0.07, 0.05, "fit refused", transform=axes.transAxes, fontsize=7, color=BAD)
        return
    if pd.notna(fit["t_fixed_low_ms"]) and pd.notna(fit["t_fixed_high_ms"]):
        axes.plot([0.0, 0.0], [float(fit["t_fixed_low_ms"]), float(fit["t_fixed_high_ms"])], color=INK, linewidth=2.2,
                  zorder=5)
    axes.plot([0.0], [fixed], marker="_", color=INK, markersize=11, markeredgewidth=1.6, zorder=6)


def _steps(axes: Axes, steps: pd.DataFrame, fit: pd.Series | None, toll: pd.DataFrame, style: ArmStyle) -> None:
    """One arm's runs, its chosen line and its floor. `fit` is None where no model was chosen."""
    known = steps[steps["sequences_per_rank"].notna()]
    mixed = known[known["tpot_step_ms"].notna()]
    axes.scatter(mixed["sequences_per_rank"].to_numpy(float), mixed["tpot_step_ms"].to_numpy(float), s=17, marker="o",
                 facecolors=PAPER, edgecolors=MUTED, linewidths=0.8, zorder=4)
    pure = known[known["step_ms"].notna()]
    for left_out, marker in ((False, style.marker), (True, "x")):
        points = pure[pure["regime"].notna() == left_out]
        axes.scatter(points["sequences_per_rank"].to_numpy(float), points["step_ms"].to_numpy(float), s=15,
                     marker=marker, color=style.colour, linewidths=1.0, zorder=5)
    reach = float(known["sequences_per_rank"].max()) * ROOM if len(known) else 1.0
    fitted = toll.dropna(subset=["fitted_ms"]).sort_values("sequences_per_rank")
    if (fitted["response"] == "over floor").any():
        axes.plot(fitted["sequences_per_rank"].to_numpy(float), fitted["fitted_ms"].to_numpy(float),
                  color=style.colour, linewidth=1.3, linestyle=style.line, zorder=3)
        axes.text(0.97, 0.05, "fixed cost over the byte floor", transform=axes.transAxes, ha="right", fontsize=7,
                  color=MUTED)
    elif fit is not None and pd.notna(fit["t_fixed_ms"]):
        _line(axes, fit, reach, style)
    floor = toll.dropna(subset=["floor_ms", "sequences_per_rank"]).sort_values("sequences_per_rank")
    if len(floor):
        axes.plot(floor["sequences_per_rank"].to_numpy(float), floor["floor_ms"].to_numpy(float), color=INK,
                  **FLOOR, zorder=3)
    if known.empty:
        say_no_data(axes, "no run has a steady window")
    axes.axvline(0, color=MUTED, linewidth=0.7, zorder=1)
    axes.set_xlim(-LEFT * reach, reach)
    axes.margins(y=0.12)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Sequences decoding at once on a rank")
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))


def _toll(axes: Axes, toll: pd.DataFrame, ticks: Sequence[int], style: ArmStyle) -> None:
    """The fixed cost's share of the step (%) at each concurrency, with its interval."""
    concurrency_axis(axes, ticks)
    known = toll.dropna(subset=["toll_share"]).sort_values("concurrency")
    for row in known.to_dict("records"):
        x, share = float(row["concurrency"]), 100 * float(row["toll_share"])
        if pd.notna(row["toll_share_low"]) and pd.notna(row["toll_share_high"]):
            axes.plot([x, x], [100 * float(row["toll_share_low"]), 100 * float(row["toll_share_high"])],
                      color=style.colour, linewidth=1.4, zorder=3)
        face = style.colour if pd.isna(row["refused"]) else PAPER
        axes.plot([x], [share], marker=style.marker, color=style.colour, markerfacecolor=face, markersize=4.5,
                  linestyle="none", zorder=4)
    if known.empty:
        say_no_data(axes, "no model was fitted")
    axes.set_ylim(0, 105)
    axes.set_xlabel("Concurrency, requests in flight")


def _chosen(fixed_cost: pd.DataFrame, arm: str) -> pd.Series | None:
    """The chosen model of the arm's decode step; of its mean TPOT where no step could be fitted."""
    of_arm = fixed_cost[(fixed_cost["arm"] == arm) & fixed_cost["chosen"] & fixed_cost["t_fixed_ms"].notna()]
    for response in ("step", "tpot"):
        found = of_arm[of_arm["response"] == response]
        if len(found):
            return found.iloc[0]
    return None


def _legend(steps: pd.DataFrame, toll: pd.DataFrame) -> list[Artist]:
    handles: list[Artist] = [
        Line2D([], [], color=MUTED, marker="s", linestyle="none", label="step of a run"),
        Line2D([], [], color=MUTED, marker="o", markerfacecolor=PAPER, linestyle="none", label="mean TPOT × a"),
        Line2D([], [], color=MUTED, linewidth=1.3, label="chosen model, in the arm's line"),
        Line2D([], [], color=INK, marker="_", markersize=9, markeredgewidth=1.6, linestyle="none", label="fixed cost"),
    ]
    if steps["regime"].notna().any():
        handles.append(Line2D([], [], color=MUTED, marker="x", linestyle="none", label="of another regime, not fitted"))
    if toll["floor_ms"].notna().any():
        handles.append(Line2D([], [], color=INK, **FLOOR, label="byte floor"))
    return handles


def draw(steps: pd.DataFrame, fixed_cost: pd.DataFrame, toll: pd.DataFrame, arms: Sequence[str], out: Path) -> None:
    """Write the SVG of the fixed cost, a row of two panels per arm.

    Left: step (ms) of every run against its sequences per rank, mean TPOT × a of the same runs, the chosen model's line
    and the byte floor. Right: the toll's share (%) against concurrency. All lines are drawn from columns of the tables.
    `arms` fixes the order of rows and colours.
    """
    measured = steps[steps["sequences_per_rank"].notna() & (steps["step_ms"].notna() | steps["tpot_step_ms"].notna())]
    if measured.empty:
        no_data(out, "no run has a steady window with a decode step")
        return
    styles = arm_styles((*arms, *steps["arm"]))
    shown = [arm for arm in styles if arm in set(measured["arm"])]
    ticks = sorted({int(c) for c in measured["concurrency"]})
    with styled():
        figure = new(PORTRAIT_IN, ROW_IN * len(shown) + 0.5)
        grid = figure.subplots(len(shown), 2, squeeze=False, width_ratios=(3, 2))
        for (left, right), arm in zip(grid, shown, strict=True):
            of_arm = toll[toll["arm"] == arm]
            _steps(left, steps[steps["arm"] == arm], _chosen(fixed_cost, arm), of_arm, styles[arm])
            _toll(right, of_arm, ticks, styles[arm])
            left.set_title(f"{arm}: decode step, ms")
            right.set_title("Toll, % of the step")
        handles = _legend(steps, toll)
        figure.legend(handles=handles, loc="outside upper left", ncols=3)
        save(figure, out)
