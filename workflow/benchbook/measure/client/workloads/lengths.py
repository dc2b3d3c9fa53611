"""Lengths in tokens: one number, or drawn from a distribution.

    512                                                              always that many
    {"distribution": "uniform", "min": 60000, "max": 90000}          integers, both ends included
    {"distribution": "normal", "mean": 512, "sd": 100, "min": 1, "max": 1024}
    {"distribution": "lognormal", "median": 200, "sigma": 1.0, "min": 1, "max": 4096}

Normal and lognormal values are rounded, and drawn again while outside [min, max]: the distribution is cut off there,
not piled up at its ends, so its mean is not quite `mean`. `sigma` is the standard deviation of the logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any

from benchbook.errors import WorkloadError
from benchbook.measure.client.workloads.draw import Draw, between

Length = int | Mapping[str, Any]

KEYS = {
    "uniform": {"distribution", "min", "max"},
    "normal": {"distribution", "mean", "sd", "min", "max"},
    "lognormal": {"distribution", "median", "sigma", "min", "max"},
}
LEAST_INSIDE = 0.01


def lengths(length: Length, draw: Draw, key: str) -> Iterator[int]:
    """Lengths without end. Raises WorkloadError, naming `key`, where `length` is none of the forms above."""
    low, high = bounds(length, key)
    if not isinstance(length, Mapping):
        return repeat(low)
    if length["distribution"] == "uniform":
        return _uniform(draw, low, high)
    location, scale = _location_and_scale(length, key)
    is_log = length["distribution"] == "lognormal"
    edges = (low - 0.5, high + 0.5)
    cut = [(math.log(edge) if is_log else edge) for edge in edges]
    inside = _below((cut[1] - location) / scale) - _below((cut[0] - location) / scale)
    if inside < LEAST_INSIDE:
        raise WorkloadError(
            f"{key}: less than {LEAST_INSIDE:.0%} of this {length['distribution']} distribution lies in {low} to "
            f"{high}; widen min and max, or move it there"
        )
    return _cut_off(draw, location, scale, low, high, is_log)


def bounds(length: Length, key: str) -> tuple[int, int]:
    """The shortest and the longest that `length` can give. Raises WorkloadError as `lengths` does."""
    if isinstance(length, int) and not isinstance(length, bool):
        low = high = length
    elif isinstance(length, Mapping):
        name = length.get("distribution")
        if name not in KEYS or set(length) != KEYS[name]:
            forms = "; ".join(f"{name}: {', '.join(sorted(keys - {'distribution'}))}" for name, keys in KEYS.items())
            raise WorkloadError(f"{key}: a distribution needs just these keys, {forms}; this one is {dict(length)!r}")
        low, high = length["min"], length["max"]
    else:
        raise WorkloadError(f"{key}: a number of tokens or a distribution is needed, not {length!r}")
    whole = all(isinstance(edge, int) and not isinstance(edge, bool) for edge in (low, high))
    if not whole or not 1 <= low <= high:
        raise WorkloadError(f"{key}: whole numbers from 1 up are needed, min not above max, not {low!r} and {high!r}")
    return low, high


def _location_and_scale(length: Mapping[str, Any], key: str) -> tuple[float, float]:
    is_log = length["distribution"] == "lognormal"
    location, scale = (length["median"], length["sigma"]) if is_log else (length["mean"], length["sd"])
    for value in (location, scale):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise WorkloadError(f"{key}: numbers are needed in {dict(length)!r}")
    if scale <= 0 or (is_log and location <= 0):
        raise WorkloadError(f"{key}: spread, and the median of a lognormal, must be above 0 in {dict(length)!r}")
    return (math.log(location) if is_log else float(location)), float(scale)


def _below(z: float) -> float:
    return (1.0 + math.erf(z / math.sqrt(2.0))) / 2.0


def _uniform(draw: Draw, low: int, high: int) -> Iterator[int]:
    while True:
        yield between(draw, low, high)


def _cut_off(draw: Draw, location: float, scale: float, low: int, high: int, is_log: bool) -> Iterator[int]:
    most = math.log(high + 1) if is_log else high + 1.0
    while True:
        # Box and Muller; 1 - draw() is never 0
        value = location + scale * math.sqrt(-2.0 * math.log(1.0 - draw())) * math.cos(2.0 * math.pi * draw())
        if value > most:
            continue
        rounded = round(math.exp(value) if is_log else value)
        if low <= rounded <= high:
            yield rounded
