"""From simulated runs of known truth over concurrency to the fixed cost, its share and its refusals (method.md 6)."""

from __future__ import annotations

from functools import cache

import frames
import numpy as np
import pandas as pd
import pytest
import simulated
from benchbook import schema
from benchbook.claims import byte_floor, fixed_cost, steps, toll

LEVELS = (2, 4, 8, 16, 24, 32, 64)
T_FIXED = 17.0
NO_FLOOR = schema.empty("floor")


@cache
def told():
    return simulated.booking(max_num_seqs=256)


@cache
def of_line():
    return simulated.measured(told(), LEVELS, t_fixed_ms=T_FIXED, c_ms=0.06)


@cache
def of_hinge():
    return simulated.measured(told(), LEVELS, t_fixed_ms=T_FIXED, c_ms=0.08, hinge=14.0, seed=1)


def points(tables, booking=None):
    return steps.table(tables["runs"], tables["scheduler"], tables["sessions"], booking or told())


def fits(tables, booking=None):
    found = fixed_cost.table(points(tables, booking), NO_FLOOR, booking or told())
    return found.set_index(["response", "model"])


def shares(tables, booking=None):
    found = points(tables, booking)
    costs = fixed_cost.table(found, NO_FLOOR, booking or told())
    return toll.table(found, costs, NO_FLOOR, booking or told()).set_index("concurrency")


def with_runs(tables, **columns):
    return tables | {"runs": tables["runs"].assign(**columns)}


def test_a_linear_truth_is_inside_the_intervals():
    found = fits(of_line())
    step, mean_tpot = found.loc[("step", "line")], found.loc[("tpot", "line")]
    assert step["chosen"] and mean_tpot["chosen"] and pd.isna(step["refused"])
    assert step["t_fixed_low_ms"] <= T_FIXED <= step["t_fixed_high_ms"]
    assert step["slope_low_ms"] <= 0.06 <= step["slope_high_ms"]
    assert step["half_point_low"] <= T_FIXED / 0.06 <= step["half_point_high"]
    assert step["asymptote_low_tok_s"] <= 1000 / 0.06 <= step["asymptote_high_tok_s"]
    assert (step["points"], step["levels"], step["df"]) == (21, 7, 19)
    assert mean_tpot["slope_ms"] > 1.1 * step["slope_ms"]  # the prefill of others is inside it


def test_a_hinge_is_found_and_inside_the_intervals():
    found = fits(of_hinge()).loc["step"]
    bent = found.loc["hinge"]
    assert bent["chosen"] and bent["p_better_than_line"] < 0.05 and pd.isna(bent["refused"])
    assert bent["t_fixed_low_ms"] <= T_FIXED <= bent["t_fixed_high_ms"]
    assert bent["slope_low_ms"] <= 0.08 <= bent["slope_high_ms"]
    assert bent["hinge"] == pytest.approx(14, abs=6)
    assert found.loc["line", "t_fixed_ms"] < bent["t_fixed_ms"]


def test_the_share_and_the_prefill_of_others():
    found = shares(of_line())
    row = found.loc[64]
    assert row["toll_share_low"] <= T_FIXED / (T_FIXED + 0.06 * row["sequences_per_rank"]) <= row["toll_share_high"]
    assert found["toll_share"].is_monotonic_decreasing
    interference = found.loc[[16, 24, 32, 64], "prefill_interference_ms"]
    assert (interference > 0).all() and interference.is_monotonic_increasing
    assert (found["prediction"] == "held").sum() >= 5 and found["refused"].isna().all()


def test_what_is_held_out_beyond_twice_the_rest_is_not_predicted():
    runs = of_line()["runs"]
    found = shares(of_line() | {"runs": runs[runs["concurrency"].isin([2, 4, 8, 16, 64])].reset_index(drop=True)})
    assert found.loc[64, "prediction"] == "extrapolated" and pd.isna(found.loc[64, "predicted_ms"])
    assert found.loc[8, "prediction"] in ("held", "failed")


@cache
def beyond_the_graphs():
    return simulated.measured(told(), (2, 4, 8, 16, 64), graph_tokens_max=48, t_fixed_ms=T_FIXED, c_ms=0.06, seed=2,
                              per_level={64: {"graph_max": 48, "eager_factor": 1.6}})  # fmt: skip


def test_steps_beyond_the_largest_graph_are_tagged_and_nothing_is_said_of_them():
    tables = beyond_the_graphs()
    runs = tables["runs"]
    assert runs["tags"].str.contains("REGIME").tolist() == [level == 64 for level in runs["concurrency"]]
    step = fits(tables).loc[("step", "line")]
    assert step["chosen"] and pd.isna(step["refused"]) and step["levels"] == 4
    assert step["t_fixed_low_ms"] <= T_FIXED <= step["t_fixed_high_ms"]
    assert "64 tokens a rank and the largest captured graph 48" in step["note"]
    row = shares(tables).loc[64]
    assert "another regime" in row["refused"] and pd.isna(row["toll_share"]) and row["prediction"] == "not tried"
    assert row["step_ms"] > 1.5 * (T_FIXED + 0.06 * 64)


