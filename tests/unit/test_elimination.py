"""Elimination: each cause is ruled out only by figures against it, and by nothing that is missing."""

from __future__ import annotations

import frames
import numpy as np
import pandas as pd
import pytest
from benchbook import schema
from benchbook.claims import elimination, occupancy
from benchbook.claims.candidate import NOT_RULED_OUT, RULED_OUT, UNTESTED
from benchbook.claims.estimate import Estimate, of_runs
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = ("compute", "memory bandwidth", "power", "imbalance", "kernel launch", "frontend", "client",
         "prefill interference", "capture fallback")  # fmt: skip
ON_GPUS = NAMES[:5]
WAITING = {"gpu_util_pct": 51.2, "gpu_util_se_pct": 0.4, "gpu_power_share": 0.54, "gpu_power_se_w": 2.0,
           "gpu_power_limit_w": 1100.0, "gpu_throttled_share": 0.0, "gpu_throttle_reasons": None, "gpu_throttled": None,
           "gpu_sm_clock_share": 0.995, "gpu_util_spread_pct": 0.8, "gpu_sm_active_pct": 30.0,
           "gpu_tensor_active_pct": 4.0, "gpu_dram_active_pct": 22.0, "gpu_coverage": 0.99, "gpu_refused": None,
           "window_s": 62.0}  # fmt: skip
COMPUTING = WAITING | {"gpu_util_pct": 98.0, "gpu_power_share": 0.9, "gpu_sm_active_pct": 92.0}


def booking(gpus=8, **server_args):
    return {"clients": ["native"], "node": {"gpus": gpus}, "arms": [{"name": "baseline", "server_args": server_args}],
            "thresholds": {"telemetry_coverage_min": 0.95, "frontend_share_max": 0.1, "client_itl_ratio_max": 1.03}}


def made(watched=WAITING, gpus=8, repeats=3, pure=0.99, graphs=64, **server_args):
    """Tables of a booking whose runs all read `watched`; `pure`: step of pure decode over the mean step."""
    tables = frames.make(("baseline",), gpu=bool(gpus), failures=False, repeats=repeats, concurrency=(8, 32))
    for name, value in watched.items() if gpus else ():
        tables["telemetry"][name] = pd.array([value] * len(tables["telemetry"]), dtype=tables["telemetry"][name].dtype)
    runs, sessions = tables["runs"], tables["sessions"]
    runs["itl_pure_p50_ms"] = pure * runs["tpot_mean_ms"]
    sessions["graph_tokens_max"] = pd.array([graphs] * len(sessions), dtype="Int64")
    return tables, booking(gpus, **server_args)


def judged(tables, about, **others):
    frame = elimination.table(
        *(tables[name] for name in ("runs", "telemetry", "client", "scheduler")),
        occupancy.table(tables["runs"], tables["telemetry"], about),
        *(others.get(name, schema.empty(name)) for name in ("fixed_cost", "toll", "floor")),
        tables["sessions"], about,
    )  # fmt: skip
    assert list(frame["candidate"]) == list(NAMES)
    ruled_out = frame[frame["outcome"] == RULED_OUT]
    assert ruled_out["measurement"].notna().all() and not ruled_out["gate"].str.contains("failed").any()
    assert (frame["measurement"].isna() == (frame["outcome"] == UNTESTED)).all()
    assert frame["why"].str.endswith(".").all()
    return frame.set_index("candidate")


def outcomes(*arguments, **others):
    return judged(*arguments, **others)["outcome"].to_dict()


def test_a_waiting_server_is_held_back_by_none_of_what_was_measured():
    frame = judged(*made())
    assert frame["outcome"].to_dict() == {name: RULED_OUT for name in NAMES} | {"kernel launch": NOT_RULED_OUT}
    assert (frame["concurrency"] == 32).all() and (frame["run_ids"].str.split().map(len) == 6).all()
    assert "utilization 51.2 % (SE 0.16)" in frame.loc["compute", "measurement"]


