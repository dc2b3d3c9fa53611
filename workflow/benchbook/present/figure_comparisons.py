"""Comparisons: every effect with its interval, and the level of its verdict as a shape."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from benchbook.present.canvas import PORTRAIT_IN, new, no_data, save, styled, thousands
from benchbook.present.labels import metric_name
from benchbook.present.levels import BY_NAME, LEVELS, Level
from benchbook.present.palette import BAD, CLAIMED, INK, MARGIN, MUTED, PAPER

MOST = 60
ROW_IN = 0.175
PANEL_IN = 0.42
ROOM = 1.25
NO_VERDICT = Level("no verdict", "x", False, "")
Row = Mapping[Hashable, Any]


def _kept(arms: pd.DataFrame) -> pd.DataFrame:
    """The rows that are drawn: those declared before measuring first, then in the order of the table."""
    order = (arms["family"] != "declared").sort_values(kind="stable").index
    return arms.loc[order[:MOST]].sort_index()


def _limit(rows: Sequence[Row], levels: Sequence[Level]) -> float:
    """Half-width of the axis: room for every margin and every effect that is drawn, and for intervals up to twice
    that."""
    drawn = [row for row, level in zip(rows, levels, strict=True) if level.name != "REFUSED"]
    least = max(*(1.5 * row["equivalence_margin_pct"] for row in rows), *(abs(row["effect_pct"]) for row in drawn), 1.0)
    ends = max((abs(end) for row in drawn for end in _ends(row)), default=0.0)
    return ROOM * float(min(max(least, ends), 2 * least))


def _ends(row: Row) -> tuple[float, ...]:
    """Both ends of what is drawn around the effect: its interval, else the band, else nothing."""
    if pd.notna(row["holm_low_pct"]) and pd.notna(row["holm_high_pct"]):
        return float(row["holm_low_pct"]), float(row["holm_high_pct"])
    if pd.notna(row["band_pct"]):
        return float(row["effect_pct"] - row["band_pct"]), float(row["effect_pct"] + row["band_pct"])
    return ()


def _row(axes: Axes, place: int, row: Row, level: Level, limit: float) -> None:
    """One comparison: margin, interval or band, effect. Nothing is drawn of what is refused."""
    margin = float(row["equivalence_margin_pct"])
    axes.barh(place, 2 * margin, left=-margin, height=1.0, color=MARGIN, linewidth=0, zorder=1)
    axes.vlines((-margin, margin), place - 0.5, place + 0.5, color=MUTED, linewidth=0.7, zorder=1)
    if level.name == "REFUSED":
        return
    colour = CLAIMED if level.filled else MUTED
    ends = _ends(row)
    if ends and pd.notna(row["holm_low_pct"]):
        axes.plot([max(ends[0], -limit), min(ends[1], limit)], [place, place], color=colour, linewidth=1.6, zorder=3,
                  solid_capstyle="butt")
    elif ends:
        left, right = max(ends[0], -limit), min(ends[1], limit)
        axes.barh(place, right - left, left=left, height=0.5, facecolor="none", edgecolor=MUTED, hatch="/////",
                  linewidth=0.5, zorder=2)
    for end, edge, marker in zip(ends, (-limit, limit), ("<", ">"), strict=False):
        if abs(end) > limit and (end > 0) == (edge > 0):
            axes.plot([edge], [place], marker=marker, color=colour, markersize=4, clip_on=False, zorder=5)
    axes.plot([float(row["effect_pct"])], [place], marker=level.shape, color=colour, markersize=5, linestyle="none",
              markerfacecolor=colour if level.filled else PAPER, markeredgewidth=1.1, zorder=6)


def _panel(axes: Axes, metric: str, rows: Sequence[Row], levels: Sequence[Level]) -> None:
    limit = _limit(rows, levels)
    axes.axvline(0, color=INK, linewidth=0.8, zorder=2)
    for place, (row, level) in enumerate(zip(rows, levels, strict=True)):
        _row(axes, place, row, level, limit)
        axes.annotate(level.name, (1.0, place), xycoords=("axes fraction", "data"), xytext=(8, 0),
                      textcoords="offset points", va="center", ha="left", fontsize=7, annotation_clip=False,
                      color=INK if level.filled else BAD if level.name == "REFUSED" else MUTED,
                      fontweight="bold" if level.filled else "normal")
    declared = ["*" if row["family"] == "declared" else "" for row in rows]
    axes.set_yticks(range(len(rows)), [
        f"{row['arm']} / {row['baseline']}, C = {row['concurrency']:,}{mark}"
        for row, mark in zip(rows, declared, strict=True)])
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-limit, limit)
    axes.grid(False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(7))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{'+' if value > 0 else ''}{thousands(value)}"))
    axes.set_title(metric_name(metric), fontsize=8)


def _legend(rows: Sequence[Row], levels: Sequence[Level]) -> list[Artist]:
    seen = {level.name for level in levels} - {"REFUSED"}
    handles: list[Artist] = [
        Line2D([], [], color=CLAIMED if level.filled else MUTED, marker=level.shape, linestyle="none",
               markerfacecolor=CLAIMED if level.filled else PAPER, label=level.name)
        for level in LEVELS if level.name in seen
    ]
    if any(pd.notna(row["holm_low_pct"]) for row in rows):
        handles.append(Line2D([], [], color=MUTED, linewidth=1.6, label="family-wise 95 % interval"))
    if any(pd.isna(row["holm_low_pct"]) and pd.notna(row["band_pct"]) for row in rows):
        handles.append(Patch(facecolor="none", edgecolor=MUTED, hatch="/////", label="band of no effect"))
    return [*handles, Patch(facecolor=MARGIN, edgecolor=MUTED, linewidth=0.7, label="equivalence margin")]


def draw(comparisons: pd.DataFrame, verdicts: pd.DataFrame, out: Path) -> None:
    """Write the SVG of the comparisons of arms: effect (%) by metric, one row each.

    `comparisons`, `verdicts`: the booking's tables; a verdict belongs to the comparison whose id it claims. The axis is
    cut for the few intervals that go far beyond the effects. Of more than MOST comparisons the declared are kept first,
    and the figure says how many it leaves out.
    """
    arms = comparisons[(comparisons["question"] == "arms") & comparisons["effect_pct"].notna()]
    if arms.empty:
        no_data(out, "no two arms were measured at the same concurrency", PORTRAIT_IN)
        return
    level_of = dict(zip(verdicts["claim_id"], verdicts["level"], strict=True))
    kept = _kept(arms.reset_index(drop=True))
    groups = [(str(metric), rows.to_dict("records")) for metric, rows in kept.groupby("metric", sort=False)]
    levels = [[BY_NAME.get(str(level_of.get(row["comparison_id"])), NO_VERDICT) for row in rows] for _, rows in groups]
    heights = [ROW_IN * len(rows) + PANEL_IN for _, rows in groups]
    with styled():
        figure = new(PORTRAIT_IN, sum(heights) + 0.8)
        grid = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (metric, rows), found in zip(grid, groups, levels, strict=True):
            _panel(axes, metric, rows, found)
        left_out = len(arms) - len(kept)
        told = f"; {left_out:,} more comparisons are in the table" if left_out else ""
        figure.supxlabel(f"Effect, % of the baseline (* declared before measuring){told}", fontsize=8)
        flat = [row for _, rows in groups for row in rows]
        handles = _legend(flat, [level for found in levels for level in found])
        figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 3))
        save(figure, out)
