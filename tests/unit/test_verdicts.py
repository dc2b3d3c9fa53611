"""Verdicts of tables: which runs stand behind a claim, what lifts it, and what its sentence may say."""

from __future__ import annotations

import re

import frames
import pandas as pd
import pytest
import verdictinput
from benchbook.claims import sentences
from benchbook.claims.levels import (
    CONFOUNDED,
    EQUIVALENT,
    IN_DOUBT,
    ORDER,
    REFUSED,
    SOLID,
    SOLID_SCALE,
    UNREPLICATED,
    WITHIN_NOISE,
)
from benchbook.claims.sentences import number, percent
from benchbook.columns.metrics import METRICS
from hypothesis import given
from hypothesis import strategies as st
from verdictinput import METRIC, booking, comparison, runs, verdict, verdict_table

DIRECTION = re.compile(r"\b(higher|lower|better|worse|faster|slower|times that)\b")


def one_run_with(**changes):
    table = runs()
    for name, value in changes.items():
        table.loc[0, name] = value
    return table


def test_a_solid_effect_says_which_way_by_how_much_and_whether_that_is_good():
    row = verdict(runs())
    assert row["level"] == SOLID and pd.isna(row["because"]) and pd.isna(row["replicate"])
    assert row["sentence"] == "mtp has 4.0 % (3.1 to 4.9 %) lower mean TPOT than base at C=8: better."
    slower = verdict(runs(), effect_pct=4.0)
    assert slower["sentence"] == "mtp has 4.0 % (3.1 to 4.9 %) higher mean TPOT than base at C=8: worse."
    faster = verdict(runs(), effect_pct=4.0, metric="throughput_tok_s", unit="tok/s")
    assert faster["sentence"] == "mtp has 4.0 % (3.1 to 4.9 %) higher throughput than base at C=8: better."


def test_one_session_an_arm_names_what_would_replicate_it():
    row = verdict(runs(1, 3), half_pct=None)
    assert row["level"] == UNREPLICATED and row["because"] == "1 boot of 3"
    assert row["replicate"] == "boot each arm 2 more times (sessions_per_arm: 3)"
    assert row["sentence"] == (
        "Mean TPOT at C=8: mtp 11.04 ms, base 11.50 ms, 1 boot against 1 boot; they may read ±5.0 % apart by noise "
        "alone (taken for this node until its noise is measured), so no difference can be claimed. Next: boot each arm "
        "2 more times (sessions_per_arm: 3)."
    )
    registry = verdict(runs(1, 3), half_pct=None, sigma_from="registry", sigma_df=12.0)
    assert "±5.0 % apart by noise alone (by the registry of such nodes), so" in registry["sentence"]


def test_a_value_of_one_boot_says_where_its_band_comes_from():
    of = runs(1, 3)
    row = {"arm": "mtp", "concurrency": 8, "metric": METRIC, "unit": "ms", "sessions": 1, "runs": 3, "mean": 11.04,
           "range_of": "runs", "band_pct": 4.06, "sigma_from": "registry", "tags": "",
           "run_ids": " ".join(of[of["arm"] == "mtp"]["run_id"])}  # fmt: skip

    def said(row):
        return verdict_table(of, repeatability=[row]).set_index("kind").loc["value", "sentence"]

    assert "another boot may read ±4.1 % from it (by the registry of such nodes)" in said(row)
    taken = said(row | {"sigma_from": "the method's prior"})
    assert "from it (taken for this node until its noise is measured)" in taken


def test_a_tag_is_named_with_the_side_that_carries_it_and_the_boots_are_not_forgotten():
    table = runs(1, 3)
    table.loc[0, "tags"] = "UNWARMED"
    row = verdict(table, half_pct=None)
    assert row["level"] == CONFOUNDED and row["because"] == "UNWARMED (base)" and row["tags"] == "UNWARMED"
    assert row["replicate"].endswith("boot each arm 2 more times (sessions_per_arm: 3)")
    assert "because of UNWARMED (base)" in row["sentence"]


