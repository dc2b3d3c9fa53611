"""Comparisons of arms on runs whose truth is known: estimators, families, noise, and how often nothing is claimed."""

from __future__ import annotations

import math

import claimruns
import numpy as np
import pandas as pd
import pytest
from benchbook.claims import comparisons, estimators, noise
from benchbook.claims.noise import METHOD, REGISTRY, Noise
from benchbook.claims.sides import Side, side
from benchbook.statistics import effects, equivalence, multiplicity, power

NO_INTERVAL = ["effect_low_pct", "effect_high_pct", "holm_low_pct", "holm_high_pct", "p", "p_holm", "df", "equivalent"]
NOISY = {"boot_sigma": 0.01, "repeat_sigma": 0.005}


def table(runs, booking=None, declared=(), frames=()):
    return comparisons.table(runs, booking or claimruns.booking(), list(declared), noise.prior(list(frames)))


def one(runs, *args, metric="throughput_tok_s", **named):
    found = table(runs, *args, **named)
    return found[(found["question"] == "arms") & (found["metric"] == metric)].iloc[0]


def test_an_effect_is_found_under_drift_with_the_fit_on_time():
    found = one(claimruns.runs("abbaba", effects={"b": math.log(1.05)}, drift=-0.01, repeat_sigma=1e-4))
    assert found["effect_pct"] == pytest.approx(5, abs=0.05) and found["df"] == 3
    assert found["effect_low_pct"] < 5 < found["effect_high_pct"] < 5.2 and found["p_holm"] < 0.001
    assert "least squares" in found["method"] and "3 against 3 sessions" in found["method"]
    assert (found["kind"], found["comparison_id"]) == ("cross-session", "b/a/throughput_tok_s/c8")
    assert found["balanced"] and not found["equivalent"]


def test_the_interval_is_that_of_the_fit_on_session_means():
    runs = claimruns.runs("abbaba", **NOISY)
    found = one(runs)
    by_session = runs.assign(y=np.log(runs["throughput_tok_s"].astype(float))).groupby("session_id")
    means, arm = by_session["y"].mean(), (by_session["arm"].first() == "b")
    fit = effects.with_time(means, arm, by_session["t_start_s"].mean().astype(float))
    assert found["effect_pct"] == pytest.approx(100 * math.expm1(fit.estimate))
    ends = fit.interval()
    assert (found["effect_low_pct"], found["effect_high_pct"]) == pytest.approx(
        (100 * math.expm1(ends.low), 100 * math.expm1(ends.high)))
    assert found["p"] == pytest.approx(fit.p)
    assert found["equivalent"] == (equivalence.tost(fit, 0.02) <= 0.05)


def test_one_session_against_one_carries_no_interval_and_the_methods_band():
    found = one(claimruns.runs("ab", repeats=1, effects={"b": 0.03}))
    assert found[NO_INTERVAL].isna().all() and found["effect_pct"] == pytest.approx(100 * math.expm1(0.03))
    assert found["band_pct"] == pytest.approx(5.0, abs=0.05)
    assert (found["sigma_from"], found["balanced"]) == (METHOD, False) and pd.isna(found["sigma_df"])
    assert pd.isna(found["mde_pct"]), "one boot each can find nothing"
    assert "boot each arm at least 3 times" in found["method"]


def test_repeats_never_stand_in_for_boots():
    found = one(claimruns.runs("ab", repeats=50, effects={"b": 0.5}, repeat_sigma=0.001))
    assert found[NO_INTERVAL].isna().all() and found["runs"] == 50


@pytest.mark.parametrize(("order", "df", "given"), [("abba", 8, True), ("abba", 7, False), ("aabb", 8, False),
                                                    ("abab", 8, False), ("aba", 8, False)])  # fmt: skip
