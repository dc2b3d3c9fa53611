"""What comparisons of arms find and wrongly find: power, replicates that are none, order, equivalence, band
(method.md 4).

Order: method.md gives the drift, 0.5 % a run, and not the noise of a run. 0.7 %, its noise of throughput in the table
of warmup rules, gives its figures with Welch's test. Equivalence: Student's two samples (df 2n - 2) give its figures;
Welch's, which the product uses where each boot is one value, declares less at n=3.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from benchbook.statistics.effects import Effect, paired, welch, with_time
from benchbook.statistics.equivalence import tost
from benchbook.statistics.power import band, mde, repeats_per_boot
from numpy.typing import NDArray

from method_parts.cells import Cell, Task, exact, share

ALPHA = 0.05
POWER, PSEUDO, ORDER, EQUAL, BAND = ("smallest effect found", "repeats taken for replicates", "order and drift",
                                     "equivalence", "one against one")  # fmt: skip
DRIFT, DRIFT_NOISE = 0.005, 0.007
MARGIN, SIGMA = 0.02, 0.01
SESSION_SIGMA, REPEAT_SIGMA = 0.015, 0.01
Floats = NDArray[np.float64]


def _student(a: Floats, b: Floats) -> Effect:
    """Difference of two samples of equal size and variance."""
    n = len(a)
    se = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / n)
    return Effect(float(a.mean() - b.mean()), se, 2 * n - 2)


def _welch(a: Floats, b: Floats) -> Effect:
    found = welch(a, b)
    assert found is not None
    return found


def _power(n: int, pairs: bool, family: int, published: float, series: int, rng: np.random.Generator) -> list[Cell]:
    alpha = ALPHA / family
    size = mde(n, alpha=alpha, paired=pairs)
    row = f"n={n}{', paired' * pairs}{f', first of {family} by Holm' * (family > 1)}"
    found = 0
    for _ in range(series):
        a, b = size + rng.standard_normal(n), rng.standard_normal(n)
        effect = paired(a) if pairs else _student(a, b)
        assert effect is not None
        found += effect.p < alpha
    return [exact(POWER, row, "x sigma", published, size, digits=2), share(POWER, row, "power %", 80, found, series)]


def _pseudo(boot_sigma: float, published: int, series: int, rng: np.random.Generator) -> list[Cell]:
    """One boot of each of two equal arms, three repeats each, tested as if these were replicates."""
    y = boot_sigma * rng.standard_normal((series, 2, 1)) + 0.01 * rng.standard_normal((series, 2, 3))
    hits = sum(_welch(a, b).p < ALPHA for a, b in y)
    return [share(PSEUDO, f"sigma of boots {100 * boot_sigma:g} %", "false positives %", published, hits, series)]


def _order(order: str, by_welch: int | None, by_time: int | None, bias: float | None, series: int,
           rng: np.random.Generator) -> list[Cell]:  # fmt: skip
    """Equal arms A and B measured in `order` on a node that drifts."""
    arm, time = np.array([letter == "B" for letter in order]), np.arange(len(order))
    y = DRIFT * time + DRIFT_NOISE * rng.standard_normal((series, len(order)))
    fits = [with_time(row, arm, time) for row in y]
    gaps = 100 * (y[:, arm].mean(axis=1) - y[:, ~arm].mean(axis=1))
    return [
        share(ORDER, order, "Welch, false positives %", by_welch,
              sum(_welch(row[arm], row[~arm]).p < ALPHA for row in y), series),
        share(ORDER, order, "y ~ arm + time, false positives %", by_time,
              sum(fit is not None and fit.p < ALPHA for fit in fits), series),
        Cell(ORDER, order, "bias of the difference, points", bias, float(gaps.mean()),
             float(gaps.std(ddof=1) / math.sqrt(series)), rounding=0.05),
    ]  # fmt: skip


def _equivalence(n: int, published: int, series: int, rng: np.random.Generator) -> list[Cell]:
    """Two arms of n sessions each: equal ones, and ones that differ by just the margin."""
    b = SIGMA * rng.standard_normal((series, n))
    noise = SIGMA * rng.standard_normal((series, n))
    row = f"n={n}"

    def declared(a: Floats, student: bool) -> int:
        test = _student if student else _welch
        return sum(tost(test(x, y), MARGIN) <= ALPHA for x, y in zip(a, b, strict=True))

    return [
        share(EQUAL, row, "equal arms, Student, declared %", published, declared(noise, True), series),
        share(EQUAL, row, "arms the margin apart, Student, declared %", 5,
              declared(noise + math.log1p(MARGIN), True), series),
        share(EQUAL, row, "equal arms, Welch, declared %", None, declared(noise, False), series),
    ]  # fmt: skip


def _band(series: int, rng: np.random.Generator) -> list[Cell]:
    half = band(SESSION_SIGMA, REPEAT_SIGMA)
    sigma = math.hypot(SESSION_SIGMA, REPEAT_SIGMA)
    apart = np.abs(sigma * rng.standard_normal(series) - sigma * rng.standard_normal(series))
    return [
        exact(BAND, "band, half-width %", "found", 5.0, 100 * half, digits=1),
        share(BAND, "differences of equal arms within it, %", "found", 95, int((apart <= half).sum()), series),
        exact(BAND, "repeats per boot: 15 min boots, 90 s repeats, equal sigma", "found", 3.2,
              repeats_per_boot(900, 90, 0.01, 0.01), digits=1),
    ]  # fmt: skip


TASKS: dict[str, Task] = {
    **{f"power: {n}{' paired' * pairs}{f' of {family}' * (family > 1)}": partial(_power, n, pairs, family, published)
       for n, pairs, family, published in ((2, False, 1, 5.65), (3, False, 1, 3.07), (5, False, 1, 2.02),
                                           (10, False, 1, 1.32), (3, True, 1, 3.26), (5, True, 1, 1.68),
                                           (3, False, 4, 4.52))},
    **{f"pseudo-replication {sigma}": partial(_pseudo, sigma, published)
       for sigma, published in ((0.0, 3), (0.005, 8), (0.01, 19), (0.02, 43))},
    "order: AAABBB": partial(_order, "AAABBB", 27, None, None),
    "order: AAAABBBB": partial(_order, "AAAABBBB", 68, None, None),
    "order: ABBAABBA": partial(_order, "ABBAABBA", None, 5, 0.0),
    **{f"equivalence: {n}": partial(_equivalence, n, published)
       for n, published in zip((3, 5, 10), (38, 79, 99), strict=True)},
    "band": _band,
}  # fmt: skip
