"""The simulated tables of the method: the parts of benchmarks/method_tables.py, on few series."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import method_tables
from method_parts import anomalies, bootstraps, cells, coverage, designs
from method_parts.dip import critical_99, dip


def brute_dip(sample):
    """Smallest d such that a distribution with one mode lies within d of the sample's, mode by mode: each side's convex
    (concave) function is nearest when it is half the largest gap of the hull."""
    x, n = np.sort(sample), len(sample)
    upper, lower = np.arange(1, n + 1) / n, np.arange(n) / n

    def bend(points, left, right):
        """Half the largest excess of `left` over the convex hull of `right`."""
        worst = 0.0
        for i in range(len(points)):
            for k in range(i, len(points)):
                for j in range(i, k + 1):
                    share = 0.0 if i == k else (points[j] - points[i]) / (points[k] - points[i])
                    worst = max(worst, left[j] - (right[i] + share * (right[k] - right[i])))
        return worst / 2

    return min(
        max(bend(x[: m + 1], upper[: m + 1], lower[: m + 1]), bend(-x[m:][::-1], 1 - lower[m:][::-1],
                                                                      1 - upper[m:][::-1]))
        for m in range(n)
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_the_dip_is_the_distance_from_the_nearest_single_mode(seed):
    rng = np.random.default_rng(seed)
    sample = rng.normal(0, 1, 14) + 4 * (rng.random(14) < 0.4)
    assert dip(sample) == pytest.approx(brute_dip(sample), abs=1e-12)


def test_the_dip_of_known_samples():
    even = np.arange(20.0)
    assert dip(even) == pytest.approx(1 / 40), "half an observation: no less is possible"
    two_heaps = np.concatenate([even / 1e6, 1 + even / 1e6])
    assert dip(two_heaps) == pytest.approx(0.25, abs=0.02)
    assert dip(3 + 2 * two_heaps) == pytest.approx(dip(two_heaps))


def test_the_dip_passes_its_published_percent_point_in_one_case_in_a_hundred():
    rng = np.random.default_rng(3)
    passed = sum(dip(rng.random(100)) > critical_99(100) for _ in range(800))
    assert stats.binomtest(passed, 800, 0.01).pvalue > 0.01
    assert critical_99(100) == pytest.approx(0.05902413) and critical_99(200) < critical_99(128) < critical_99(100)


def test_bca_is_that_of_scipy():
    rng = np.random.default_rng(4)
    y = rng.gamma(2, 1, (5, 10))
    low, high = bootstraps.bca(y, rng)
    for row, ends in zip(y, zip(low, high, strict=True), strict=True):
        said = stats.bootstrap((row,), np.mean, n_resamples=9999, rng=rng, method="BCa").confidence_interval
        assert ends == pytest.approx((said.low, said.high), abs=0.12 * row.std())


def test_the_bimodality_coefficient_of_a_uniform_sample():
    assert anomalies.bimodality_coefficient(np.linspace(0, 1, 4001)) == pytest.approx(5 / 9, abs=1e-3)


def test_agreement_minds_both_errors_and_rounding():
    off = cells.share("t", "r", "c", 50, 540, 1000)
    assert off.agrees and off.error == pytest.approx(1.576, abs=1e-3)
    assert cells.share("t", "r", "c", 50, 600, 1000).failed
    assert not cells.share("t", "r", "c", 50, 600, 1000, specified=False).failed
    assert cells.share("t", "r", "c", None, 600, 1000).agrees is None
    assert cells.share("t", "r", "c", 0, 0, 1000).error > 0, "none of a thousand is not none at all"
    assert cells.exact("t", "r", "c", 3.07, 3.0747, digits=2).agrees
    assert cells.exact("t", "r", "c", 3.07, 3.08, digits=2).failed


@pytest.mark.parametrize("name", [
    *(name for name in (*coverage.TASKS, *designs.TASKS) if "ten boots" not in name),
    "anomalies: 20 % at x5", "anomalies: 50 % at x3",
])  # fmt: skip
def test_a_table_comes_out_on_few_series(name):
    found, _ = method_tables.simulated(name, 160, 1)
    assert found and all(math.isfinite(cell.found) for cell in found)
    assert [cell for cell in found if cell.agrees is False] == []


def test_a_task_does_not_depend_on_the_others():
    first, _ = method_tables.simulated("order: AAABBB", 50, 1)
    again, _ = method_tables.simulated("order: AAABBB", 50, 1)
    other, _ = method_tables.simulated("order: AAABBB", 50, 2)
    assert first == again != other