def test_steps_beyond_the_graphs_of_an_arm_that_is_eager_by_design_are_of_one_regime():
    eager = simulated.booking(enforce_eager=True)
    tables = simulated.measured(eager, (2, 4), graph_tokens_max=None, repeats=1, c_ms=0.06)
    assert not tables["runs"]["tags"].str.contains("REGIME").any()


def test_preemption_among_the_fitted_concurrencies_refuses_the_fit():
    tables = simulated.measured(told(), (2, 4, 8, 16, 32), repeats=2, t_fixed_ms=T_FIXED, c_ms=0.06, seed=3,
                                per_level={8: {"kv_tokens": 2300}})  # fmt: skip
    runs = tables["runs"]
    assert runs["tags"].str.contains("REGIME").tolist() == [level == 8 for level in runs["concurrency"]]
    found = fits(tables)
    assert found["refused"].str.contains("At concurrency 8 the engine preempted").all()
    assert shares(tables)["refused"].str.contains("preempted").all()


def test_a_queue_in_the_engine_refuses_too():
    queued = of_line()["scheduler"].copy()
    queued.loc[queued["concurrency"] == 16, "waiting_p50"] = 5.0
    assert fits(of_line() | {"scheduler": queued})["refused"].str.contains("5 requests waited").all()


def test_tpot_that_differs_among_requests_keeps_a_run_out():
    runs = of_line()["runs"]
    tables = with_runs(of_line(), tpot_p90_ms=runs["tpot_mean_ms"] * [1.2 if c == 16 else 1.0
                                                                      for c in runs["concurrency"]],
                       tpot_p99_ms=None)  # fmt: skip
    assert fits(tables)["refused"].str.contains("p90 of TPOT is 1.200 times its mean").all()


def test_two_concurrencies_without_repeats_refuse():
    """54 + 30 n from 84 and 536 ms: no degree of freedom is left and no interval can be had from the data."""
    runs = of_line()["runs"]
    two = runs[(runs["repeat"] == 1) & runs["concurrency"].isin([2, 16])].reset_index(drop=True)
    found = fits(of_line() | {"runs": two}).loc["step"]
    assert found.loc["line", "df"] == 0 and pd.isna(found.loc["line", "t_fixed_ms"])
    assert found["refused"].str.contains("2 concurrencies cannot show how the step grows").all()


def test_a_curve_is_refused_for_lack_of_fit():
    runs = of_line()["runs"]
    curved = with_runs(of_line(), itl_pure_p50_ms=runs["itl_pure_p50_ms"] * (1 + (runs["concurrency"] / 64) ** 2))
    found = fits(curved).loc["step"]
    assert "leave the line by more than repeats differ" in found.loc["line", "refused"]


def test_a_curve_is_refused_without_repeats_too():
    """The steps of the recorded mixture of experts: concave, as more sequences read more experts until all are read."""
    runs = of_line()["runs"]
    once = runs[(runs["repeat"] == 1) & runs["concurrency"].isin([2, 8, 16, 32, 64])].reset_index(drop=True)
    found = fits(with_runs(of_line() | {"runs": once}, itl_pure_p50_ms=[4.0, 9.04, 15.62, 17.89, 18.98])).loc["step"]
    assert "% off the line" in found.loc["line", "refused"] and pd.isna(found.loc["line", "p_lack_of_fit"])
    share = shares(with_runs(of_line() | {"runs": once}, itl_pure_p50_ms=[4.0, 9.04, 15.62, 17.89, 18.98]))
    assert share["refused"].notna().all() and share["toll_share"].isna().all() and share["predicted_ms"].isna().all()


def test_a_step_that_does_not_grow_may_be_quoted_as_flat_only():
    runs = of_line()["runs"]
    level = pd.Series([17.0, 17.1, 16.9] * 7, index=runs.index)
    found = fits(with_runs(of_line(), itl_pure_p50_ms=level)).loc["step"]
    assert found.loc["flat", "chosen"] and pd.isna(found.loc["flat", "refused"])
    assert "includes 0" in found.loc["line", "refused"]
    share = shares(with_runs(of_line(), itl_pure_p50_ms=level)).loc[64]
    assert share["toll_share"] == 1 and 0.9 < share["toll_share_low"] < 1


