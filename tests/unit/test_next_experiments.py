"""What to run next: costed from the booking's own sessions, the most claims for the money first."""

from __future__ import annotations

import frames
import pandas as pd
import pytest
from benchbook.claims.next_experiments import _steady_waves
from benchbook.claims.timings import timings
from verdictinput import METRIC, booking, comparison, experiments, run, runs, verdict_table

BOOT_S, WARMUP_S, RUN_S, TEARDOWN_S = 300.0, 60.0, 90.0, 10.0


def measured(sessions=1, arms=("base", "mtp"), concurrency=(8,), repeats=3, lacking=0):
    """Tables `sessions` and `timeline`; of the first session the last `lacking` runs were not measured."""
    rows, events, clock = [], [], 0.0
    for session in range(1, sessions + 1):
        for arm in arms:
            about = {"session_id": f"{arm}-s{session}", "slot": f"s{session}", "arm": arm}
            start, clock = clock, clock + BOOT_S
            phases = [("warmup", WARMUP_S / 2)] * 2 + [("run", RUN_S)] * repeats
            planned = [(phase, level, s) for level in concurrency for phase, s in phases]
            done = planned[: len(planned) - lacking] if not rows else planned
            for phase, level, seconds in done:
                events.append({**about, "phase": phase, "label": phase, "concurrency": level, "ok": True,
                               "t_start_s": clock, "t_end_s": clock + seconds})  # fmt: skip
                clock += seconds
            clock += TEARDOWN_S
            spent = {name: sum(s for phase, _, s in done if phase == name) for name in ("warmup", "run")}
            count = sum(phase == "run" for phase, _, _ in done)
            rows.append({
                **about, "spec_hash": "0" * 12, "status": "complete", "expected_failure": False, "t_launch_s": start,
                "boot_s": BOOT_S, "warmup_s": spent["warmup"], "runs_s": spent["run"], "teardown_s": TEARDOWN_S,
                "wall_s": clock - start, "runs_done": count, "runs_planned": repeats * len(concurrency),
                "engine": "vllm", "kernel": "6.1", "cores": 16, "memory_gib": 64.0,
            })  # fmt: skip
    return frames.frame("sessions", rows), frames.frame("timeline", events)


def one_each(**facts):
    schedule = {"order": "ABBA", "sessions_per_arm": 1, "cold_boot": False}
    return booking(schedule=schedule, **facts)


def test_a_session_takes_its_boot_and_for_each_concurrency_its_warmup_and_runs():
    times = timings(*measured(2, concurrency=(8, 64)), repeats=3)
    assert times.boot_s == {"base": pytest.approx(BOOT_S + TEARDOWN_S), "mtp": pytest.approx(BOOT_S + TEARDOWN_S)}
    whole = BOOT_S + TEARDOWN_S + 2 * (WARMUP_S + 3 * RUN_S)
    assert times.session_s("base", [8, 64]) == pytest.approx(whole)
    assert times.session_s("unknown", [8, 64]) == pytest.approx(whole), "the mean over the arms"
    assert times.session_s("base", [8, 64], 1) == pytest.approx(whole + WARMUP_S + 3 * RUN_S)
    assert times.session_s("base", [128]) is None, "nothing was run there"


def test_one_session_an_arm_asks_for_two_more_and_says_what_they_cost():
    table = runs(1)
    row = comparison(table, half_pct=None)
    facts = one_each()
    found = verdict_table(table, facts, comparisons=[row])
    (first,) = experiments(found, [row], facts, *measured()).to_dict("records")
    assert first["experiment"] == "Boot each arm 2 more times" and first["how"] == "schedule.sessions_per_arm: 3"
    assert first["claim_ids"] == row["comparison_id"] and first["sessions"] == 4
    seconds = 4 * (BOOT_S + TEARDOWN_S + WARMUP_S + 3 * RUN_S)
    assert first["time_s"] == pytest.approx(seconds)
    assert first["usd"] == pytest.approx(36.0 * seconds / 3600)
    assert first["claims_per_hour"] == pytest.approx(3600 / seconds)


