"""Anomalies: what the simulator or a table holds is found with its figures, clean runs give none."""

from __future__ import annotations

import frames
import numpy as np
import pandas as pd
import pytest
from benchbook.claims import anomalies, evidence
from benchbook.claims.usable import usable
from benchbook.derive import runs as runs_of
from benchforms import oracle
from hypothesis import given, settings
from hypothesis import strategies as st

BOOKING = {"arms": [{"name": "baseline"}], "clients": ["native"]}
NO_TELEMETRY = frames.frame("telemetry", [])
T0 = 1.7e9
THRESHOLDS = {"little_pass": 0.01, "little_warn": 0.03, "steady_window_min_s": 30.0, "steady_window_min_e2el": 2.0}


def requests_of(run):
    about = {"run_id": f"a/baseline_c{run.cfg.concurrency}_r1", "session_id": "a", "slot": "s1", "arm": "baseline",
             "concurrency": run.cfg.concurrency, "repeat": 1}
    return frames.frame("requests", [{
        **about, "request": index, "ok": record["ok"], "t_send_s": T0 + record["t_send"],
        "t_first_s": T0 + record["t_first"], "t_last_s": T0 + record["t_last"], "prompt_tokens": record["n_prompt"],
        "output_tokens": record["n_out"], "requested_output_tokens": record["n_out"], "chunks": record["n_chunks"],
        "ttft_ms": 1000 * record["ttft"], "e2el_ms": 1000 * record["e2el"], "tpot_ms": 1000 * record["tpot"],
        "itl_ms": [1000 * gap for gap in record["itl"]],
    } for index, record in enumerate(run.records)])  # fmt: skip


def measured(**config):
    """Tables runs and requests of one simulated run, the row of `runs` made as the pipeline makes it."""
    run = oracle.simulate(oracle.Config(**{"c_ms": 0.0, "keep_itl": True, **config}))
    requests = requests_of(run)
    count, concurrency = len(run.records), run.cfg.concurrency
    record = {"run": f"baseline_c{concurrency}_r1", "arm": "baseline", "concurrency": concurrency, "repeat": 1,
              "num_prompts": count, "status": "ok", "reason": None, "t_start_s": T0,
              "t_end_s": T0 + run.truth["duration_s"], "client_name": "native"}
    spec = {"slot": "s1", "arm": "baseline", "spec_hash": "x"}
    row = runs_of.row("a", spec, record, run.truth["duration_s"], requests, counted=None, late_work=0,
                      tokens_from="usage", warmup_verdict="CONVERGED", expected_failure=False, busy_until_s=None,
                      thresholds=THRESHOLDS)
    return frames.frame("runs", [row]), requests


def found(runs, requests=None, telemetry=NO_TELEMETRY):
    rows, points = anomalies.tables(runs, frames.frame("requests", []) if requests is None else requests, telemetry,
                                    BOOKING)
    assert set(points["anomaly_id"]) <= set(rows["anomaly_id"]) and rows["anomaly_id"].is_unique
    return rows, points


def sweep(values, metric="ttft_mean_ms", concurrency=(8, 16), repeats=1):
    """Runs of one arm: `values` of `metric`, by concurrency and then repeat."""
    made = frames.make(("baseline",), failures=False, boots=1, repeats=repeats, concurrency=concurrency)
    runs = made["runs"].sort_values(["concurrency", "repeat"], kind="stable").reset_index(drop=True)
    for name in ("throughput_tok_s", "tpot_mean_ms"):
        runs[name] = 100.0
    runs[metric] = pd.array(values, dtype="Float64")
    return runs


def test_a_stall_of_five_seconds_is_found():
    runs, requests = measured(concurrency=8, num_prompts=32, lout=128, t_fixed_ms=17.2, p_ms=0.115,
                              stalls=((4.639, 4.87),))
    assert anomalies.needed(runs) == set(runs["run_id"])
    rows, points = found(runs, requests)
    stall = rows.set_index("kind").loc["stall"]
    told = "8 of 32 requests stood still; the longest TTFT was 5.00 s against a median of 135"
    assert stall["found"].startswith(told)
    assert stall["size"] == pytest.approx(5.00496, abs=1e-3) and stall["size_unit"] == "s"
    marked = points[points["marked"]]
    assert len(marked) == 8 and (marked["series"] == evidence.TTFT).all() and marked["y"].min() > 4800
    assert marked["x"].between(4, 5).all()


