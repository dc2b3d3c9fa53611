"""Flat, line and hinge on simulated steps of known truth (method.md 6)."""

from __future__ import annotations

import numpy as np
import pytest
from benchbook.statistics import step_models
from hypothesis import given, settings
from hypothesis import strategies as st

LEVELS = np.array([2.0, 4, 8, 16, 32, 64, 128, 256])
N = np.repeat(LEVELS, 3)
SIGMA = 0.01


def noisy(truth, random, sigma=SIGMA):
    return truth * np.exp(random.normal(0, sigma, len(truth)))


def line_truth(n=N):
    return 17.0 + 0.06 * n


def hinge_truth(n=N):
    return 17.0 + 0.08 * np.maximum(0, n - 14)


def series(truth, number, seed=6):
    random = np.random.default_rng(seed)
    return [noisy(truth, random) for _ in range(number)]


def covered(fits, interval, value):
    found = [interval(fit) for fit in fits]
    return np.mean([low <= value <= high for low, high in found])


def asymptote_of_8(fit):
    return step_models.asymptote_between(fit.slope_interval, 8)


def test_exact_points_are_recovered():
    fit = step_models.line(N, line_truth())
    assert (fit.t_fixed, fit.slope) == pytest.approx((17.0, 0.06))
    bent = step_models.hinge(N, hinge_truth())
    assert (bent.t_fixed, bent.slope, bent.hinge) == pytest.approx((17.0, 0.08, 14.0), rel=1e-4)
    assert step_models.flat(N, np.full(len(N), 17.0)).t_fixed == pytest.approx(17.0)


def test_an_exact_line_is_no_hinge_and_fits():
    n = np.repeat([1.0, 2, 4, 8, 16, 32], 3)
    choice = step_models.choose(n, 3 + 0.4 * n)
    assert choice.chosen == "line" and choice.fit.t_fixed == pytest.approx(3)
    assert step_models.lack_of_fit(choice.fit, n.tolist()) is None


def test_the_line_over_the_bend_reads_the_fixed_cost_low():
    """17.0 flat and 15.9 + 0.080 n are one hinge: the line's intercept is t_fixed - slope x hinge, which is bias."""
    bend = np.array([32.0, 64, 128, 256])
    fit = step_models.line(bend, hinge_truth(bend))
    assert (fit.t_fixed, fit.slope) == pytest.approx((17 - 0.08 * 14, 0.08))


def test_intervals_of_the_line_cover_at_their_level():
    fits = [step_models.line(N, t) for t in series(line_truth(), 600)]
    assert covered(fits, lambda fit: fit.t_fixed_interval, 17.0) == pytest.approx(0.95, abs=0.03)
    assert covered(fits, lambda fit: fit.slope_interval, 0.06) == pytest.approx(0.95, abs=0.03)
    assert covered(fits, lambda fit: fit.half_point_interval, 17 / 0.06) == pytest.approx(0.95, abs=0.03)
    assert covered(fits, asymptote_of_8, 8000 / 0.06) == pytest.approx(0.95, abs=0.03)
    assert covered(fits, lambda fit: fit.fixed_share_interval(100.0), 17 / 23) == pytest.approx(0.95, abs=0.03)


def test_intervals_of_the_hinge_cover_at_their_level():
    fits = [step_models.hinge(N, t) for t in series(hinge_truth(), 400)]
    assert covered(fits, lambda fit: fit.t_fixed_interval, 17.0) == pytest.approx(0.95, abs=0.035)
    assert covered(fits, lambda fit: fit.slope_interval, 0.08) == pytest.approx(0.95, abs=0.035)
    assert covered(fits, lambda fit: fit._around(fit.hinge, fit.covariance[2, 2]), 14.0) > 0.9
    assert covered(fits, lambda fit: fit.half_point_interval, 14 + 17 / 0.08) == pytest.approx(0.95, abs=0.035)


def test_a_prediction_covers_the_next_run():
    random = np.random.default_rng(7)
    held = [step_models.line(N, noisy(line_truth(), random)).predict(200.0) for _ in range(500)]
    seen = noisy(np.full(500, 17 + 0.06 * 200), random)
    assert np.mean([low <= t <= high for (_, low, high), t in zip(held, seen, strict=True)]) == pytest.approx(
        0.95, abs=0.03)  # fmt: skip


def test_under_a_linear_truth_the_line_is_chosen_and_under_a_hinge_the_hinge():
    chosen = [step_models.choose(N, t).chosen for t in series(line_truth(), 200)]
    assert np.mean([name == "line" for name in chosen]) > 0.93
    assert all(step_models.choose(N, t).chosen == "hinge" for t in series(hinge_truth(), 100))


def test_a_step_that_does_not_grow_is_flat():
    chosen = [step_models.choose(N, t).chosen for t in series(np.full(len(N), 17.0), 200)]
    assert np.mean([name == "flat" for name in chosen]) == pytest.approx(0.95, abs=0.05)


def test_lack_of_fit_catches_a_curve_and_rarely_a_line():
    quadratic = 17 + 0.03 * N + 0.0004 * N**2
    assert all(step_models.lack_of_fit(step_models.line(N, t), N) < 0.05 for t in series(quadratic, 100))
    false = np.mean([step_models.lack_of_fit(step_models.line(N, t), N) < 0.05 for t in series(line_truth(), 600)])
    assert false == pytest.approx(0.05, abs=0.03)


def test_without_repeats_there_is_no_lack_of_fit():
    assert step_models.lack_of_fit(step_models.line(LEVELS, line_truth(LEVELS)), LEVELS) is None


def test_the_spread_of_n_within_a_level_is_no_spread_of_repeats():
    """Three repeats whose n differs lie on the line exactly but for a shared bend: still lack of fit."""
    random = np.random.default_rng(1)
    n = N * (1 + 0.05 * random.uniform(-1, 1, len(N)))
    t = noisy(17 + 0.06 * n, random, 0.001)
    assert step_models.lack_of_fit(step_models.line(n, t), N) > 0.05


def test_too_few_points_fit_nothing():
    assert step_models.line([1.0, 16], [84.0, 536]) is None  # two points have no interval: df 0
    assert step_models.hinge(LEVELS[:3], line_truth(LEVELS[:3])) is None
    assert step_models.line([8.0, 8, 8], [17.0, 17.1, 17.2]) is None
    assert step_models.choose([1.0], [17.0]) is None


def test_a_flat_step_has_no_half_point():
    fit = step_models.flat(N, series(np.full(len(N), 17.0), 1)[0])
    assert fit.half_point is None and fit.half_point_interval is None and asymptote_of_8(fit) is None
    assert fit.fixed_share(100) == 1.0


@settings(max_examples=50)
@given(st.floats(5, 100), st.floats(0.01, 2), st.floats(0.2, 5), st.integers(0, 10**6))
def test_the_unit_of_time_does_not_matter(t_fixed, slope, unit, seed):
    random = np.random.default_rng(seed)
    t = noisy(t_fixed + slope * N, random)
    ours, scaled = step_models.line(N, t), step_models.line(N, t * unit)
    assert scaled.t_fixed == pytest.approx(ours.t_fixed * unit, rel=1e-6, abs=1e-6)
    assert scaled.sigma == pytest.approx(ours.sigma, rel=1e-6)
    assert ours.half_point == pytest.approx(scaled.half_point, rel=1e-6)
    low, high = ours.fixed_share_interval(50.0)
    assert 0 < low <= ours.fixed_share(50.0) <= high <= 1 or ours.fixed_share(50.0) > 1
