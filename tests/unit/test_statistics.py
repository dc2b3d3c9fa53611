"""The statistics against the tables of method.md 4, against worked cases, and as algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchbook.statistics import effects, equivalence, intervals, multiplicity, power, variance
from benchbook.statistics.effects import Effect
from hypothesis import given, settings
from hypothesis import strategies as st

values = st.lists(st.floats(-5, 5), min_size=2, max_size=12)
probabilities = st.lists(st.floats(1e-6, 1), min_size=1, max_size=10)
effect = st.builds(Effect, st.floats(-0.1, 0.1), st.floats(1e-4, 0.05), st.floats(1, 50))


@pytest.mark.parametrize(("n", "published"), [(2, 5.65), (3, 3.07), (5, 2.02), (10, 1.32)])
def test_smallest_effect_of_two_arms(n, published):
    assert power.mde(n) == pytest.approx(published, abs=0.005)


@pytest.mark.parametrize(("n", "published"), [(3, 3.26), (5, 1.68)])
def test_smallest_effect_of_pairs(n, published):
    assert power.mde(n, paired=True) == pytest.approx(published, abs=0.005)


def test_smallest_effect_within_a_family_and_with_a_pooled_deviation():
    assert power.mde(3, alpha=0.05 / 4) == pytest.approx(4.52, abs=0.005)
    assert power.mde(3, df=4 * (3 - 1)) < power.mde(3) == power.mde(3, df=4)
    assert power.mde(3, df=math.inf) == pytest.approx(math.sqrt(2 / 3) * (1.95996 + 0.84162), rel=1e-4)


def test_smallest_effect_is_found_in_four_of_five_tries():
    random = np.random.default_rng(20260911)
    tries, sigma, n = 2000, 0.018, 3
    d = power.mde(n, sigma)
    found = [effects.welch(*pair) for pair in random.normal([[d], [0]], sigma, (tries, 2, n))]
    pooled_df = [Effect(e.estimate, e.se, 4).p < 0.05 for e in found]
    assert np.mean(pooled_df) == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / tries))


def test_smallest_effect_in_a_large_family_of_few_sessions():
    assert power.mde(2, alpha=0.05 / 64, df=2) > 20 > power.mde(2, df=2)
    with pytest.raises(ValueError, match="no t test"):
        power.mde(1)


@settings(max_examples=30)
@given(st.integers(2, 30), st.floats(0.001, 0.3), st.floats(0.3, 0.95), st.floats(0.001, 0.1))
def test_smallest_effect_grows_with_noise_and_what_is_asked(n, sigma, wanted, alpha):
    d = power.mde(n, sigma, wanted, alpha)
    assert d == pytest.approx(sigma * power.mde(n, 1.0, wanted, alpha))
    assert power.mde(n + 1, sigma, wanted, alpha) < d
    assert power.mde(n, sigma, wanted + 0.02, alpha) > d > power.mde(n, sigma, wanted, alpha * 1.5)


def test_band_of_one_session_against_one():
    assert 100 * power.band(0.015, 0.01) == pytest.approx(5.0, abs=0.05)
    assert power.band(0.015, 0.01, 3, 3) < power.band(0.015, 0.01) < power.band(0.015, 0.01, df=8)


def test_repeats_in_a_boot():
    assert power.repeats_per_boot(15 * 60, 90, 0.01, 0.01) == pytest.approx(3.2, abs=0.05)
    assert power.repeats_per_boot(900, 90, 0.0, 0.01) == math.inf


@pytest.mark.parametrize(("n", "trimmed", "published_pct"), [(3, 0, 75), (5, 0, 93.75), (10, 1, 98), (1, 0, 0)])
def test_coverage_of_a_range(n, trimmed, published_pct):
    assert 100 * intervals.range_coverage(n, trimmed) == pytest.approx(published_pct, abs=0.2)


def test_range_coverage_whatever_the_shape():
    drawn = np.random.default_rng(1).exponential(1, (20000, 5))
    held = (drawn.min(axis=1) <= math.log(2)) & (math.log(2) <= drawn.max(axis=1))
    assert held.mean() == pytest.approx(intervals.range_coverage(5), abs=0.01)


def test_t_interval_of_a_textbook_sample():
    interval = intervals.t_interval([1, 2, 3, 4, 5])
    half = 2.776445 * math.sqrt(0.5)
    assert (interval.low, interval.high) == pytest.approx((3 - half, 3 + half))
    assert interval.df == 4 and intervals.t_interval([1.0]) is None and intervals.t_interval([]) is None


@pytest.mark.parametrize(("boots", "sigma_boot", "published_pct"), [(3, 0.01, 95), (3, 0.03, 95)])
def test_t_on_boot_means_covers_the_level_over_boots(boots, sigma_boot, published_pct):
    random = np.random.default_rng(2)
    tries = 1500
    means = random.normal(0, sigma_boot, (tries, boots)) + random.normal(0, 0.01, (tries, boots, 3)).mean(axis=2)
    held = [i.low <= 0 <= i.high for i in map(intervals.t_interval, means)]
    assert 100 * np.mean(held) == pytest.approx(published_pct, abs=2.3)


def test_bootstrap_of_ten_boots_covers_what_is_published_and_is_refused_below():
    random = np.random.default_rng(3)
    tries = 250
    drawn = random.normal(0, 0.01, (tries, 10, 1)) + random.normal(0, 0.01, (tries, 10, 3))
    held = [i.low <= 0 <= i.high for i in (intervals.hierarchical_bootstrap(groups, draws=300) for groups in drawn)]
    assert 100 * np.mean(held) == pytest.approx(93, abs=4)
    assert intervals.hierarchical_bootstrap(list(drawn[0][:9])) is None
    assert intervals.hierarchical_bootstrap(drawn[0]) == intervals.hierarchical_bootstrap(drawn[0])


def test_bootstrap_takes_groups_of_unlike_size():
    groups = [np.full(1 + k % 3, float(k)) for k in range(10)]
    interval = intervals.hierarchical_bootstrap(groups)
    assert interval.estimate == 4.5 and 0 < interval.low < 4.5 < interval.high < 9


@settings(max_examples=40)
@given(values, st.floats(0.5, 0.9), st.floats(-3, 3), st.floats(0.1, 10))
def test_intervals_nest_and_move_with_the_values(y, level, shift, scale):
    narrow, wide = intervals.t_interval(y, level), intervals.t_interval(y, level + 0.09)
    assert wide.low <= narrow.low <= narrow.estimate <= narrow.high <= wide.high
    moved = intervals.t_interval(scale * np.array(y) + shift, level)
    assert (moved.low, moved.high) == pytest.approx((scale * narrow.low + shift, scale * narrow.high + shift), abs=1e-6)


def test_components_of_an_exact_design():
    inside = np.array([-0.01, 0.0, 0.01])
    found = variance.components([0.1 + inside, 0.2 + inside, 0.3 + inside])
    assert found.repeat_sigma == pytest.approx(0.01) and found.repeat_df == 6
    assert found.session_sigma == pytest.approx(math.sqrt(0.1**2 - 0.01**2 / 3)) and found.session_df == 2


def test_components_that_are_not_there():
    assert variance.components([[1.0]]) == variance.Components(None, 0, None, 0)
    assert variance.components([[1.0, 3.0]]) == variance.Components(math.sqrt(2), 1, None, 0)
    assert variance.components([[1.0], [3.0]]) == variance.Components(None, 0, math.sqrt(2), 1)
    assert variance.components([[1.0, 3.0], [1.5, 2.5]]).session_sigma == 0
    assert variance.pooled([]) == variance.Components(None, 0, None, 0)


def test_components_are_found_where_sessions_have_unlike_repeats():
    random = np.random.default_rng(4)
    cells = [[s + random.normal(0, 0.02, r) for s, r in zip(random.normal(5, 0.03, 3), (1, 3, 5), strict=True)]
             for _ in range(2000)]  # fmt: skip
    found = variance.pooled(cells)
    assert (found.repeat_sigma, found.session_sigma) == pytest.approx((0.02, 0.03), rel=0.05)
    assert (found.repeat_df, found.session_df) == (12000, 4000)


@settings(max_examples=40)
@given(st.lists(values, min_size=2, max_size=4), st.floats(0.1, 10), st.floats(-5, 5))
def test_components_scale_and_do_not_move(groups, scale, shift):
    one = variance.components(groups)
    other = variance.components([scale * np.array(group) + shift for group in groups])
    assert other.repeat_sigma == pytest.approx(scale * one.repeat_sigma, abs=1e-6)
    assert other.session_sigma == pytest.approx(scale * one.session_sigma, abs=1e-6)


def test_pooled_deviations_weigh_by_their_df():
    assert variance.pool([0.01, 0.03], [6, 2]) == pytest.approx((math.sqrt((6 * 1e-4 + 2 * 9e-4) / 8), 8))
    assert variance.pool([], []) is None and variance.pool([0.02], [0]) is None


def test_welch_of_a_textbook_pair():
    found = effects.welch([1, 2, 3], [2, 4, 6, 8])
    assert found.estimate == -3 and found.se == pytest.approx(math.sqrt(1 / 3 + (20 / 3) / 4))
    assert found.df == pytest.approx(2**2 / ((1 / 3) ** 2 / 2 + (5 / 3) ** 2 / 3))
    assert effects.welch([1.0], [1.0, 2.0]) is None


def test_paired_is_the_t_of_the_differences():
    found = effects.paired([1.0, 2.0, 3.0])
    assert (found.estimate, found.se, found.df) == pytest.approx((2, 1 / math.sqrt(3), 2))
    assert effects.paired([1.0]) is None


def test_time_takes_a_drift_out_and_refuses_what_it_cannot_tell():
    time, arm = np.arange(6.0), np.array([0, 1, 1, 0, 1, 0])
    found = effects.with_time(7 + 0.05 * arm - 0.02 * time, arm, time)
    assert found.estimate == pytest.approx(0.05) and found.se == pytest.approx(0, abs=1e-9) and found.df == 3
    assert effects.with_time(arm * 0.05, arm, arm * 1e6) is None
    assert effects.with_time(arm * 0.05, arm, np.zeros(6)) is None
    assert effects.with_time([1, 2, 3], [0, 1, 0], [0, 1, 2]) is None
    assert effects.with_time(arm * 0.05, arm, [0, 1, 2, math.nan, 4, 5]) is None


def test_time_blocked_by_arm_is_far_less_sure():
    arm = np.array([0, 0, 0, 1, 1, 1])
    blocked, mixed = (effects.with_time(np.zeros(6), order, np.arange(6.0)) for order in (arm, [0, 1, 1, 0, 1, 0]))
    assert mixed.per_sigma == pytest.approx(math.sqrt(2 / 3), rel=0.02) and blocked.per_sigma > 1.8 * mixed.per_sigma


@pytest.mark.parametrize(("order", "drift"), [("ABBABA", 0.0), ("ABBABA", 0.005), ("ABBABAAB", 0.02),
                                              ("AAABBB", 0.005)])  # fmt: skip
def test_no_effect_is_found_once_in_twenty_under_drift(order, drift):
    random, tries = np.random.default_rng(5), 1200
    arm, time = np.array([name == "B" for name in order]), np.arange(float(len(order)))
    means = drift * time + random.normal(0, 0.015, (tries, len(order)))
    found = np.mean([effects.with_time(y, arm, time).p < 0.05 for y in means])
    assert found == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / tries))


@settings(max_examples=40)
@given(values, values, st.floats(0.1, 10), st.floats(-5, 5))
def test_effects_scale_and_do_not_move(a, b, scale, shift):
    one, other = effects.welch(a, b), effects.welch(scale * np.array(a) + shift, scale * np.array(b) + shift)
    assert other.estimate == pytest.approx(scale * one.estimate, abs=1e-6)
    assert other.se == pytest.approx(scale * one.se, abs=1e-6)


@settings(max_examples=40)
@given(effect, st.floats(0.5, 0.99))
def test_an_interval_leaves_0_out_just_where_p_is_small(found, level):
    interval = found.interval(level)
    if abs(found.p - (1 - level)) > 1e-9:
        assert (interval.low > 0 or interval.high < 0) == (found.p < 1 - level)


def test_an_effect_without_any_spread():
    assert Effect(0.0, 0.0, 3).p == 1 and Effect(0.1, 0.0, 3).p == 0


def test_holm_of_a_worked_case():
    assert multiplicity.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert multiplicity.holm_levels([0.01, 0.04, 0.03, 0.005]) == pytest.approx(1 - 0.05 / np.array([3, 2, 2, 4]))
    adjusted = multiplicity.holm([0.01, math.nan])
    assert adjusted[0] == 0.02 and math.isnan(adjusted[1])
    assert multiplicity.holm_levels([0.01, math.nan]) == pytest.approx([0.975, 0.95])
    assert multiplicity.holm([]).size == 0


@settings(max_examples=40)
@given(probabilities, st.randoms())
def test_holm_is_no_smaller_than_p_keeps_the_order_and_not_the_places(p, random):
    adjusted = multiplicity.holm(p)
    assert (adjusted >= np.array(p) - 1e-15).all() and (adjusted <= np.minimum(1, len(p) * np.array(p)) + 1e-12).all()
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()
    places = random.sample(range(len(p)), len(p))
    assert multiplicity.holm([p[place] for place in places]) == pytest.approx(adjusted[places])


@settings(max_examples=40)
@given(st.lists(effect, min_size=1, max_size=8), st.floats(0.01, 0.2))
def test_holm_intervals_leave_0_out_just_where_holm_rejects(found, alpha):
    p = [one.p for one in found]
    adjusted, levels = multiplicity.holm(p), multiplicity.holm_levels(p, alpha)
    for one, wanted, level in zip(found, adjusted, levels, strict=True):
        if abs(wanted - alpha) > 1e-9:
            interval = one.interval(level)
            assert (interval.low > 0 or interval.high < 0) == (wanted < alpha)
            assert level >= 1 - alpha - 1e-12


def test_holm_keeps_the_chance_of_any_wrong_claim():
    p = np.random.default_rng(6).random((1500, 6))
    assert np.mean([(multiplicity.holm(row) <= 0.05).any() for row in p]) == pytest.approx(0.05, abs=0.023)


@settings(max_examples=40)
@given(effect, st.floats(0.005, 0.2), st.floats(0.01, 0.2))
def test_tost_is_the_interval_within_the_margin(found, margin, alpha):
    p, interval = equivalence.tost(found, margin), found.interval(1 - 2 * alpha)
    if abs(p - alpha) > 1e-9:
        assert (math.log(1 - margin) < interval.low and interval.high < math.log(1 + margin)) == (p < alpha)


@pytest.mark.parametrize(("n", "published_pct"), [(3, 38), (5, 79), (10, 99)])
def test_tost_calls_equals_equal_as_often_as_published(n, published_pct):
    random, tries = np.random.default_rng(7), 1500
    drawn = random.normal(0, 0.01, (tries, 2, n))
    found = [effects.welch(*pair) for pair in drawn]
    called = np.mean([equivalence.tost(Effect(e.estimate, e.se, 2 * n - 2), 0.02) < 0.05 for e in found])
    assert 100 * called == pytest.approx(published_pct, abs=4)


@pytest.mark.parametrize("end", [math.log(0.8), math.log(1.2)])
def test_tost_at_either_end_of_the_margin_is_a_half(end):
    assert equivalence.tost(Effect(end, 0.01, 9), 0.2) == pytest.approx(0.5)


def test_tost_at_the_margin_errs_once_in_twenty():
    random, tries = np.random.default_rng(8), 2000
    drawn = random.normal([[math.log(1.02)], [0.0]], 0.004, (tries, 2, 5))
    called = np.mean([equivalence.tost(effects.welch(*pair), 0.02) < 0.05 for pair in drawn])
    assert called == pytest.approx(0.05, abs=0.02)
    with pytest.raises(ValueError, match="share"):
        equivalence.tost(Effect(0.0, 0.01, 4), 2.0)


@settings(max_examples=30)
@given(st.floats(0.001, 0.05), st.floats(0.001, 0.05), st.integers(1, 9))
def test_more_repeats_narrow_the_band_down_to_the_boots(session, repeat, r):
    assert power.band(session, repeat, r + 1, r + 1) < power.band(session, repeat, r, r)
    assert power.band(session, repeat, r, r) > power.band(session, 0.0)