def test_a_stall_amid_decoding_is_told_as_a_gap():
    runs, requests = measured(concurrency=8, num_prompts=32, lout=128, t_fixed_ms=17.2, stalls=((1.0, 5.0),))
    rows, points = found(runs, requests)
    assert "the longest time between two chunks was 5.02 s" in rows["found"].item()
    assert rows["metric"].item() == "tpot_mean_ms"
    assert set(points.loc[points["marked"], "series"]) == {evidence.GAP}


def test_two_groups_of_ttft_are_found_and_void_it():
    runs, requests = measured(concurrency=32, num_prompts=256, lout=128, lout_spread=0.3, t_fixed_ms=17.2, p_ms=0.01,
                              admit_stalls=tuple((3.0 + 2.5 * n, 0.5) for n in range(6)))
    rows, points = found(runs, requests)
    row = rows.set_index("kind").loc["bimodal"]
    assert row["voids"] == "ttft_mean_ms" and row["size"] == pytest.approx(runs["ttft_mode_ratio"].item())
    counts = points[points["anomaly_id"] == row["anomaly_id"]]["series"].value_counts()
    assert counts[evidence.FIRST_WAVE] == 32 and counts.sum() == 256
    assert counts[evidence.SLOW] / 224 == pytest.approx(runs["ttft_slow_share"].item(), abs=0.1)
    of_slow, of_fast = (points.loc[points["series"] == name, "y"] for name in (evidence.SLOW, evidence.FAST))
    assert of_slow.min() > of_fast.max()


@pytest.mark.parametrize("config", [
    {"concurrency": 8, "num_prompts": 32, "lout": 128, "t_fixed_ms": 17.2, "p_ms": 0.115},
    {"concurrency": 32, "num_prompts": 256, "lout": 128, "lout_spread": 0.1, "step_sigma": 0.02},
])  # fmt: skip
def test_a_clean_run_gives_no_anomaly(config):
    runs, requests = measured(**config)
    assert len(usable(runs, BOOKING["clients"])) == 1
    rows, points = found(runs, requests)
    assert rows.empty and points.empty


def test_a_clean_booking_gives_no_anomaly():
    tables = frames.make(("baseline",), failures=False)
    rows, points = found(tables["runs"])
    assert rows.empty and points.empty


def test_a_result_without_requests_still_tells_its_stalls():
    runs = sweep([100.0, 100.0])
    runs.loc[0, "stalls"] = 3
    rows, points = found(runs)
    assert rows["found"].item() == "3 of 64 requests stood still." and pd.isna(rows["size"].item()) and points.empty


@pytest.mark.parametrize(("low_ms", "high_ms", "flagged"), [(1008, 679, True), (1.21, 1, True), (1.2, 1, False),
                                                            (500, 600, False)])  # fmt: skip
def test_ttft_must_not_fall_with_load(low_ms, high_ms, flagged):
    rows, points = found(sweep([low_ms, high_ms]))
    assert len(rows) == flagged
    if flagged:
        assert rows["concurrency"].item() == 8 and rows["size"].item() == pytest.approx(low_ms / high_ms)
        assert set(points.loc[points["marked"], "x"]) == {8.0} and pd.isna(rows["run_id"].item())


@pytest.mark.parametrize("metric", anomalies.REPEATED)
def test_a_repeat_off_the_others_is_found(metric):
    values = [100.0, 100.5, 99.6, 104.0, 100.2]
    rows, points = found(sweep(values, metric, (8,), repeats=5))
    assert rows["kind"].item() == "outlier repeat" and rows["metric"].item() == metric
    assert rows["size"].item() == pytest.approx(100 * (104 / 100.2 - 1))
    assert points.loc[points["marked"], "x"].item() == 4 and rows["run_id"].item().endswith("r4")


def test_repeats_that_spread_widely_have_no_outlier_within_their_spread():
    assert found(sweep([90, 95, 100, 105, 110], "tpot_mean_ms", (8,), repeats=5))[0].empty
    assert found(sweep([100, 100, 102.9], "tpot_mean_ms", (8,), repeats=3))[0].empty
    assert found(sweep([100, 150], "tpot_mean_ms", (8,), repeats=2))[0].empty