def test_two_sessions_a_side_need_balance_and_the_registry(order, df, given):
    runs = claimruns.runs(order, effects={"b": 0.1}, repeats=4, repeat_sigma=1e-6)
    found = one(runs, frames=[claimruns.noise(session_df=df)])
    assert pd.notna(found["p"]) == given
    if given:
        se = math.sqrt((0.015**2 + 0.01**2 / 4) * (1 / 2 + 1 / 2))
        assert found["df"] == 8 and found["effect_pct"] == pytest.approx(100 * math.expm1(0.1), rel=1e-4)
        assert found["effect_low_pct"] == pytest.approx(100 * math.expm1(0.1 - 2.306 * se), rel=1e-3)
        assert "registry" in found["method"] and found["sigma_from"] == REGISTRY


def test_two_sessions_a_side_that_scatter_beyond_the_registry_get_no_interval():
    booking, frames = claimruns.booking(metrics=["throughput_tok_s"]), [claimruns.noise()]
    given = {sigma: np.mean([pd.notna(one(claimruns.runs("abba", boot_sigma=sigma, repeat_sigma=0.01, seed=seed),
                                          booking, frames=frames)["p"]) for seed in range(30)])
             for sigma in (0.015, 0.12)}  # fmt: skip
    assert given[0.015] >= 0.65 and given[0.12] <= 0.1
    wild = one(claimruns.runs("abba", boot_sigma=0.12, seed=1), booking, frames=frames)
    assert "scatter beyond the registry's spread" in wild["method"]
    none = [claimruns.noise(session_pct=0.0, repeat_pct=0.0)]
    assert pd.isna(one(claimruns.runs("abba", boot_sigma=0.01), booking, frames=none)["p"])


@pytest.mark.parametrize("times", [1, 1.5, 2, 3, 8])
def test_two_equal_sessions_a_side_noisier_than_the_registry_seldom_differ(times):
    random, tries, known = np.random.default_rng(5), 800, Noise(0.01, 0.015, 12.0, REGISTRY)
    sigma = math.hypot(times * 0.015, 0.01 / math.sqrt(3))
    wrong = 0
    for boots in random.normal(0, sigma, (tries, 4)):
        a, b = (Side(pd.DataFrame(), [np.full(3, boots[place]) for place in places], np.array(places, float), [])
                for places in ((0, 3), (1, 2)))  # fmt: skip
        effect = estimators.between_arms(b, a, known).effect
        wrong += effect is not None and effect.p <= 0.05
    assert wrong / tries <= 0.09  # by the registry alone 14 % at two to three times its noise


def test_the_larger_of_both_spreads_decides_two_sessions_a_side():
    known = Noise(0.01, 0.015, 12.0, REGISTRY)

    def between(scatter):
        a, b = (Side(pd.DataFrame(), [np.full(3, at) for at in levels], np.array(times, float), [])
                for levels, times in (((0.0, scatter), (0, 3)), ((0.1, 0.1), (1, 2))))  # fmt: skip
        return estimators.between_arms(b, a, known)

    registry, own, none = between(0.01), between(0.036), between(0.05)
    assert registry.effect.se == pytest.approx(math.hypot(0.015, 0.01 / math.sqrt(3))) and registry.effect.df == 12
    assert own.effect.se == pytest.approx(0.018) and own.effect.df == 1 and "scatter more" in own.method
    assert none.effect is None


def test_the_methods_prior_alone_decides_nothing():
    assert pd.isna(one(claimruns.runs("abba", effects={"b": 0.5}))["p"])


def test_a_blocked_order_is_said_to_be_none_and_is_less_sure():
    blocked, mixed = (one(claimruns.runs(order, effects={"b": 0.05}, **NOISY)) for order in ("aaabbb", "abbaba"))
    assert not blocked["balanced"] and mixed["balanced"]
    assert blocked["mde_pct"] > 1.5 * mixed["mde_pct"] and "lies earlier" in blocked["method"]


def test_arms_each_at_one_moment_get_no_interval():
    runs = claimruns.runs("aaabbb", **NOISY)
    runs["t_start_s"] = (runs["arm"] == "b").astype("Float64") * 3600
    found = one(runs)
    assert found[NO_INTERVAL].isna().all() and "in turns" in found["method"] and pd.notna(found["effect_pct"])


