"""Levels and spread of every point, and the noise of a booking, against designs whose truth is known."""

from __future__ import annotations

import claimruns
import numpy as np
import pandas as pd
import pytest
from benchbook.claims import noise, repeatability
from benchbook.statistics.intervals import t_interval

CLIENTS = ["native"]


def spread(runs, frames=()):
    own = noise.table(runs, CLIENTS, "made", "k")
    return repeatability.table(runs, CLIENTS, own, noise.prior(list(frames)))


def row(frame, metric="throughput_tok_s", **where):
    mine = frame[frame["metric"] == metric]
    for name, value in where.items():
        mine = mine[mine[name] == value]
    return mine.iloc[0]


def test_the_interval_is_that_of_session_means_of_ln():
    runs = claimruns.runs("aaa", boot_sigma=0.02, repeat_sigma=0.01)
    found = row(spread(runs))
    means = np.log(runs["throughput_tok_s"].astype(float)).groupby(runs["session_id"]).mean().to_numpy()
    interval = t_interval(means)
    assert (found["ci_low"], found["mean"], found["ci_high"]) == pytest.approx(
        tuple(np.exp([interval.low, interval.estimate, interval.high])))
    assert (found["range_low"], found["range_high"]) == pytest.approx((np.exp(means.min()), np.exp(means.max())))
    assert (found["range_of"], found["range_coverage"], found["sessions"], found["runs"]) == ("sessions", 0.75, 3, 9)
    assert (found["repeat_df"], found["session_df"]) == (6, 2) and pd.isna(found["note"])


def test_one_session_has_no_interval_and_is_told_to_boot_again():
    found = row(spread(claimruns.runs("a", repeat_sigma=0.01, repeats=5)))
    assert found[["ci_low", "ci_high", "bootstrap_low", "session_sigma_pct", "session_df"]].isna().all()
    assert (found["range_of"], found["range_coverage"], found["repeat_df"]) == ("runs", 0.9375, 4)
    assert "boot the arm again" in found["note"]


def test_one_run_has_no_spread_at_all():
    found = row(spread(claimruns.runs("a", repeats=1)))
    assert found["mean"] == pytest.approx(1000)
    assert found[["range_coverage", "repeat_sigma_pct", "repeat_df", "ci_low"]].isna().all()


def test_one_run_a_session_says_that_its_spread_holds_both():
    found = row(spread(claimruns.runs("aaa", repeats=1, repeat_sigma=0.01)))
    assert pd.isna(found["repeat_sigma_pct"]) and found["session_sigma_pct"] > 0 and "ask for repeats" in found["note"]


@pytest.mark.parametrize(("sessions", "given"), [(9, False), (10, True)])
def test_the_bootstrap_is_asked_from_ten_sessions(sessions, given):
    found = row(spread(claimruns.runs("a" * sessions, boot_sigma=0.01, repeat_sigma=0.01)))
    assert found[["bootstrap_low", "bootstrap_high"]].notna().all() == given
    if given:
        assert found["ci_low"] < found["bootstrap_low"] < found["mean"] < found["bootstrap_high"] < found["ci_high"]


def test_what_is_not_ok_replaced_or_of_another_client_enters_no_figure():
    runs = claimruns.runs("aaa", repeats=6)
    spoilt = {"status": "failed", "replaced": True, "client": "vllm-bench"}
    for repeat, (column, value) in enumerate(spoilt.items(), start=1):
        runs.loc[runs["repeat"] == repeat, column] = value
        runs.loc[runs["repeat"] == repeat, "throughput_tok_s"] = 1.0
    found = row(spread(runs))
    assert found["mean"] == pytest.approx(1000) and found["runs"] == 9 and len(found["run_ids"].split()) == 9
    assert "3 more did not end well" in found["note"]


def test_an_ok_run_without_a_value_above_0_is_counted():
    runs = claimruns.runs("aaa")
    runs.loc[0, "throughput_tok_s"], runs.loc[1, "throughput_tok_s"], runs.loc[2, "tpot_mean_ms"] = pd.NA, 0.0, -1.0
    found = spread(runs)
    assert "Left out: 2 that ended well without a value above 0" in row(found)["note"]
    assert "Left out: 1 that ended well without a value above 0" in row(found, "tpot_mean_ms")["note"]
    assert row(found)["runs"] == 7 and pd.isna(row(found, "ttft_mean_ms")["note"])


def test_a_metric_that_no_run_has_is_null_and_not_zero():
    runs = claimruns.runs("aa").assign(itl_p50_ms=pd.Series([pd.NA] * 6, dtype="Float64"))
    found = row(spread(runs), "itl_p50_ms")
    assert (found["sessions"], found["runs"], found["run_ids"]) == (0, 0, "")
    assert "measure the point again" in found["note"]
    assert found[["mean", "range_low", "range_high", "repeat_df", "ci_low"]].isna().all()


def test_no_runs_give_an_empty_table():
    none = claimruns.runs("a").iloc[:0]
    assert spread(none).empty and noise.table(none, CLIENTS, "made", "k").empty


def test_the_noise_is_found_again_and_counts_boots_once():
    runs = claimruns.runs("ab" * 40, concurrency=(1, 4, 8), boot_sigma=0.03, repeat_sigma=0.02)
    found = row(noise.table(runs, CLIENTS, "made", "k"))
    assert found["repeat_sigma_pct"] == pytest.approx(2, rel=0.1)
    assert found["session_sigma_pct"] == pytest.approx(3, rel=0.25)
    assert (found["session_df"], found["repeat_df"], found["sessions"]) == (78, 480, 80)
    assert found["measured_until"] == runs["session_id"].max()