@pytest.mark.parametrize(("changes", "name"), [
    (COMPUTING, "compute"), (WAITING | {"gpu_util_pct": 85.0}, "compute"),
    (WAITING | {"gpu_util_pct": 69.0, "gpu_util_se_pct": 2.0}, "compute"),
    (WAITING | {"gpu_power_share": 0.69, "gpu_power_se_w": 30.0}, "compute"),
    (WAITING | {"gpu_dram_active_pct": 81.0}, "memory bandwidth"),
    (WAITING | {"gpu_power_share": 0.92}, "power"), (WAITING | {"gpu_throttled": "power brake"}, "power"),
    (WAITING | {"gpu_throttled_share": None}, "power"), (WAITING | {"gpu_sm_clock_share": 0.9}, "power"),
    (WAITING | {"gpu_util_spread_pct": 7.0}, "imbalance"),
    (WAITING | {"gpu_util_spread_pct": 4.9, "gpu_util_se_pct": 3.0}, "imbalance"),
    (COMPUTING | {"gpu_sm_active_pct": 20.0}, "kernel launch"),
])  # fmt: skip
def test_what_points_to_a_cause_or_lies_within_its_error_keeps_it(changes, name):
    assert outcomes(*made(changes))[name] == NOT_RULED_OUT


def test_busy_gpus_rule_launches_out():
    assert outcomes(*made(COMPUTING))["kernel launch"] == RULED_OUT


def test_gpus_joined_by_collectives_read_busy_while_they_wait():
    frame = judged(*made(**{"tensor-parallel-size": 8}))
    assert frame.loc["imbalance", "outcome"] == NOT_RULED_OUT
    assert "tensor-parallel-size joins them" in frame.loc["imbalance", "gate"]


def test_a_node_without_gpu_leaves_their_causes_untested_with_the_reason():
    frame = judged(*made(gpus=0, graphs=None))
    assert (frame.loc[[*ON_GPUS, "capture fallback"], "outcome"] == UNTESTED).all()
    assert frame.loc[[*ON_GPUS, "capture fallback"], "why"].str.contains("has no GPU").all()
    assert (frame.loc[["frontend", "client", "prefill interference"], "outcome"] == RULED_OUT).all()


@pytest.mark.parametrize(("name", "columns", "causes"), [
    ("telemetry", ["gpu_refused"], ON_GPUS), ("scheduler", ["outside_share"], ["frontend"]),
    ("client", ["itl_ratio"], ["client"]), ("runs", ["itl_pure_p50_ms"], ["prefill interference"]),
    ("sessions", ["graph_tokens_max"], ["capture fallback"]),
])  # fmt: skip
def test_absence_of_data_rules_nothing_out(name, columns, causes):
    tables, about = made()
    for column in columns:
        tables[name][column] = pd.array(["coverage 0.58 < 0.95" if column == "gpu_refused" else None]
                                        * len(tables[name]), dtype=tables[name][column].dtype)  # fmt: skip
    found = outcomes(tables, about)
    assert all(found[cause] == UNTESTED for cause in causes)


def test_one_run_without_blocks_has_no_error_and_rules_nothing_out():
    tables, about = made(WAITING | {"gpu_util_se_pct": None, "gpu_power_se_w": None}, repeats=1)
    once = tables["runs"]["slot"] == "s1"
    tables["runs"] = tables["runs"][once]
    found = judged(tables, about)
    assert set(found["outcome"].drop("capture fallback")) == {NOT_RULED_OUT}
    assert "no standard error" in found.loc["compute", "measurement"]


def test_tagged_runs_are_left_for_a_lower_concurrency_and_named():
    tables, about = made()
    high = tables["runs"]["concurrency"] == 32
    tables["runs"].loc[high, "tags"] = "CLIENT"
    frame = judged(tables, about)
    assert set(frame["concurrency"]) == {8}
    assert frame.loc["client", "outcome"] == RULED_OUT
    assert frame.loc["client", "why"].endswith("At concurrency 32 runs carry CLIENT.")
    tables["runs"]["tags"] = "UNSTEADY,UNWARMED"
    frame = judged(tables, about)
    assert RULED_OUT not in set(frame["outcome"])
    assert frame.loc["compute", "gate"].startswith("the runs carry no tag (they carry UNSTEADY, UNWARMED): failed")