def test_a_start_that_is_not_known_takes_no_interval():
    runs = claimruns.runs("abbaba", **NOISY)
    whole = one(runs)
    runs.loc[1, "t_start_s"] = pd.NA
    assert one(runs)["p"] == pytest.approx(whole["p"], rel=0.05) and one(runs)["balanced"]
    runs.loc[runs["session_id"] == runs.loc[0, "session_id"], "t_start_s"] = pd.NA
    assert one(runs)["p"] == pytest.approx(whole["p"], rel=0.2), "the id says when it was launched"
    runs["session_id"] = runs["session_id"].replace(runs.loc[0, "session_id"], "first")
    found = one(runs)
    assert found[NO_INTERVAL].isna().all() and "no known time" in found["method"] and "turns" not in found["method"]


@pytest.mark.parametrize(("hours", "even"), [
    ({"a": (0, 3, 5), "b": (1, 2, 4)}, True), ({"a": (0, 2, 4), "b": (1, 3, 5)}, False),
    ({"a": (0, 27, 29), "b": (1, 2, 28)}, False), ({"a": (0, 27), "b": (1, 26)}, True), ({"a": (0,), "b": (1,)}, False),
    ({"a": (), "b": (1, 2)}, False),
], ids=["ABBABA", "ABABAB", "ABB night ABA", "AB night BA", "AB", "one side"])  # fmt: skip
def test_balance_is_of_times(hours, even):
    a, b = (Side(pd.DataFrame(), [np.zeros(1)] * len(at), np.array(at, float), []) for at in hours.values())
    assert estimators.balanced(a, b) == estimators.balanced(b, a) == even


def test_families_are_held_apart_and_holm_within_each():
    runs = claimruns.runs("abccbaacb", concurrency=(1, 8), growth=0.9, **NOISY)
    booking = claimruns.booking("abc", (1, 8))
    found = table(runs, booking, [claimruns.hypothesis("faster", concurrency=(1, 8))])
    assert found.groupby("family").size().to_dict() == {"declared": 2, "exploratory": 6, "scale": 3}
    for _, members in found.groupby("family"):
        assert (members["family_size"] == len(members)).all()
        assert members["p_holm"].to_numpy() == pytest.approx(multiplicity.holm(members["p"].astype(float)))
        outside = (members["holm_low_pct"] > 0) | (members["holm_high_pct"] < 0)
        assert (outside == (members["p_holm"] <= 0.05)).all()
        assert (members["holm_low_pct"] <= members["effect_low_pct"] + 1e-9).all()
    declared = found[found["family"] == "declared"]
    assert (declared["hypothesis"] == "faster").all() and declared["arm"].eq("b").all()


def test_a_hypothesis_has_its_own_baseline_and_one_written_later_is_exploratory():
    runs = claimruns.runs("abccba", **NOISY)
    booking = claimruns.booking("abc") | {"hypotheses": [claimruns.hypothesis("late", arm="c", baseline="b")]}
    found = table(runs, booking).set_index("comparison_id").loc["c/b/throughput_tok_s/c8"]
    assert (found["family"], found["hypothesis"]) == ("exploratory", "late")
    found = table(runs, booking, booking["hypotheses"]).set_index("comparison_id").loc["c/b/throughput_tok_s/c8"]
    assert (found["family"], found["hypothesis"], found["family_size"]) == ("declared", "late", 1)


def test_what_has_no_interval_counts_in_its_family():
    runs = claimruns.runs("abbabac", **NOISY)
    found = table(runs, claimruns.booking("abc", metrics=["throughput_tok_s"]))
    arms = found[found["question"] == "arms"].set_index("arm")
    assert arms.loc["b", "family_size"] == 2 and pd.isna(arms.loc["c", "p_holm"])
    assert arms.loc["b", "p_holm"] == pytest.approx(min(1, 2 * arms.loc["b", "p"]))