def test_without_a_price_there_is_no_dollar_and_without_a_boot_no_time():
    table = runs(1)
    row = comparison(table, half_pct=None)
    free = one_each(node=booking()["node"] | {"price_usd_per_hour": None})
    found = verdict_table(table, free, comparisons=[row])
    (first,) = experiments(found, [row], free, *measured()).to_dict("records")
    assert pd.isna(first["usd"])
    sessions, timeline = measured()
    sessions["boot_s"] = pd.NA
    (first,) = experiments(found, [row], free, sessions, timeline).to_dict("records")
    assert pd.isna(first["time_s"]) and pd.isna(first["claims_per_hour"])


def test_a_tag_is_removed_by_measuring_anew_and_boots_alone_do_not_move_it():
    table = runs(1)
    table.loc[0, "tags"] = "UNWARMED"
    tagged = comparison(table, half_pct=None)
    clean = comparison(table, half_pct=None, comparison_id=f"mtp/base/{METRIC}/c64", concurrency=64, tags="")
    facts = one_each()
    found = verdict_table(table, facts, comparisons=[tagged, clean])
    rows = experiments(found, [tagged, clean], facts, *measured()).to_dict("records")
    by_name = {row["experiment"].split(":")[0]: row for row in rows}
    assert by_name["Boot each arm 2 more times"]["claim_ids"] == clean["comparison_id"]
    anew = by_name["Measure anew without UNWARMED"]
    assert anew["claims"] == 2 and anew["sessions"] == 6
    assert anew["time_s"] == pytest.approx(6 * (BOOT_S + TEARDOWN_S + 2 * WARMUP_S + 3 * RUN_S)), "twice the readings"
    assert "warmup.max_readings" in anew["how"] and "sessions_per_arm: 3" in anew["how"]
    assert rows[0] is anew, "two claims for six boots are more than one for four"


@pytest.mark.parametrize("known", [True, False])
def test_what_an_earlier_experiment_settles_for_no_more_is_not_shown(known):
    table = runs(1)
    wide = comparison(table, half_pct=None, tags="CLIENT,STALLED")
    narrow = comparison(table, half_pct=None, comparison_id=f"mtp/base/{METRIC}/c64", concurrency=64, tags="STALLED")
    sessions, timeline = measured()
    if not known:
        sessions["boot_s"] = pd.NA
    facts = one_each()
    found = verdict_table(table, facts, comparisons=[wide, narrow])
    rows = experiments(found, [wide, narrow], facts, sessions, timeline)
    assert list(rows["claims"]) == [2] and "CLIENT, STALLED" in rows["experiment"].item()
    longer = [comparison(table, half_pct=None, tags="STALLED,UNWARMED"), narrow]
    found = verdict_table(table, facts, comparisons=longer)
    rows = experiments(found, longer, facts, *measured())
    assert set(rows["claims"]) == {1, 2}, "without the longer warmup it costs less"


@pytest.mark.parametrize(("window_s", "e2el_ms", "waves"), [
    (3.0, 500.0, 8 + 54 + 1), (19.0, 10_000.0, 8 + 2 + 1), (60.0, 500.0, 16), (None, 500.0, 16),
])  # fmt: skip
def test_a_short_window_asks_for_as_many_waves_as_it_lacks_and_for_their_time(window_s, e2el_ms, waves):
    table = runs(3, tags="UNSTEADY", window_s=window_s, e2el_mean_ms=e2el_ms)
    row = comparison(table)
    found = verdict_table(table, comparisons=[row])
    (first,) = experiments(found, [row], booking(), *measured(3), table).to_dict("records")
    assert first["how"] == f"workload.waves: {waves}"
    assert first["time_s"] == pytest.approx(6 * (BOOT_S + TEARDOWN_S + WARMUP_S + 3 * RUN_S * waves / 8))


def test_waves_asked_for_make_the_window_long_enough():
    run = {"waves": 4.0, "e2el_mean_ms": 1500.0, "window_s": 2 * 1.5}
    thresholds = {"steady_window_min_s": 30.0, "steady_window_min_e2el": 2.0}
    assert (_steady_waves(run, thresholds) - 2) * 1.5 >= 30
    assert (_steady_waves(run | {"waves": 1.0, "window_s": 0.0}, thresholds) - 2) * 1.5 >= 30


@pytest.mark.parametrize(("client", "how"), [("native", "a node with more free"), ("vllm-bench", "client: native")])
def test_a_client_that_is_native_already_needs_cores(client, how):
    table = runs(3, tags="CLIENT", client=client)
    row = comparison(table)
    facts = booking(clients=[client])
    found = verdict_table(table, facts, comparisons=[row])
    (first,) = experiments(found, [row], facts, *measured(3)).to_dict("records")
    assert first["how"].startswith(how)


