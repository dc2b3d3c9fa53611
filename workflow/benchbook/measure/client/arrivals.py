"""When requests of an open loop are due: they arrive at their own pace, whatever the server does."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

from benchbook.errors import LoadError

LATEST_S = 1e8
CONSTANT, POISSON, GAMMA = "constant", "poisson", "gamma"
KINDS = (CONSTANT, POISSON, GAMMA)


def times(kind: str, rate: float, count: int, seed: int, burstiness: float = 1.0) -> list[float]:
    """Seconds from the run's start at which `count` requests are due, at `rate` a second on average.

    constant: every 1/rate. poisson: gaps drawn from an exponential distribution. gamma: gaps of shape `burstiness`,
    mean 1/rate; 1 is Poisson, smaller is burstier (as `--burstiness` of vllm bench serve). The first request is due
    after the first gap, except for constant, where it is due at 0. Gaps are not stretched to the total that the rate
    would make: what was drawn is what is sent. LoadError for a kind, rate or burstiness that is none.
    """
    if kind not in KINDS:
        raise LoadError(f"{kind} is no kind of arrival; give one of {', '.join(KINDS)}.")
    for name, value, advice in (
        ("rate", rate, "give requests a second, such as 2.5"), ("burstiness", burstiness, "1 is Poisson, less burstier")
    ):  # fmt: skip
        if not (math.isfinite(value) and value > 0):
            raise LoadError(f"the {name} {value:g} is not above 0; {advice}.")
    if count / rate > LATEST_S:
        raise LoadError(f"{count} requests at {rate:g} a second take more than three years; give a higher rate.")
    if kind == CONSTANT:
        return [index / rate for index in range(count)]
    shape = 1.0 if kind == POISSON else burstiness
    draw = random.Random(seed)
    due, moment = [], 0.0
    for _ in range(count):
        moment += draw.gammavariate(shape, 1.0 / (rate * shape))
        due.append(moment)
    return due


def from_file(path: Path) -> list[float]:
    """Arrival times in a file, seconds from the run's start in ascending order: one number a line, or one JSON list.

    Empty lines and those that begin with # are left out. LoadError names what is wrong and where.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(f"{path} cannot be read ({error}); give a file with one arrival time a line.") from error
    if text.lstrip().startswith("["):
        try:
            listed = list(enumerate(json.loads(text), start=1))
        except (ValueError, RecursionError) as error:
            raise LoadError(f"{path} is no JSON list of arrival times ({error}).") from error
        place = "entry"
    else:
        listed = [
            (number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)
            if line.strip() and not line.lstrip().startswith("#")
        ]  # fmt: skip
        place = "line"
    due = [_seconds(value, f"{path}, {place} {number}") for number, value in listed]
    if not due:
        raise LoadError(f"{path} holds no arrival time; give one a line, in seconds.")
    for (number, _), sooner, later in zip(listed[1:], due, due[1:], strict=False):
        if later < sooner:
            raise LoadError(f"{path}, {place} {number}: {later:g} is before the one above it ({sooner:g}); sort them.")
    return due


def _seconds(value: object, where: str) -> float:
    try:
        seconds = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= LATEST_S:
        raise LoadError(f"{where}: {value!r} is no arrival time; give seconds from the run's start, 0 or more.")
    return seconds