def test_runs_that_are_not_ok_are_counted_and_enter_no_value():
    runs = claimruns.runs("abbaba")
    runs.loc[[0, 3], "status"] = "incomplete"
    runs.loc[[0, 3], ["tags", "throughput_tok_s"]] = ["INCOMPLETE", 1.0]
    runs.loc[4, "tags"] = "STALLED"
    found = one(runs)
    assert (found["incomplete_runs"], found["runs"], found["baseline_runs"]) == (2, 8, 8)
    assert found["tags"] == "INCOMPLETE,STALLED" and found["effect_pct"] == pytest.approx(0)
    assert len(found["run_ids"].split()) == 16


def test_a_side_without_any_usable_run_is_null_and_not_zero():
    runs = claimruns.runs("abba")
    runs.loc[runs["arm"] == "b", "status"] = "failed"
    found = one(runs)
    assert found[["value", "effect_pct", "worst_ratio", "mde_pct", "band_pct", *NO_INTERVAL]].isna().all()
    assert found["baseline_value"] == pytest.approx(1000) and found["sessions"] == 0
    assert table(runs[runs["arm"] == "a"]).empty


@pytest.mark.parametrize("sign", [1, -1])
def test_the_worst_ratio_is_of_the_nearest_runs(sign):
    runs = claimruns.runs("abbaba", effects={"b": sign * math.log(3)})
    runs.loc[(runs["arm"] == "b") & (runs["repeat"] == 2), "throughput_tok_s"] = 1000 * 2.5**sign
    assert one(runs)["worst_ratio"] == pytest.approx(2.5)
    overlapping = claimruns.runs("abbaba", effects={"b": sign * 0.001}, repeat_sigma=0.05)
    assert one(overlapping)["worst_ratio"] < 1


def test_a_bookings_own_noise_stands_in_front_of_the_registry():
    few, many = (claimruns.runs("abba" * k, boot_sigma=0.02) for k in (2, 3))
    frames = [claimruns.noise(session_df=12)]
    assert one(few, frames=frames)["sigma_from"] == REGISTRY
    own = one(many, frames=frames)
    assert (own["sigma_from"], own["sigma_df"]) == (noise.HERE, 10)


def test_the_smallest_effect_is_that_of_the_design():
    booking = claimruns.booking(metrics=["throughput_tok_s"])
    found = one(claimruns.runs("abba" * 3, repeats=2), booking, frames=[claimruns.noise()])
    assert pd.isna(found["mde_pct"]), "boots that do not differ at all are copies"
    found = one(claimruns.runs("abba" * 2, repeats=2, repeat_sigma=1e-6), booking, frames=[claimruns.noise()])
    sigma = math.sqrt(0.015**2 + 0.01**2 / 2)
    assert found["mde_pct"] == pytest.approx(100 * math.expm1(power.mde(4, sigma, df=5)), rel=1e-3)
    half = 2.1788 * sigma * math.sqrt(2 / 4)
    assert found["band_pct"] == pytest.approx(100 * half, rel=1e-3)


def test_boots_that_scatter_beyond_the_noise_speak_for_themselves():
    booking = claimruns.booking(metrics=["throughput_tok_s"])
    wild = one(claimruns.runs("abbaab", boot_sigma=0.2, seed=3), booking)
    half_pct = 100 * math.expm1(math.log1p(wild["effect_high_pct"] / 100) - math.log1p(wild["effect_pct"] / 100))
    assert wild["mde_pct"] > half_pct > 20 and wild["band_pct"] > 20
    assert (wild["sigma_from"], wild["sigma_df"]) == (noise.HERE, 3)
    assert one(claimruns.runs("abbaab", boot_sigma=0.015, seed=3), booking)["sigma_from"] == METHOD


