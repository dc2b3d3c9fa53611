"""A figure's frame: style on, drawn, saved byte for byte the same for equal input."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from benchbook.present.format import MINUS
from benchbook.present.palette import MUTED, STYLE

PORTRAIT_IN = 7.1
LANDSCAPE_IN = 10.4
_NO_METADATA: dict[str, Any] = {"Date": None, "Creator": None, "Format": None, "Type": None}


@contextmanager
def styled() -> Iterator[None]:
    """The look of every figure, and nothing of the reader's own matplotlib settings."""
    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = STYLE
        mpl.rcParams.update(settings)
        yield


def new(width_in: float, height_in: float) -> Figure:
    """An empty figure with an SVG canvas and constrained layout. Call inside `styled`."""
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasSVG(figure)
    return figure


def save(figure: Figure, out: Path) -> None:
    """Write `figure` as SVG without dates, whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(out.name + ".part")
    figure.savefig(partial, format="svg", metadata=_NO_METADATA)
    os.replace(partial, out)


def no_data(out: Path, why: str, width_in: float = PORTRAIT_IN) -> None:
    """A figure that says why there is nothing to draw."""
    with styled():
        figure = new(width_in, 1.2)
        figure.text(0.5, 0.5, f"no data: {why}", ha="center", va="center", fontsize=9, color=MUTED)
        save(figure, out)


def say_no_data(axes: Axes, why: str) -> None:
    """Say inside one panel why it is empty."""
    axes.text(0.5, 0.5, f"no data: {why}", transform=axes.transAxes, ha="center", va="center", fontsize=7, color=MUTED,
              wrap=True)


def concurrency_axis(axes: Axes, values: Iterable[int]) -> None:
    """A log2 x axis whose ticks are exactly the measured concurrencies."""
    ticks = sorted(set(values))
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{tick:,}" for tick in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(False, axis="x")
    axes.set_xlim(ticks[0] / 2**0.5, ticks[-1] * 2**0.5)
    if len(ticks) > 10:
        axes.tick_params(axis="x", labelrotation=60)


def thousands(value: float, _position: int = 0) -> str:
    """A tick label with thousands separators and no needless decimals."""
    return f"{value:,.10g}".replace("-", MINUS)