def test_effects_between_arms_and_concurrencies_are_no_noise():
    runs = claimruns.runs("abba", effects={"b": 0.4}, concurrency=(1, 8), growth=0.9)
    found = row(noise.table(runs, CLIENTS, "made", "k"))
    assert found["repeat_sigma_pct"] == pytest.approx(0, abs=1e-9)
    assert found["session_sigma_pct"] == pytest.approx(0, abs=1e-6)


def test_a_stalled_run_is_no_noise():
    runs = claimruns.runs("aaa", repeat_sigma=0.01)
    clean = noise.table(runs, CLIENTS, "made", "k")
    stalled = runs.copy()
    stalled.loc[len(runs)] = runs.iloc[0].to_dict() | {"run_id": "x", "tags": "STALLED", "throughput_tok_s": 500.0}
    pd.testing.assert_frame_equal(noise.table(stalled, CLIENTS, "made", "k"), clean)


def test_noise_that_was_not_measured_is_null():
    found = row(noise.table(claimruns.runs("ab", repeats=1), CLIENTS, "made", "k"))
    assert (found["session_df"], found["repeat_df"]) == (0, 0)
    assert found[["session_sigma_pct", "repeat_sigma_pct"]].isna().all()


def test_the_methods_prior_holds_until_there_is_a_registry():
    for frames in ([], [claimruns.noise(session_pct=None, session_df=0)]):
        known = noise.prior(frames).of("tpot_mean_ms")
        assert (known.repeat_sigma, known.session_sigma, known.df, known.source) == (0.01, 0.015, None, noise.METHOD)


def test_the_registry_is_pooled_by_degrees_of_freedom():
    frames = [claimruns.noise("x", session_pct=1.0, session_df=9, repeat_pct=2.0, repeat_df=30),
              claimruns.noise("y", session_pct=3.0, session_df=3, repeat_pct=1.0, repeat_df=10)]  # fmt: skip
    known = noise.prior(frames).of("tpot_mean_ms")
    assert known.session_sigma == pytest.approx(np.sqrt((9 * 1 + 3 * 9) / 12) / 100)
    assert known.repeat_sigma == pytest.approx(np.sqrt((30 * 4 + 10 * 1) / 40) / 100)
    assert (known.df, known.source) == (12, noise.REGISTRY)


@pytest.mark.parametrize(("repeat_pct", "repeat_df", "taken"), [(8.0, 8, 0.08), (8.0, 7, 0.01), (0.5, 48, 0.01)])
def test_a_bookings_own_repeats_widen_what_was_known(repeat_pct, repeat_df, taken):
    own = claimruns.noise(session_df=2, repeat_pct=repeat_pct, repeat_df=repeat_df)
    known = noise.known(own, noise.prior([]), "tpot_mean_ms")
    assert (known.repeat_sigma, known.session_sigma, known.df, known.source) == (taken, 0.015, None, noise.METHOD)


@pytest.mark.parametrize(("df", "given"), [(7, False), (8, True)])
def test_a_bookings_own_noise_needs_eight_degrees_of_freedom(df, given):
    found = noise.of_booking(claimruns.noise(session_df=df), "tpot_mean_ms")
    assert (found is not None) == given and (found is None or found.source == noise.HERE)


@pytest.mark.parametrize(("metric", "why"), [
    ("itl_p50_ms", "merged or split on their way, or arrived together"), ("window_throughput_tok_s", "more waves"),
    ("ttft_mean_ms", "measure the point again"),
])  # fmt: skip
def test_a_metric_that_no_run_has_says_why(metric, why):
    of = claimruns.runs("aa").assign(**{metric: pd.NA})
    found = spread(of).set_index("metric")
    assert "No usable run holds this metric" in found.loc[metric, "note"] and why in found.loc[metric, "note"]
    none = spread(of.assign(status="failed"))
    assert none["note"].str.startswith("No run ended well here").all()


def test_the_band_of_one_boot_is_the_methods_until_the_noise_is_measured():
    one = row(spread(claimruns.runs("a", repeats=1)))
    assert one["band_pct"] == pytest.approx(5.0, abs=0.05) and one["sigma_from"] == noise.METHOD
    rough = row(spread(claimruns.runs("a", repeats=9, repeat_sigma=0.08)))
    half = 1.96 * np.sqrt(2 * (0.015**2 + (rough["repeat_sigma_pct"] / 100) ** 2 / 9))
    assert rough["repeat_df"] == 8 and rough["repeat_sigma_pct"] > 3
    assert rough["band_pct"] == pytest.approx(100 * np.sinh(half), rel=1e-3), "its own repeats, which are known"
    known = row(spread(claimruns.runs("a", repeats=1), [claimruns.noise()]))
    assert known["sigma_from"] == noise.REGISTRY


def test_wide_boots_widen_the_band_of_their_own_arm_only():
    wide, calm = claimruns.runs("aa", boot_sigma=0.3, seed=3), claimruns.runs("bb", boot_sigma=0.002, seed=3)
    found = spread(pd.concat([wide, calm], ignore_index=True))
    alone = row(spread(calm))
    assert row(found, arm="b")["band_pct"] == alone["band_pct"] < 6
    mine = row(found, arm="a")
    means = np.log(wide["throughput_tok_s"].astype(float)).groupby(wide["session_id"]).mean()
    assert mine["sigma_from"] == noise.HERE
    assert mine["band_pct"] == pytest.approx(100 * np.sinh(1.96 * means.std() * np.sqrt(1.5)), rel=1e-3)