def test_a_cause_is_not_ruled_out_by_the_runs_that_lack_its_tag_beside_one_that_carries_it():
    tables, about = made()
    runs = tables["runs"]
    runs.loc[runs.index[runs["concurrency"] == 32][0], "tags"] = "UNWARMED,CLIENT"
    frame = judged(tables, about)
    assert set(frame["concurrency"].dropna()) == {32}
    assert frame.loc["client", "outcome"] == NOT_RULED_OUT and frame.loc["frontend", "outcome"] == RULED_OUT
    assert frame.loc["client", "why"].startswith("CLIENT is on 1 of 6 runs at this concurrency")


def test_a_saturated_client_and_a_stuck_frontend_are_kept():
    tables, about = made()
    tables["client"]["saturated"] = pd.array(["it used 0.97 of a core"] * len(tables["client"]), dtype="string")
    tables["scheduler"]["frontend"] = pd.array([True] * len(tables["scheduler"]), dtype="boolean")
    found = outcomes(tables, about)
    assert found["client"] == found["frontend"] == NOT_RULED_OUT


def test_prefill_that_lengthens_the_mean_step_is_kept():
    assert outcomes(*made(pure=0.9))["prefill interference"] == NOT_RULED_OUT


@pytest.mark.parametrize(("graphs", "server_args", "outcome"), [
    (32, {}, RULED_OUT), (31, {}, NOT_RULED_OUT), (8, {"data-parallel-size": 8}, RULED_OUT),
    (7, {"data-parallel-size": 8}, NOT_RULED_OUT), (64, {"speculative-config": "{}"}, NOT_RULED_OUT),
    (64, {"enforce-eager": True}, NOT_RULED_OUT),
])  # fmt: skip
def test_capture_is_ruled_out_by_the_most_that_a_rank_can_hold(graphs, server_args, outcome):
    assert outcomes(*made(graphs=graphs, **server_args))["capture fallback"] == outcome


@pytest.mark.parametrize(("over", "low", "high", "outcome"), [
    (9.0, 8.5, 9.5, RULED_OUT), (2.2, 1.0, 3.4, NOT_RULED_OUT), (1.4, 1.39, 1.41, NOT_RULED_OUT),
    (9.0, None, None, NOT_RULED_OUT),
])  # fmt: skip
def test_the_byte_floor_speaks_where_dram_is_not_read(over, low, high, outcome):
    tables, about = made(WAITING | {"gpu_dram_active_pct": None})
    here = tables["runs"][tables["runs"]["concurrency"] == 32]
    floor = frames.frame("floor", [{
        "arm": "baseline", "concurrency": 32, "tokens_per_step_node": 32.0, "dense_gb": 1.0, "routed_gb": 1.0,
        "kv_gb": 1.0, "bandwidth_tb_s": 8.0, "floor_ms": 1.9, "floor_weights_ms": 1.8, "over_floor": over,
        "over_floor_low": low, "over_floor_high": high, "roofline_tok_s": 1e4, "run_ids": " ".join(here["run_id"]),
    }])  # fmt: skip
    assert outcomes(tables, about, floor=floor)["memory bandwidth"] == outcome


def test_an_arm_without_a_usable_run_is_untested():
    tables, about = made()
    tables["runs"]["status"] = "failed"
    assert set(outcomes(tables, about).values()) == {UNTESTED}


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=9), st.floats(0, 0.2))
def test_what_is_below_a_bound_is_so_by_three_errors(values, se):
    estimate = of_runs(values, [se] * len(values), [4] * len(values))
    assert estimate is not None and estimate.se is not None
    assert estimate.value == pytest.approx(np.mean(values))
    bound = estimate.value + 3 * estimate.se
    assert not estimate.below(bound) and not estimate.above(estimate.value - 3 * estimate.se)
    assert estimate.reach >= se / np.sqrt(len(values)) * 3 - 1e-12
    assert not (estimate.below(bound) and estimate.above(bound))


def test_no_error_excludes_nothing():
    assert not Estimate(0.1).below(1e9) and not Estimate(0.1).above(-1e9)
    assert of_runs([]) is None
