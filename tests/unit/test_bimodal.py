"""Rule G on the shapes of method.md 8: how often it calls 128 TTFTs two groups."""

from __future__ import annotations

import numpy as np
import pytest
from benchbook.derive import bimodal

N = 128


def flagged_pct(draw, series):
    random = np.random.default_rng(20260911)
    return 100 * np.mean([bimodal.modes(draw(random)).bimodal for _ in range(series)])


def two(share, ratio):
    return lambda random: np.where(random.random(N) < share, ratio, 1.0) * np.exp(random.normal(0, 0.1, N))


@pytest.mark.parametrize(("draw", "published_pct"), [
    (lambda random: np.exp(random.normal(0, 0.3, N)), 0),
    (lambda random: np.exp(random.normal(0, 0.8, N)), 0),
    (lambda random: 0.2 + random.exponential(1, N), 0),
    (lambda random: np.linspace(0.2, 2, N) * np.exp(random.normal(0, 0.02, N)), 1),
    (two(0.2, 5), 100),
    (two(0.1, 5), 97),
    (two(0.05, 5), 46),
    (two(0.5, 3), 24),
], ids=["lognormal .3", "lognormal .8", "exponential", "ramp", "20 % x5", "10 % x5", "5 % x5", "50 % x3"])  # fmt: skip
def test_the_published_rates(draw, published_pct):
    series = 100 if published_pct < 2 else 200  # a series of one group takes ten times as long
    noise = 100 * np.sqrt(max(published_pct * (100 - published_pct), 100) / 1e4 / series)
    assert flagged_pct(draw, series) == pytest.approx(published_pct, abs=4 * noise + 2)


def test_the_groups_are_named():
    modes = bimodal.modes(np.array([100.0] * 102 + [500.0] * 26))
    assert modes.bimodal and modes.slow / modes.fast == pytest.approx(5)
    assert modes.slow_share == pytest.approx(26 / 128, abs=0.01)


def test_too_few_requests_are_not_judged():
    assert bimodal.modes(np.array([100.0, 500.0] * 31)) is None
    assert bimodal.modes(np.array([])) is None


def test_one_value_is_one_group():
    assert not bimodal.modes(np.full(100, 3.0)).bimodal
