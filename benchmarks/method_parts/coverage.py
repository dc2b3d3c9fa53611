"""How often an interval that says 95 % holds the truth: both tables of coverage of method.md 4.

One boot: the target is the boot's own mean. Left skew is a gamma of shape 2, turned round. A stalled repeat loses 18 %,
one repeat in ten stalls, and the target is the mean with stalls: an interval of repeats that happened not to stall
misses it. method.md states neither; these give its figures. Over boots: the target is the level that boots spread
round, sigma of repeats is 1 %.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from benchbook.statistics.intervals import hierarchical_bootstrap, range_coverage, t_interval
from numpy.typing import NDArray

from method_parts import bootstraps
from method_parts.cells import Cell, Task, exact, share

SIGMA = 0.01
STALL, STALLED = 0.18, 0.1
SIZES = (3, 5, 10)
ONE, BOOTS = "coverage of one boot", "coverage over boots"
Floats = NDArray[np.float64]


def _by_t(y: Floats, truth: float) -> int:
    """How many rows' t interval holds `truth`."""
    found = [t_interval(row) for row in y]
    return sum(it is not None and it.low <= truth <= it.high for it in found)


def _held(ends: tuple[Floats, Floats], truth: float) -> int:
    return int(((ends[0] <= truth) & (truth <= ends[1])).sum())


def _normal(series: int, rng: np.random.Generator) -> list[Cell]:
    cells = []
    for n, t, percentile, bca, covered in zip(SIZES, (95, 94, 95), (74, 83, 90), (71, 83, 90), (75, 94, 98),
                                              strict=True):  # fmt: skip
        y, column = SIGMA * rng.standard_normal((series, n)), f"n={n}"
        cells += [
            share(ONE, "t, normal", column, t, _by_t(y, 0.0), series),
            share(ONE, "percentile bootstrap", column, percentile, _held(bootstraps.percentile(y, rng), 0.0), series),
            share(ONE, "BCa", column, bca, _held(bootstraps.bca(y, rng), 0.0), series),
        ]
        trimmed = 1 if n == 10 else 0
        ordered = np.sort(y, axis=1)
        name = "range (n=10: 2nd to 9th) for the median"
        cells.append(share(ONE, name, column, covered, _held((ordered[:, trimmed], ordered[:, n - 1 - trimmed]), 0.0),
                           series))  # fmt: skip
        cells.append(exact(ONE, f"{name}, computed", column, covered, 100 * range_coverage(n, trimmed), digits=0))
    return cells


def _skewed(series: int, rng: np.random.Generator) -> list[Cell]:
    return [
        share(ONE, "t, left skew", f"n={n}", 92, _by_t(2 - rng.gamma(2, 1, (series, n)), 0.0), series, specified=False)
        for n in SIZES
    ]


def _stalled(series: int, rng: np.random.Generator) -> list[Cell]:
    cells = []
    for n, published in zip(SIZES, (71, 50, 64), strict=True):
        y = SIGMA * rng.standard_normal((series, n)) - STALL * (rng.random((series, n)) < STALLED)
        hits = _by_t(y, -STALL * STALLED)
        cells.append(share(ONE, "t, 10 % stalled repeats", f"n={n}", published, hits, series, specified=False))
    return cells


def _drawn(series: int, boots: int, repeats: int, boot_sigma: float, rng: np.random.Generator) -> Floats:
    """ln y of (series, boots, repeats) round 0."""
    return boot_sigma * rng.standard_normal((series, boots, 1)) + SIGMA * rng.standard_normal((series, boots, repeats))


def _few_boots(boot_sigma: float, published: tuple[int, ...], series: int, rng: np.random.Generator) -> list[Cell]:
    column = _column(boot_sigma)
    once, often = (_drawn(series, 1, repeats, boot_sigma, rng)[:, 0] for repeats in (3, 10))
    y = _drawn(series, 3, 3, boot_sigma, rng)
    hits = {
        "1 boot x 3, t on repeats": _by_t(once, 0.0),
        "1 boot x 10, t on repeats": _by_t(often, 0.0),
        "3 x 3, pooled t": _by_t(y.reshape(series, 9), 0.0),
        "3 x 3, hierarchical bootstrap": _held(bootstraps.hierarchical(y, rng), 0.0),
        "3 x 3, t on boot means": _by_t(y.mean(axis=2), 0.0),
    }
    return [share(BOOTS, row, column, known, count, series)
            for (row, count), known in zip(hits.items(), published, strict=True)]  # fmt: skip


def _ten_boots(boot_sigma: float, published: int, series: int, rng: np.random.Generator) -> list[Cell]:
    hits = 0
    for number, y in enumerate(_drawn(series, 10, 3, boot_sigma, rng)):
        found = hierarchical_bootstrap(list(y), seed=number)
        assert found is not None
        hits += found.low <= 0 <= found.high
    return [share(BOOTS, "10 x 3, hierarchical bootstrap", _column(boot_sigma), published, hits, series)]


def _column(boot_sigma: float) -> str:
    return f"sigma of boots {100 * boot_sigma:.0f} %"


TASKS: dict[str, Task] = {
    "coverage: normal": _normal,
    "coverage: left skew": _skewed,
    "coverage: stalled": _stalled,
    "coverage: boots 1 %": partial(_few_boots, 0.01, (84, 49, 83, 84, 95)),
    "coverage: boots 3 %": partial(_few_boots, 0.03, (50, 18, 69, 76, 95)),
    "coverage: ten boots 1 %": partial(_ten_boots, 0.01, 93),
    "coverage: ten boots 3 %": partial(_ten_boots, 0.03, 90),
}
