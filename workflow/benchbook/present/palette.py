"""Colours, markers and line styles that stay apart for colour-blind readers, in print and in grey; the figures' look.

The arms' colours are seven of IBM Carbon's fourteen categorical ones (carbondesignsystem.com/data-visualization):
those of which the closest two are furthest apart over full sight and the three kinds of colour blindness. Every
colour has 3:1 or more against its ground (WCAG 2.1, 1.4.11), on white and on a dark page, but for the grid and soft
fills, which have an edge that does. Figures are set in DejaVu Sans, which matplotlib brings along, and their text is
drawn as outlines: equal on every machine, in every browser and in the PDF.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

PAPER = "#ffffff"
INK = "#24292f"
MUTED = "#6b7280"
RULE = "#d5d9de"
BAD = "#b42318"
BAD_SOFT = "#fbe4e1"
MARGIN = "#eef1f4"
CLAIMED = "#0072b2"
USUAL = "#0072b2"
ODD = "#d55e00"

COLOURS = ("#6929c4", "#009d9a", "#012749", "#fa4d56", "#8a3800", "#a56eff", "#005d5d")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
Dashes = Literal["-"] | tuple[float, tuple[float, ...]]
LINES: tuple[Dashes, ...] = (
    "-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.2, 1.2, 1.2)), (0, (9, 2.5)),
)  # fmt: skip

PHASES = {
    "boot": "#66686e",
    "client": "#21232c",
    "warmup": "#ea6c16",
    "run": "#134084",
    "teardown": "#b480ad",
}
PHASE_NAMES = {"boot": "boot", "client": "client start", "warmup": "warmup", "run": "measured run",
               "teardown": "teardown"}
SAMPLED = {"cpu": COLOURS[2], "gpu": COLOURS[1], "server": COLOURS[0], "client": COLOURS[3], "power": COLOURS[4]}

# Each colour with the one that takes its place on a dark page.
DARK = {
    PAPER: "#14171b", INK: "#e6e9ed", MUTED: "#a3acb6", RULE: "#30363d", BAD: "#ff8d80", BAD_SOFT: "#3d1f1c",
    MARGIN: "#262c33", CLAIMED: "#4fb0ea", ODD: "#ff8a3d",
    "#6929c4": "#b69fea", "#009d9a": "#1c8b77", "#012749": "#e1e4ff", "#fa4d56": "#d15521", "#8a3800": "#fdaa39",
    "#a56eff": "#a153f2", "#005d5d": "#03caab",
    "#66686e": "#757c8a", "#21232c": "#fafaf2", "#ea6c16": "#e89315", "#134084": "#add3fb", "#b480ad": "#a4675e",
}  # fmt: skip

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
    line: Dashes


def dark_css() -> str:
    """Rules that give the figures of a page their dark colours where the reader prefers a dark one. Print keeps the
    light ones, as does the figure's own file: its colours stand in style attributes, which these rules look for. They
    do not reach into what a `use` element shows, which is why `svg.inline` leaves no colour there."""
    rules = [
        f'.card svg [style*="{what}: {light}"] {{ {what}: {dark} !important; }}'
        for light, dark in DARK.items() for what in ("fill", "stroke")
    ]
    return "@media screen and (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}"


def arm_styles(arms: Iterable[str]) -> dict[str, ArmStyle]:
    """One colour, marker and line style per arm, in the order given; marker and line, which are what grey print leaves,
    are unique for up to 45 arms, and with the colour for up to 315."""
    names = list(dict.fromkeys(arms))
    return {
        name: ArmStyle(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], LINES[i % len(LINES)])
        for i, name in enumerate(names)
    }