def test_a_missing_run_refuses_what_it_stands_behind():
    table = one_run_with(status="incomplete", tags="INCOMPLETE")
    row = verdict(table)
    assert row["level"] == REFUSED and "INCOMPLETE" in row["because"]
    assert "Next: have the failed runs measured again" in row["sentence"]
    value = {"arm": "base", "concurrency": 8, "metric": METRIC, "unit": "ms", "sessions": 3, "runs": 8, "mean": 11.5,
             "ci_low": 11.4, "ci_high": 11.6, "range_of": "sessions", "tags": "",
             "run_ids": " ".join(table["run_id"][1:9])}  # fmt: skip
    others = {**value, "arm": "mtp", "runs": 9, "run_ids": " ".join(table["run_id"][9:])}
    assert list(verdict_table(table, repeatability=[value, others])["level"]) == [REFUSED, SOLID]


@pytest.mark.parametrize(("throughput", "level"), [(0.0, REFUSED), (-1.0, REFUSED), (None, SOLID), (50.0, SOLID)])
def test_an_ok_run_that_puts_out_nothing_refuses_what_it_stands_behind(throughput, level):
    table = one_run_with(throughput_tok_s=throughput)
    row = verdict(table)
    assert row["level"] == level
    value = {"arm": "base", "concurrency": 8, "metric": METRIC, "unit": "ms", "sessions": 3, "runs": 9, "mean": 11.5,
             "range_of": "sessions", "tags": "", "run_ids": " ".join(table["run_id"][:9])}  # fmt: skip
    others = {**value, "arm": "mtp", "run_ids": " ".join(table["run_id"][9:])}
    assert list(verdict_table(table, repeatability=[value, others])["level"]) == [level, SOLID]
    if level == REFUSED:
        assert "1 run that ended well has a throughput of 0 or less; see the run index" in row["sentence"]


def test_boots_are_not_advised_for_a_metric_that_no_run_gives():
    table = runs()
    value = {"arm": "base", "concurrency": 8, "metric": "itl_p50_ms", "unit": "ms", "sessions": 0, "runs": 0,
             "mean": None, "range_of": "sessions", "tags": "", "run_ids": ""}  # fmt: skip
    (found,) = verdict_table(table, repeatability=[value]).to_dict("records")
    assert found["level"] == REFUSED and found["replicate"] is None
    assert found["sentence"] == "No median ITL can be quoted for base at C=8: no run gives it; see the run index."


def test_little_with_the_wrong_sign_refuses_and_with_the_right_one_does_not():
    impossible = verdict(one_run_with(little="refused", little_delta=0.02))
    assert impossible["level"] == REFUSED and "more requests in flight than clients" in impossible["because"]
    unfilled = verdict(one_run_with(little="refused", little_delta=-0.2, tags="UNSTEADY"))
    assert unfilled["level"] == CONFOUNDED and unfilled["because"] == "UNSTEADY (base)"


def test_two_boots_in_abba_are_enough_when_the_noise_is_known_from_elsewhere():
    two = runs(2, 3)
    assert verdict(two)["level"] == UNREPLICATED
    assert verdict(two, sigma_from="registry", sigma_df=8.0)["level"] == SOLID
    assert verdict(two, sigma_from="registry", sigma_df=7.0)["level"] == UNREPLICATED
    blocked = booking(schedule={"order": "blocked", "sessions_per_arm": 2, "cold_boot": False})
    assert verdict(two, blocked, sigma_from="registry", sigma_df=8.0)["level"] == UNREPLICATED


def test_noise_says_what_the_boots_can_find_and_how_many_would_find_this():
    row = verdict(runs(), effect_pct=-1.5, half_pct=2.5)
    assert row["level"] == WITHIN_NOISE
    assert "cannot be told apart in mean TPOT at C=8 (difference −4.0 to +1.0 %); 3 boots an arm find 3.1 %" \
        in row["sentence"]  # fmt: skip
    boots = int(re.search(r"sessions_per_arm: (\d+)", row["replicate"])[1])
    assert 7 <= boots <= 9, "1.32 sigma at ten, 2.02 at five: sigma is 1 %"


def test_equivalence_gives_its_margin():
    row = verdict(runs(), effect_pct=-0.4, half_pct=0.8)
    assert row["level"] == EQUIVALENT
    assert row["sentence"] == "mtp and base have the same mean TPOT at C=8 within ±2.0 % (difference −1.2 to +0.40 %)."