def test_two_boots_an_arm_that_scatter_widely_widen_the_band_though_they_give_no_interval():
    booking = claimruns.booking(metrics=["throughput_tok_s"])
    wild = one(claimruns.runs("abba", boot_sigma=0.2, seed=3), booking)
    assert pd.isna(wild["effect_low_pct"]) and wild["sigma_from"] == noise.HERE
    assert 8 < wild["band_pct"] < 150, "twice the prior, and no multiple of hundreds"
    assert pd.isna(wild["mde_pct"]), "nothing can be found without an interval"
    calm = one(claimruns.runs("abba", boot_sigma=0.015, seed=3), booking)
    assert calm["sigma_from"] == METHOD and calm["band_pct"] < 5
    alone = one(claimruns.runs("ab", boot_sigma=0.2, seed=3), booking)
    assert alone["sigma_from"] == METHOD, "one boot each shows no scatter"


def test_scale_is_paired_within_sessions():
    runs = claimruns.runs("aaa", concurrency=(1, 4, 8), growth=0.9, boot_sigma=0.2, repeat_sigma=0.001)
    found = table(runs, claimruns.booking("a", (1, 4, 8)))
    assert found["comparison_id"].tolist() == ["scale/a/throughput_tok_s/c1-c8"]
    found = found.iloc[0]
    assert (found["kind"], found["question"], found["family"]) == ("matched session", "scale", "scale")
    ratio = 8**0.9
    assert found["effect_pct"] == pytest.approx(100 * (ratio - 1), rel=0.01) and found["df"] == 2
    assert found["effect_low_pct"] > 95 * (ratio - 1) and found["worst_ratio"] < ratio
    assert (found["concurrency"], found["baseline_concurrency"], found["arm"], found["baseline"]) == (8, 1, "a", "a")


def test_scale_is_over_the_sessions_that_have_both_ends():
    runs = claimruns.runs("aaa", concurrency=(1, 8), growth=0.9, repeat_sigma=1e-6)
    last = runs["session_id"].max()
    runs.loc[(runs["session_id"] == last) & (runs["concurrency"] == 8), "status"] = "failed"
    found = table(runs, claimruns.booking("a", (1, 8))).iloc[0]
    assert (found["sessions"], found["baseline_sessions"], found["df"]) == (2, 2, 1)
    assert last not in found["run_ids"]


def test_scale_of_one_session_has_a_ratio_and_no_interval():
    runs = claimruns.runs("a", concurrency=(1, 8), growth=1.0, repeats=1)
    found = table(runs, claimruns.booking("a", (1, 8))).iloc[0]
    assert found["worst_ratio"] == pytest.approx(8) and found[NO_INTERVAL].isna().all()
    assert table(runs[runs["concurrency"] == 1], claimruns.booking("a", (1, 8))).empty


def several(sides):
    return pd.concat([claimruns.runs(order, first_day=day, seed=day, **NOISY).assign(booking=f"b{day}")
                      for day, order in enumerate(sides)], ignore_index=True)  # fmt: skip


def test_sides_of_different_bookings_are_told_apart():
    found = one(several(["aaa", "bbb"]))
    assert found["kind"] == "cross-booking" and found[[*NO_INTERVAL, "mde_pct", "band_pct"]].isna().all()
    assert "measure both arms in one booking" in found["method"]
    found = one(several(["aaa", "bbb", "aa", "bb", "aaa", "bbb"]))
    assert found["kind"] == "cross-booking" and "3 against 3 bookings" in found["method"] and 2 <= found["df"] <= 4
    assert one(several(["abba", "baab"]))["kind"] == "cross-session"


def test_a_side_is_the_same_in_any_unit_and_order():
    runs = claimruns.runs("aab", **NOISY)
    plain, other = side(runs, "tpot_mean_ms"), side(runs.iloc[::-1].assign(tpot_mean_ms=runs["tpot_mean_ms"] * 1e3),
                                                    "tpot_mean_ms")  # fmt: skip
    assert other.value == pytest.approx(1e3 * plain.value)
    assert other.means - plain.means == pytest.approx(math.log(1e3))
    assert other.times_s == pytest.approx(plain.times_s)