def test_tokens_per_step_that_change_with_concurrency_refuse():
    runs = of_line()["runs"]
    varying = with_runs(of_line(), tokens_per_step=[1.5 if c > 8 else 1.6 for c in runs["concurrency"]])
    assert fits(varying)["refused"].str.contains("from 1.50 to 1.60: measure without").all()


def test_the_median_of_all_itls_stands_in_and_says_so():
    few = with_runs(of_line(), itl_pure_p50_ms=pd.NA)
    assert set(points(few)["step_from"]) == {"all"}
    assert "median of all ITLs" in fits(few).loc[("step", "line"), "note"]


def test_few_concurrencies_or_repeats_are_shown_with_a_note():
    runs = of_line()["runs"]
    few = runs[(runs["repeat"] < 3) & runs["concurrency"].isin([2, 8, 32, 64])].reset_index(drop=True)
    step = fits(of_line() | {"runs": few}).loc[("step", "line")]
    assert pd.isna(step["refused"]) and pd.notna(step["t_fixed_ms"])
    assert "4 concurrencies of the 6" in step["note"] and "As few as 2 runs" in step["note"]
    assert "one session" in step["note"]


def test_speculation_makes_a_step_of_several_tokens():
    """E of the oracle: a 1.70, the step 20 ms; the time between two chunks is one step, TPOT a 1.7th of it."""
    speculative = simulated.booking(speculative_config={"num_speculative_tokens": 1})
    tables = simulated.measured(speculative, (8,), repeats=1, run_sigma=0.0, t_fixed_ms=20.0, c_ms=0.0, p_ms=0.0,
                                spec_depth=1, spec_p=0.7, step_sigma=0.0, lout=200)  # fmt: skip
    row = points(tables, speculative).iloc[0]
    assert row["step_ms"] == pytest.approx(20.0, rel=0.02) and row["tpot_step_ms"] == pytest.approx(20.0, rel=0.02)
    assert row["tokens_per_step"] == pytest.approx(1.7, abs=0.05)
    assert row["tokens_per_step_node"] == pytest.approx(2 * 8, rel=0.05)


def of_boots(random, sigma, boots=3):
    """Table `steps` of a line of 3 ms + 0.4 ms a sequence, which each boot multiplies."""
    rows = []
    for boot in range(boots):
        factor = np.exp(random.normal(0, sigma))
        for c in (1, 2, 4, 8, 16, 32):
            for repeat in range(3):
                step_ms = (3 + 0.4 * c) * factor * np.exp(random.normal(0, 0.005))
                rows.append({
                    "run_id": f"s{boot}/base_c{c}_r{repeat}", "session_id": f"s{boot}", "arm": "base", "concurrency": c,
                    "ranks": 1, "sequences_per_rank": c, "tpot_sequences_per_rank": c, "tokens_per_step": 1.0,
                    "step_ms": step_ms, "step_from": "pure", "tpot_step_ms": step_ms, "tokens_per_step_node": c,
                    "tags": "",
                })  # fmt: skip
    return frames.frame("steps", rows)


def test_a_fixed_cost_over_boots_covers_at_its_level_and_not_at_that_of_runs():
    """With runs taken for replicates six of ten intervals hold it."""
    random, held, booking = np.random.default_rng(0), [], {"arms": [{"name": "base"}]}
    for _ in range(60):
        found = fixed_cost.table(of_boots(random, 0.015), NO_FLOOR, booking).set_index(["response", "model"])
        line = found.loc[("step", "line")]
        held.append(line["t_fixed_low_ms"] <= 3 <= line["t_fixed_high_ms"])
        assert line["slope_low_ms"] < line["slope_ms"] < line["slope_high_ms"]
    assert np.mean(held) >= 0.85
    one = fixed_cost.table(of_boots(random, 0.015, boots=1), NO_FLOOR, booking).set_index(["response", "model"])
    assert one.loc[("step", "line"), "t_fixed_high_ms"] - one.loc[("step", "line"), "t_fixed_low_ms"] < 0.06


def test_sessions_that_share_no_concurrency_are_no_boots_of_a_fit():
    of = of_boots(np.random.default_rng(0), 0.015, boots=6)
    split = of[of["concurrency"] == of["session_id"].str.removeprefix("s").astype(int).map(lambda s: 2**s)]
    found = fixed_cost.table(split, NO_FLOOR, {"arms": [{"name": "base"}]}).set_index(["response", "model"])
    line = found.loc[("step", "line")]
    assert line["levels"] == 6 and line["sessions"] == 0
    assert "0 of 6 sessions can be fitted alone" in line["note"] and "each session" in line["note"]
    whole = fixed_cost.table(of, NO_FLOOR, {"arms": [{"name": "base"}]}).set_index(["response", "model"])
    assert whole.loc[("step", "line"), "sessions"] == 6 and pd.isna(whole.loc[("step", "line"), "note"])