def test_a_server_that_keeps_wandering_is_given_longer_runs_too():
    table = runs(3, tags="UNWARMED")
    row = comparison(table)
    (first,) = experiments(verdict_table(table, comparisons=[row]), [row], booking(), *measured(3)).to_dict("records")
    assert "warmup.max_readings" in first["how"] and "workload.waves" in first["how"]


def test_failed_runs_are_had_again_for_what_they_cost():
    table = runs()
    table.loc[0, ["status", "tags"]] = ["missing", "INCOMPLETE"]
    row = comparison(table)
    facts = booking()
    found = verdict_table(table, facts, comparisons=[row])
    (first, *_) = experiments(found, [row], facts, *measured(3, lacking=1)).to_dict("records")
    assert first["how"] == "benchbook retry night" and first["sessions"] == 1
    assert first["time_s"] == pytest.approx(BOOT_S + TEARDOWN_S + (WARMUP_S + 3 * RUN_S) / 3, rel=0.05)
    expected, timeline = measured(3, lacking=1)
    expected.loc[0, "expected_failure"] = True
    assert experiments(found, [row], facts, expected, timeline).empty, "a failure that is foreseen comes back"


def test_noise_asks_for_as_many_boots_as_find_the_effect_seen():
    table = runs()
    row = comparison(table, -1.5, 2.5)
    found = verdict_table(table, comparisons=[row])
    (first,) = experiments(found, [row], booking(), *measured(3)).to_dict("records")
    assert first["experiment"].endswith("to 7") and first["sessions"] == 8
    hopeless = comparison(table, -1.5, 2.5, se_pct=6.0)
    found = verdict_table(table, comparisons=[hopeless])
    assert experiments(found, [hopeless], booking(), *measured(3)).empty


def test_a_fit_asks_for_concurrencies_and_a_floor_for_the_bandwidth():
    table = frames.frame("runs", [run("base", 1)])
    fit = {"arm": "base", "response": "step", "model": "line", "chosen": False, "points": 1, "levels": 1, "df": 0,
           "refused": "one concurrency; measure at six", "run_ids": "base-s1/base_c8_r1"}  # fmt: skip
    value = {"arm": "base", "concurrency": 8, "metric": METRIC, "unit": "ms", "sessions": 1, "runs": 1, "mean": 11.5,
             "range_of": "runs", "band_pct": 5.0, "sigma_from": "registry",
             "tags": "", "run_ids": "base-s1/base_c8_r1"}  # fmt: skip
    facts = one_each(arms=[{"name": "base", "server_args": {}}],
                     node=booking()["node"] | {"memory_bandwidth_tb_s": None},
                     model={"name": "moe", "config": None, "sizes": {"dense_gb": 7.6}})  # fmt: skip
    found = verdict_table(table, facts, fixed_cost=[fit], repeatability=[value])
    rows = experiments(found, [], facts, *measured(arms=("base",))).to_dict("records")
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    assert rows[0]["experiment"] == "State the memory bandwidth of one GPU" and rows[0]["time_s"] == 0
    assert rows[0]["claim_ids"] == "floor/base/c8"
    wider = next(row for row in rows if "6 concurrencies" in row["experiment"])
    assert wider["claim_ids"] == "fit/base"
    one = BOOT_S + TEARDOWN_S + 6 * (WARMUP_S + 3 * RUN_S)
    assert wider["time_s"] == pytest.approx(3 * one)


def test_a_claim_that_its_table_refuses_is_not_moved_by_removing_a_tag():
    table = runs(3)
    table["tags"] = "STALLED"
    ids = " ".join(table["run_id"][:9])
    fit = {"arm": "base", "response": "step", "model": "line", "chosen": False, "points": 9, "levels": 1, "df": 7,
           "refused": "One concurrency; measure at six.", "run_ids": ids}  # fmt: skip
    row = comparison(table)
    found = verdict_table(table, comparisons=[row], fixed_cost=[fit])
    (first,) = experiments(found, [row], booking(), *measured(3)).to_dict("records")
    assert first["claim_ids"] == row["comparison_id"]


def test_nothing_in_doubt_nothing_to_run():
    table = runs()
    row = comparison(table)
    assert experiments(verdict_table(table, comparisons=[row]), [row], booking(), *measured(3)).empty
