"""The README's picture: what each client adds to TTFT and to p99 ITL, by load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbook.present.canvas import PORTRAIT_IN, new, save, styled
from benchbook.present.palette import INK, MUTED, arm_styles
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from client_parts.clients import NATIVE, VLLM_BENCH
from client_parts.figures import Spread, spread

CLIENTS = {NATIVE: "benchbook", VLLM_BENCH: "vllm bench serve"}
DODGE = 0.17
FLOOR_MS = 0.03  # an error below it, or below zero, is drawn there; its label says what it is


def _spreads(runs: Sequence[Mapping[str, Any]], points: Sequence[str], client: str, key: str) -> list[Spread]:
    found = [spread(run[key] for run in runs if run["client"] == client and run["point"] == point) for point in points]
    assert all(found)
    return [one for one in found if one]


def _panel(axes: Axes, points: Sequence[str], values: Mapping[str, Sequence[Spread]], title: str, ticks: Sequence[float]
           ) -> None:  # fmt: skip
    styles = arm_styles(CLIENTS)
    for client, dodge in zip(CLIENTS, (-DODGE, DODGE), strict=True):
        style, listed = styles[client], values[client]
        places = [place + dodge for place in range(len(points))]
        low, middle, high = (
            [max(FLOOR_MS, value) for value in ends]
            for ends in zip(*((one.low, one.median, one.high) for one in listed), strict=True)
        )
        axes.vlines(places, low, high, color=style.colour, linewidth=1.2)
        axes.plot(places, middle, linestyle="none", marker=style.marker, color=style.colour, label=CLIENTS[client],
                  markersize=5)  # fmt: skip
        for place, one, top in zip(places, listed, high, strict=True):
            axes.annotate(f"{one.median:.2g}" if one.median < 10 else f"{one.median:.0f}", (place, top),
                          textcoords="offset points", xytext=(0, 4), ha="center", fontsize=6.5, color=style.colour)
    axes.set_yscale("log")
    axes.set_ylim(ticks[0], ticks[-1])
    axes.yaxis.set_major_locator(FixedLocator(list(ticks)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xticks(range(len(points)), list(points))
    axes.set_xlim(-0.6, len(points) - 0.4)
    axes.grid(False, axis="x")
    axes.set_title(title)
    axes.set_xlabel("Concurrency @ true TPOT, ms")


def _decades(values: Sequence[float]) -> list[float]:
    """Ticks 1, 3, 10, 30 ... from below the least value to above the largest."""
    low, high = max(FLOOR_MS, min(values)), max(values)
    steps = [step * 10**power for power in range(-3, 6) for step in (1, 3)]
    first = max(place for place, step in enumerate(steps) if 1.2 * step <= low)
    last = min(place for place, step in enumerate(steps) if step >= 1.7 * high)
    return steps[first : last + 1]


def draw(runs: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Write the SVG: median and range over the repeats of every point."""
    points = list(dict.fromkeys(run["point"] for run in runs))
    errors = {client: _spreads(runs, points, client, "ttft_error_ms") for client in CLIENTS}
    itl = {client: _spreads(runs, points, client, "itl_p99_ms") for client in CLIENTS}
    true_ms = [float(point.split("@")[1]) for point in points]
    with styled():
        figure = new(PORTRAIT_IN, 2.9)
        left, right = figure.subplots(1, 2)
        _panel(left, points, errors, "Error of TTFT, ms (true: 50 to 60)",
               _decades([v for s in errors.values() for one in s for v in (one.low, one.high)]))
        _panel(right, points, itl, "99th percentile of ITL, ms",
               _decades([v for s in itl.values() for one in s for v in (one.low, one.high)] + true_ms))
        right.hlines(true_ms, [p - 0.4 for p in range(len(points))], [p + 0.4 for p in range(len(points))], color=INK,
                     linewidth=0.9, linestyle=(0, (2, 1.5)), label="the server's", zorder=1)
        handles, labels = right.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3, labelcolor=MUTED)
        save(figure, out)
