"""Which rules call the TTFTs of a run two groups: the table of method.md 8.

method.md names the shapes and not their noise. The noise here is lognormal, 30 % wide, and the dip is taken of ln TTFT,
because that gives its figures for dip, BC and BIC at once; the exponential, the ramp and the staircase start at 0.23,
0.07 and 0.5 of their unit, because that gives its figures for G and for p90/p50.

What no model gives is its column of D alone, which cannot be of the fit that its G is of: with 5 % at x5 it has D above
2 in 44 % of the runs, and G, which asks for that and more, in 46 %. D here is that of the product's fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from benchbook.derive import bimodal
from numpy.typing import NDArray
from scipy import stats

from method_parts.cells import Cell, Task, share
from method_parts.dip import critical_99, dip

N = 128
PART_OF_SERIES = 8  # a fit takes some 10 ms
NOISE = 0.3
RATIO_MIN = 3.0
TABLE = "anomalies"
RULES = ("dip p<.01", "BC>.555", "dBIC>10", "D>2", "G", "G or p90/p50>=3")
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Floats]


def _lognormal(sigma: float) -> Draw:
    return lambda rng: np.exp(rng.normal(0, sigma, N))


def _slow(part: float, ratio: float) -> Draw:
    return lambda rng: np.where(rng.random(N) < part, ratio, 1.0) * np.exp(rng.normal(0, NOISE, N))


SHAPES: dict[str, tuple[Draw, tuple[int, ...]]] = {
    "lognormal, sigma .3": (_lognormal(0.3), (0, 1, 0, 30, 0, 0)),
    "lognormal, sigma .8": (_lognormal(0.8), (0, 95, 0, 32, 0, 26)),
    "exponential + floor": (lambda rng: 0.23 + rng.exponential(1, N), (0, 88, 2, 85, 0, 16)),
    "uniform ramp": (lambda rng: rng.uniform(0.07, 1, N), (0, 28, 99, 75, 1, 1)),
    "8-step staircase": (lambda rng: (0.5 + rng.integers(0, 8, N)) * np.exp(rng.normal(0, 0.02, N)),
                         (97, 40, 100, 74, 20, 20)),
    "20 % at x5": (_slow(0.20, 5), (4, 100, 100, 100, 100, 100)),
    "10 % at x5": (_slow(0.10, 5), (0, 100, 100, 98, 97, 97)),
    "5 % at x5": (_slow(0.05, 5), (0, 99, 96, 44, 46, 46)),
    "50 % at x3": (_slow(0.50, 3), (34, 53, 90, 100, 24, 24)),
}  # fmt: skip


def flags(ttfts: Floats) -> tuple[bool, ...]:
    """What each of RULES says of one run."""
    found = bimodal.modes(ttfts)
    assert found is not None
    middle, high = np.quantile(ttfts, [0.5, 0.9])
    return (
        dip(np.log(ttfts)) > critical_99(len(ttfts)), bimodality_coefficient(ttfts) > 0.555,
        found.bic_gain > bimodal.BIC_GAIN, found.ashman_d > bimodal.ASHMAN_D, found.bimodal,
        found.bimodal or bool(high >= RATIO_MIN * middle),
    )  # fmt: skip


def bimodality_coefficient(x: Floats) -> float:
    """(skewness^2 + 1) / (excess kurtosis + 3 (n-1)^2 / ((n-2)(n-3))); 5/9 for a uniform distribution."""
    n = len(x)
    skew, kurtosis = stats.skew(x, bias=False), stats.kurtosis(x, bias=False)
    return float((skew**2 + 1) / (kurtosis + 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))))


def _shape(name: str, series: int, rng: np.random.Generator) -> list[Cell]:
    draw, published = SHAPES[name]
    runs = max(series // PART_OF_SERIES, 2)
    hits = np.sum([flags(draw(rng)) for _ in range(runs)], axis=0)
    return [
        share(TABLE, name, rule, known, int(count), runs, specified=False, published_of=runs)
        for rule, known, count in zip(RULES, published, hits, strict=True)
    ]


TASKS: dict[str, Task] = {f"anomalies: {name}": partial(_shape, name) for name in SHAPES}