def test_one_concurrency_beside_one_of_another_regime_says_where_that_went():
    runs = beyond_the_graphs()["runs"]
    two = runs[runs["concurrency"].isin([8, 64])].reset_index(drop=True)
    found = fits(beyond_the_graphs() | {"runs": two}).loc["step"]
    told = "1 concurrency, with others left out (at concurrency 64 "
    assert found["refused"].str.startswith(told).all() and not found["note"].str.contains("Left out").any()


def test_fewer_points_than_parameters_have_no_degrees_of_freedom():
    runs = of_line()["runs"]
    found = fits(of_line() | {"runs": runs.iloc[:1]}).loc["step"]
    assert found.loc["flat", "df"] == 0 and found.loc[["line", "hinge"], "df"].isna().all()


def test_a_step_of_zero_is_no_point_of_a_fit():
    of_steps = points(of_line())
    of_steps.loc[of_steps.index[0], "step_ms"] = 0.0
    found = fixed_cost.table(of_steps, NO_FLOOR, told()).set_index(["response", "model"])
    assert found.loc[("step", "line"), "points"] == len(of_steps) - 1 == found.loc[("tpot", "line"), "points"] - 1
    assert found.loc[("step", "line"), "t_fixed_ms"] == pytest.approx(T_FIXED, rel=0.02)


def test_no_runs_make_empty_tables():
    none = of_line() | {"runs": of_line()["runs"].iloc[:0]}
    found = points(none)
    costs = fixed_cost.table(found, NO_FLOOR, told())
    assert len(found) == len(costs) == len(toll.table(found, costs, NO_FLOOR, told())) == 0


def of_experts(t_fixed_ms, slope_ms, repeats=3, sigma=0.01, levels=(1, 4, 16, 64, 128, 256)):
    """Tables `steps` and `floor` of a mixture of experts whose step is t_fixed + its byte floor + slope n."""
    random = np.random.default_rng(4)
    floors = {c: byte_floor.floor_ms(2 + 58 * byte_floor.coverage(8, 128, c), 4.3) for c in levels}
    key = {"arm": "a", "ranks": 1, "step_from": "pure", "tokens_per_step": 1.0, "tags": ""}
    rows = [
        {**key, "run_id": f"s{repeat}/c{c}", "session_id": f"s{repeat}", "concurrency": c,
         "sequences_per_rank": float(c),
         "step_ms": (t_fixed_ms + floors[c] + slope_ms * c) * (1 + sigma * random.standard_normal())}
        for c in levels for repeat in range(repeats)
    ]  # fmt: skip
    least = [{"arm": "a", "concurrency": c, "tokens_per_step_node": c, "dense_gb": 2.0, "routed_gb": 0.0, "kv_gb": 0.0,
              "bandwidth_tb_s": 4.3, "floor_ms": floors[c], "floor_weights_ms": floors[c], "roofline_tok_s": 1.0,
              "run_ids": ""} for c in levels]  # fmt: skip
    return frames.frame("steps", rows), frames.frame("floor", least)


def test_a_mixture_of_experts_has_its_fixed_cost_over_its_byte_floor():
    steps_of, floor = of_experts(2.7, 0.01)
    costs = fixed_cost.table(steps_of, floor, told())
    chosen = costs[costs["chosen"]].set_index("response")
    assert pd.notna(chosen.loc["step", "refused"]), "the step bends as experts are covered, and is no line"
    over = chosen.loc["over floor"]
    assert over["model"] == "line" and pd.isna(over["refused"]) and pd.isna(over["asymptote_tok_s"])
    assert over["t_fixed_low_ms"] <= 2.7 <= over["t_fixed_high_ms"] < 3
    assert over["slope_low_ms"] <= 0.01 <= over["slope_high_ms"]
    found = toll.table(steps_of, costs, floor, told()).set_index("concurrency")
    assert set(found["response"]) == {"over floor"} and found["refused"].isna().all()
    for c, row in found.iterrows():
        assert row["toll_share_low"] <= 2.7 / (2.7 + row["floor_ms"] + 0.01 * c) <= row["toll_share_high"]
    assert (found["prediction"] == "held").sum() >= 5


def test_where_the_step_is_a_line_the_share_is_taken_from_it():
    found = points(of_line())
    floor = of_experts(0, 0, levels=LEVELS)[1].assign(floor_ms=1.0)
    costs = fixed_cost.table(found, floor, told())
    shares_of = toll.table(found, costs, floor, told())
    assert set(shares_of["response"]) == {"step"}
    fixed = costs[costs["model"] == "line"].set_index("response")["t_fixed_ms"]
    assert fixed["step"] - fixed["over floor"] == pytest.approx(1.0, abs=1e-6), "a constant floor is part of it"