def test_a_factor_reads_the_same_whichever_side_is_larger():
    up = verdict(runs(1, 1), value=46.0, baseline_value=11.5, effect_pct=300.0, half_pct=None, worst_ratio=3.9)
    down = verdict(runs(1, 1), value=11.5, baseline_value=46.0, effect_pct=-75.0, half_pct=None, worst_ratio=3.9)
    assert up["level"] == down["level"] == SOLID_SCALE
    near = "at C=8 (nearest runs of one boot: 3.900 times)."
    assert up["sentence"] == f"Mean TPOT of mtp is 4.000 times that of base {near}"
    assert down["sentence"] == f"Mean TPOT of base is 4.000 times that of mtp {near}"


@pytest.mark.parametrize(("tag", "metric", "level"), [
    ("STALLED", "tpot_mean_ms", CONFOUNDED), ("THROTTLED", "tpot_mean_ms", SOLID_SCALE),
    ("CACHED", "tpot_mean_ms", SOLID_SCALE), ("CACHED", "ttft_mean_ms", CONFOUNDED),
    ("UNWARMED", "ttft_mean_ms", CONFOUNDED), ("THROTTLED", "ttft_mean_ms", SOLID_SCALE),
])  # fmt: skip
def test_no_factor_is_claimed_of_a_metric_that_the_tag_can_move_so_far(tag, metric, level):
    row = verdict(runs(1, 1, tags=tag), metric=metric, value=46.0, effect_pct=300.0, half_pct=None, worst_ratio=3.9)
    assert row["level"] == level


def test_scale_of_one_arm():
    table = runs(1, 1)
    row = comparison(table, effect_pct=3220.0, half_pct=None, comparison_id="scale/base/throughput_tok_s/c32-c2048",
                     kind="matched session", question="scale", arm="base", metric="throughput_tok_s", unit="tok/s",
                     concurrency=2048, baseline_concurrency=32, family="scale", value=48191.0, baseline_value=1451.5,
                     worst_ratio=33.2)  # fmt: skip
    (found,) = verdict_table(table, comparisons=[row]).to_dict("records")
    assert (found["kind"], found["level"], found["exploratory"]) == ("scale", SOLID_SCALE, False)
    assert found["sentence"] == ("Throughput of base at C=2048 is 33.20 times that of base at C=32 (nearest runs of "
                                 "one boot: 33.20 times).")  # fmt: skip
    row |= {"worst_ratio": 1.4, "value": 2050.0, "effect_pct": 41.2}
    (found,) = verdict_table(table, comparisons=[row]).to_dict("records")
    assert found["level"] == UNREPLICATED and found["replicate"] == "boot the arm 2 more times (sessions_per_arm: 3)"


def test_fit_floor_and_busy_time():
    table = runs()
    ids = " ".join(table["run_id"][:9])
    fit = {"arm": "base", "response": "step", "model": "line", "chosen": True, "points": 9, "levels": 6, "df": 7,
           "t_fixed_ms": 17.0, "t_fixed_low_ms": 16.8, "t_fixed_high_ms": 17.2, "run_ids": ids}  # fmt: skip
    toll = [{"arm": "base", "concurrency": c, "sequences_per_rank": c / 8, "response": "step", "step_ms": 17.1,
             "toll_share": share, "prediction": "held", "run_ids": ids}
            for c, share in ((8, 0.99), (64, 0.9), (2048, 0.48))]  # fmt: skip
    floor = {"arm": "base", "concurrency": 8, "tokens_per_step_node": 8.0, "dense_gb": 7.6, "routed_gb": 7.7,
             "kv_gb": 0.1, "bandwidth_tb_s": 8.0, "floor_ms": 4.0, "floor_weights_ms": 3.9, "step_ms": 17.1,
             "over_floor": 4.275, "over_floor_low": 4.2, "over_floor_high": 4.3, "roofline_tok_s": 2000.0,
             "run_ids": ids}  # fmt: skip
    busy = [{"run_id": run_id, "arm": "base", "concurrency": 8, "step_ms": 17.1, "utilization": 0.51,
             "busy_ms": 8.7, "idle_ms": 8.4} for run_id in ids.split()]  # fmt: skip
    found = verdict_table(table, fixed_cost=[fit], toll=toll, floor=[floor], occupancy=busy)
    assert list(found["level"]) == [SOLID, SOLID_SCALE, SOLID]
    assert list(found["sentence"]) == [
        "base: fixed cost of the decode step 17.00 ms (16.80 to 17.20 ms), 99.0 % of it at C=8, 48.0 % of it at "
        "C=2048.",
        "base at C=8: the decode step takes 4.275 times (4.200 to 4.300) its byte floor of 4.000 ms.",
        "base at C=8: a kernel runs in 51.0 % of the window; 8.400 ms of a decode step are idle.",
    ]
    table.loc[0, "tags"] = "REGIME,TELEM"
    found = verdict_table(table, fixed_cost=[fit], toll=toll, floor=[floor], occupancy=busy)
    assert list(found["level"]) == [REFUSED, SOLID_SCALE, REFUSED]
    assert list(found["because"])[::2] == ["REGIME", "TELEM"]
    said = [verdict_table(runs(), fixed_cost=[fit | {"refused": why}]).iloc[0]["sentence"] for why in
            ("The step falls with more sequences.", "TPOT is too wide.", "C=8 alone.")]  # fmt: skip
    assert [text.partition("for base: ")[2].partition(".")[0] for text in said] == [
        "the step falls with more sequences", "TPOT is too wide", "C=8 alone"]  # fmt: skip
    tagged = runs(tags="CLIENT,UNWARMED")
    quoted = verdict_table(tagged, fixed_cost=[fit]).iloc[0]["sentence"]
    assert "(16.80 to 17.20 ms), to be quoted only with its tags: CLIENT, UNWARMED." in quoted
    near = {**floor, "over_floor": 1.5, "over_floor_low": 1.4, "over_floor_high": 1.6}
    assert list(verdict_table(runs(1, 1), floor=[near | {"run_ids": "base-s1/base_c8_r1"}])["level"]) == [UNREPLICATED]


