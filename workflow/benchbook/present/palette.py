"""Colours and markers that stay apart for colour-blind readers, in print and in grey; the look of the figures.

Okabe and Ito's palette without its yellow, too faint for a line on white. Figures are set in DejaVu Sans, which
matplotlib brings along, and their text is drawn as outlines: equal on every machine, in every browser and in the PDF.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# Each colour with the one that takes its place on a dark page: as far from that ground as it is from white.
DARK = {
    "#ffffff": "#14171b", "#24292f": "#e6e9ed", "#6b7280": "#a3acb6", "#d5d9de": "#30363d", "#b42318": "#ff8d80",
    "#0072b2": "#4fb0ea", "#d55e00": "#ff8a3d", "#009e73": "#3cc79c", "#cc79a7": "#e29cc4", "#e69f00": "#f0b84a",
    "#56b4e9": "#8bd0f7", "#1a1a1a": "#e6e9ed", "#b8c4d0": "#5d6b79", "#8fa3b5": "#7d92a6", "#f0b355": "#d49a3f",
    "#d9cbbf": "#6f6259",
}  # fmt: skip
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#1A1A1A")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

INK = "#24292f"
MUTED = "#6b7280"
RULE = "#d5d9de"
BAD = "#b42318"

PHASES = {
    "boot": "#B8C4D0",
    "client": "#8FA3B5",
    "warmup": "#F0B355",
    "run": "#0072B2",
    "teardown": "#D9CBBF",
}
PHASE_NAMES = {"boot": "boot", "client": "client start", "warmup": "warmup", "run": "measured run",
               "teardown": "teardown"}

STYLE: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.0,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "xtick.minor.visible": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "legend.handlelength": 1.8,
    "hatch.linewidth": 0.8,
    "svg.fonttype": "path",
    "svg.hashsalt": "benchbook",
    "path.simplify": True,
}


@dataclass(frozen=True)
class ArmStyle:
    """How an arm is drawn in every figure."""

    colour: str
    marker: str


def dark_css() -> str:
    """Rules that give the figures of a page their dark colours where the reader prefers a dark one. Print keeps the
    light ones, as does the figure's own file: its colours stand in style attributes, which these rules look for."""
    rules = [
        f'.card svg [style*="{what}: {light}"] {{ {what}: {dark} !important; }}'
        for light, dark in DARK.items() for what in ("fill", "stroke")
    ]
    return "@media screen and (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}"


def arm_styles(arms: Iterable[str]) -> dict[str, ArmStyle]:
    """One colour and one marker per arm, in the order given; the pair is unique for up to 63 arms."""
    names = list(dict.fromkeys(arms))
    return {name: ArmStyle(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, name in enumerate(names)}