def test_a_boot_off_the_others_is_no_outlier_repeat():
    parts = [sweep(level * np.array([100.0, 100.5, 99.6]), "tpot_mean_ms", (8,), repeats=3).assign(
        session_id=f"s{boot}", run_id=[f"s{boot}/r{repeat}" for repeat in range(3)],
    ) for boot, level in enumerate((1.0, 1.0, 1.1))]  # fmt: skip
    assert found(pd.concat(parts, ignore_index=True))[0].empty
    parts[1].loc[2, "tpot_mean_ms"] = 109.0
    rows, points = found(pd.concat(parts, ignore_index=True))
    assert rows["run_id"].item() == "s1/r2" and "its boot's 3 repeats" in rows["found"].item()
    assert (points["series"] == evidence.RUN).sum() == 3


@pytest.mark.parametrize(("share", "ratio", "told"), [
    (None, None, "TTFT falls into two groups."),
    (None, 3.0, "TTFT falls into two groups; the slow one takes 3.0 times as long."),
])
def test_two_groups_without_their_figures_are_told_all_the_same(share, ratio, told):
    runs = sweep([100.0, 100.0])
    runs["ttft_bimodal"] = pd.array([True, False], dtype="boolean")
    runs["ttft_slow_share"] = pd.array([share] * 2, dtype="Float64")
    runs["ttft_mode_ratio"] = pd.array([ratio] * 2, dtype="Float64")
    rows, _ = found(runs)
    assert rows["found"].item() == told and pd.isna(rows["size"].item()) == (ratio is None)


@pytest.mark.parametrize("completed", [0, None])
def test_stalls_of_a_run_that_counts_no_requests_are_not_of_none(completed):
    runs = sweep([100.0, 100.0])
    runs.loc[0, "stalls"] = 3
    runs["completed"] = pd.array([completed] * 2, dtype="Int64")
    assert found(runs)[0]["found"].item() == "3 requests stood still."


def test_a_ttft_of_zero_is_not_compared():
    assert found(sweep([100.0, 0.0]))[0].empty
    rows, points = found(sweep([0.0, 300.0, 100.0], concurrency=(4, 8, 16)))
    assert rows["size"].item() == 3.0 and (points["y"] > 0).all()


def test_throttled_runs_of_a_concurrency_are_one_anomaly():
    tables = frames.make(("baseline",), gpu=True, failures=False, concurrency=(4, 8))
    rows, points = found(tables["runs"], telemetry=tables["telemetry"])
    assert list(rows["kind"]) == ["throttling"] * 2 and rows["size"].tolist() == [0.106] * 2
    told = rows["found"].iloc[0]
    assert "in 4 of 6 runs" in told and "software power cap in 11 % of the samples" in told
    of_first = points[points["anomaly_id"] == rows["anomaly_id"].iloc[0]]
    assert set(of_first["series"]) == set(evidence.SIGNS.values()) and set(of_first["x"]) == {4.0, 8.0}
    assert set(of_first.loc[of_first["marked"], "x"]) == {4.0}


def test_runs_that_count_for_nothing_are_not_judged():
    runs = sweep([1008, 679])
    assert found(runs.assign(replaced=True))[0].empty
    assert found(runs.assign(client="vllm-bench"))[0].empty
    assert found(runs.assign(status="incomplete"))[0].empty


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 1e3), st.floats(0.1, 1e5), st.booleans()), min_size=1,
                max_size=300), st.integers(20, 120))  # fmt: skip
def test_thinned_points_are_few_and_keep_the_extremes(drawn, most):
    frame = pd.DataFrame(drawn, columns=["series", "x", "y", "marked"])
    kept = evidence.thinned(frame, most)
    assert len(kept) == min(most, len(frame)) or len(kept) <= most
    assert len(kept) >= min(len(frame), most - 2)
    for key, mine in frame.groupby(["series", "marked"]):
        same = kept[(kept["series"] == key[0]) & (kept["marked"] == key[1])]
        assert same["y"].max() == mine["y"].max() and same["y"].min() == mine["y"].min()
        assert same["x"].max() == mine["x"].max() and same["x"].min() == mine["x"].min()
    assert kept.merge(frame.drop_duplicates(), how="inner").shape[0] == len(kept)


def test_many_requests_are_thinned_to_what_a_figure_holds():
    random = np.random.default_rng(7)
    frame = evidence.points("run", np.arange(4096), random.exponential(1, 4096), np.arange(4096) % 50 == 0)
    kept = evidence.thinned(frame)
    assert len(kept) == evidence.POINTS_MAX
    assert kept["marked"].sum() == frame["marked"].sum()