def test_a_fit_counts_the_boots_that_can_be_fitted_alone():
    table = runs()
    fit = {"arm": "base", "response": "step", "model": "line", "chosen": True, "points": 9, "levels": 6, "df": 7,
           "t_fixed_ms": 17.0, "t_fixed_low_ms": 16.8, "t_fixed_high_ms": 17.2, "sessions": 2,
           "run_ids": " ".join(table["run_id"][:9])}  # fmt: skip
    (found,) = verdict_table(table, fixed_cost=[fit]).to_dict("records")
    assert found["level"] == UNREPLICATED and found["because"] == "2 boots of 3"
    (found,) = verdict_table(table, fixed_cost=[fit | {"sessions": 3}]).to_dict("records")
    assert found["level"] == SOLID


def test_no_claim_without_rows():
    assert verdict_table(runs()).empty


ROW = comparison(runs())


@given(
    st.sampled_from(list(METRICS)), st.sampled_from(ORDER), st.floats(-60, 300).filter(lambda effect: abs(effect) > 1),
    st.floats(0.01, 10), st.sampled_from([sentences.comparison, sentences.scale]),
)  # fmt: skip
def test_no_direction_where_the_level_forbids_one(metric, level, effect_pct, half, say):
    half_pct = half if level != SOLID else min(half, abs(effect_pct) / 2)
    row = ROW | {"metric": metric, "effect_pct": effect_pct, "value": 11.5 * (1 + effect_pct / 100),
                 "holm_low_pct": effect_pct - half_pct, "holm_high_pct": effect_pct + half_pct}  # fmt: skip
    sentence = say(row, level, "UNWARMED (base)", "boot each arm 2 more times")
    assert bool(DIRECTION.search(sentence)) == (level in (SOLID, SOLID_SCALE)), sentence
    assert ("Next: " in sentence) == (level in IN_DOUBT)
    assert "None" not in sentence and "nan" not in sentence
    if level == SOLID and say is sentences.comparison:
        good = (effect_pct > 0) == (METRICS[metric].better == "higher")
        assert sentence.endswith("better." if good else "worse.")


@pytest.mark.parametrize(("value", "shown"), [
    (0.0, "0"), (1451.5, "1,452"), (17.0, "17.00"), (0.0004, "0.0004000"), (-2.5, "−2.500"), (9999.6, "10,000"),
])  # fmt: skip
def test_numbers(value, shown):
    assert number(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(4.04, "4.0"), (0.3, "0.30"), (-0.001, "0"), (33.26, "33.3")])
def test_percentages(value, shown):
    assert percent(value) == shown


def test_the_rows_made_here_pass_the_schema():
    assert len(frames.frame("comparisons", [comparison(runs())])) == 1
    assert verdictinput.booking()["id"] == "night"