def test_values_without_a_logarithm_are_left_out():
    runs = claimruns.runs("a")
    runs.loc[0, "tpot_mean_ms"], runs.loc[1, "tpot_mean_ms"] = 0.0, pd.NA
    runs.loc[2, "throughput_tok_s"] = np.inf
    assert np.isfinite(side(runs, "throughput_tok_s").value) and len(side(runs, "throughput_tok_s").runs) == 2
    assert side(runs, "tpot_mean_ms").value == pytest.approx(20) and len(side(runs, "tpot_mean_ms").runs) == 1


@pytest.mark.parametrize("order", ["abba", "abbaba"])
def test_estimators_claim_nothing_more_than_once_in_twenty(order):
    """Family-wise, over six comparisons that share their boots, under no effect and a drift."""
    random, tries, m = np.random.default_rng(9), 200, 6
    known = Noise(0.01, 0.015, 400.0, REGISTRY)
    time, is_b = np.arange(float(len(order))), np.array([letter == "b" for letter in order])
    wrong = 0
    for _ in range(tries):
        boots = random.normal(0, 0.015 / math.sqrt(2), (len(order), 1)) + random.normal(0, 0.015 / math.sqrt(2),
                                                                                          (len(order), m))  # fmt: skip
        logs = boots[:, :, None] + 0.005 * time[:, None, None] + random.normal(0, 0.01, (len(order), m, 3))
        p = []
        for c in range(m):
            a, b = (Side(pd.DataFrame(), list(logs[mine, c]), time[mine], []) for mine in (~is_b, is_b))
            effect = estimators.between_arms(b, a, known).effect
            p.append(effect.p if effect else 1.0)
        wrong += bool((multiplicity.holm(p) <= 0.05).any())
    assert wrong / tries <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / tries)


def test_whole_tables_of_equal_arms_claim_nothing_more_than_once_in_twenty():
    tables, booking = 12, claimruns.booking("ab", (1, 8))
    wrong = sum(
        bool((found.loc[found["family"] == "exploratory", "p_holm"] <= 0.05).any())
        for found in (table(claimruns.runs("abbaba", concurrency=(1, 8), repeats=2, boot_sigma=0.015, repeat_sigma=0.01,
                                           drift=0.005, seed=seed), booking) for seed in range(tables))
    )  # fmt: skip
    assert wrong <= 2  # more than 2 of 12 come once in 50 such tests where the rate is 5 %


@pytest.mark.parametrize("order", ["abba", "abbaba"])
def test_boots_that_do_not_differ_at_all_carry_no_interval(order):
    runs, frames = claimruns.runs(order, effects={"b": 0.05}, concurrency=(1, 8), growth=0.9), [claimruns.noise()]
    found = table(runs, claimruns.booking("ab", (1, 8)), frames=frames)
    assert found[NO_INTERVAL].isna().all(axis=None)
    assert found["method"].str.contains("not measured apart; check the runs").all()
    assert table(several(["aaa", "bbb"] * 3).assign(tpot_mean_ms=20.0)).set_index("metric").loc[
        "tpot_mean_ms", "method"].endswith("check the runs")  # fmt: skip


def test_an_effect_turns_over_with_its_sides_and_knows_no_unit():
    runs = claimruns.runs("abbaba", effects={"b": 0.05}, **NOISY)
    there, back = one(runs), one(runs, claimruns.booking("ba"))
    assert (1 + there["effect_pct"] / 100) * (1 + back["effect_pct"] / 100) == pytest.approx(1)
    assert (1 + there["holm_low_pct"] / 100) * (1 + back["holm_high_pct"] / 100) == pytest.approx(1)
    other = one(runs.assign(throughput_tok_s=runs["throughput_tok_s"] * 1e-3))
    same = ["effect_pct", "holm_low_pct", "holm_high_pct", "p_holm", "mde_pct", "band_pct", "worst_ratio"]
    assert other[same].tolist() == pytest.approx(there[same].tolist())
