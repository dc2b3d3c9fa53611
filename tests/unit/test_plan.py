"""What a booking will take, held against what one took; and the algebra of a plan."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from benchbook.cli import main
from benchbook.config.load import load_booking
from benchbook.config.records import Budget, Hypothesis
from benchbook.config.spec import session_specs
from benchbook.measure.store import write_json
from benchbook.plan import budget, detectable, earlier, plan, schedule, text
from benchbook.plan.earlier import Earlier
from benchbook.plan.estimate import Estimate, total
from benchbook.plan.times import BOOT_S, RERUN_SHARE, Times
from benchbook.present import figure_plan
from benchbook.statistics import power
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
# Recording h200-qwen3moe: boot by its server's log, a wave at each concurrency by its five runs.
RECORDED = Earlier("20261130-145619", "h200-recorded", "base", True, True, (256, 256), 189.0, 0.0, None,
                   {1: 1.048, 8: 2.389, 32: 4.171, 64: 4.867, 128: 5.381}, {16: 4}, 0, 5)  # fmt: skip
# Session 20261201-074334 of h200-sweep on one H200, the workload below: wall 1,137 s, of which 245 s were runs that the
# gate had measured once more because it held a wave against whole runs, which it does no longer.
SWEEP_PROMPTS = {1: 36, 8: 136, 32: 320, 64: 576, 128: 1152, 256: 2048}
SWEEP_REPEATS = {1: 1, 8: 1, 32: 3, 64: 1, 128: 3, 256: 1}
SWEEP_WALL_S, SWEEP_RERUNS_S = 1137.0, 245.0


@pytest.fixture(scope="module")
def sweep():
    booking = load_booking(ROOT, "h200-sweep")
    return replace(booking, workload=replace(booking.workload, prompts=SWEEP_PROMPTS, repeats=SWEEP_REPEATS))


@pytest.fixture(scope="module")
def demo():
    return load_booking(ROOT, "demo-cpu")


def expected_s(booking, seen=(RECORDED,)) -> float:
    return schedule.whole(schedule.sessions(Times(booking, seen))).expected_s


def test_a_sweep_is_foretold_from_a_recording_within_a_fifth_of_what_it_took(sweep):
    took_s = SWEEP_WALL_S - SWEEP_RERUNS_S
    foretold = schedule.whole(schedule.sessions(Times(sweep, [RECORDED])))
    assert foretold.expected_s == pytest.approx(took_s, rel=0.2)
    assert foretold.low_s < took_s < SWEEP_WALL_S < foretold.high_s, "with all runs twice it is still within the bounds"


def test_a_session_is_the_sum_of_its_phases_and_a_booking_that_of_its_sessions(demo):
    sessions = schedule.sessions(Times(demo, []))
    assert [item.slot for item in sessions] == ["s1", "s2", "s3", "s4"]
    for session in sessions:
        assert session.time.expected_s == pytest.approx(sum(phase.time.expected_s for phase in session.phases))
        assert session.phases[0].what == "boot" and session.phases[-1].what == "rest"
    levels = [[phase.concurrency for phase in item.phases if phase.what == "run"] for item in sessions]
    assert sorted(levels[0]) == [1, 2, 4, 8] and all(sorted(each) == [1, 2, 4, 8] for each in levels)
    assert schedule.whole(sessions).high_s == pytest.approx(sum(item.time.high_s for item in sessions))


@given(st.integers(1, 6), st.integers(1, 5))
def test_more_to_do_takes_longer_and_never_less_than_its_low_end(waves, repeats):
    booking = load_booking(ROOT, "demo-cpu")
    work = replace(booking.workload, prompts={level: waves * level for level in booking.workload.concurrency},
                   repeats=dict.fromkeys(booking.workload.concurrency, repeats))  # fmt: skip
    more = replace(work, prompts={level: (waves + 1) * level for level in work.concurrency})
    now, then = (schedule.whole(schedule.sessions(Times(replace(booking, workload=item), []))) for item in (work, more))
    assert now.expected_s < then.expected_s and now.high_s < then.high_s
    assert now.low_s <= now.expected_s <= now.high_s


def test_a_wave_between_and_beyond_what_was_measured_says_so(sweep):
    times = Times(sweep, [RECORDED])
    between, beyond, there = (times.wave(level, "base") for level in (48, 256, 64))
    assert RECORDED.wave_s[32] < between.expected_s < RECORDED.wave_s[64] < beyond.expected_s
    assert "between concurrency 32 and 64" in between.source and "beyond concurrency 64 and 128" in beyond.source
    assert there.source == "session 20261130-145619 of h200-recorded"
    spread = [item.high_s / item.expected_s for item in (there, between, beyond)]
    assert spread == sorted(spread), "the less is known, the wider"
    # a power of the concurrency: the line is straight in logarithms
    power_law = replace(RECORDED, wave_s={8: 2.0, 32: 4.0})
    assert Times(sweep, [power_law]).wave(128, "base").expected_s == pytest.approx(8.0)


def test_answers_of_another_length_scale_a_wave_and_widen_it(sweep):
    shorter = replace(RECORDED, lengths=(256, 128))
    wave = Times(sweep, [shorter]).wave(64, "base")
    assert wave.expected_s == pytest.approx(2 * RECORDED.wave_s[64])
    assert "times 2 for the answers' length" in wave.source
    assert wave.high_s - wave.low_s > 0.6 * wave.expected_s


def test_an_arm_that_was_measured_is_foretold_by_itself(sweep):
    slow = replace(RECORDED, session="20261201-000000", booking="h200-sweep", wave_s={64: 30.0}, boot_s=400.0)
    times = Times(sweep, [RECORDED, slow])
    assert times.wave(64, "base").expected_s == pytest.approx(30.0)
    assert times.boot(sweep.arms[0]).expected_s == pytest.approx(400.0)


def test_without_earlier_sessions_defaults_are_taken_and_named(sweep, demo):
    times = Times(sweep, [])
    assert times.boot(sweep.arms[0]).expected_s == BOOT_S["gpu", True][1]
    assert "a default for a cold boot on a GPU" in times.boot(sweep.arms[0]).source
    wave = times.wave(64, "base")
    assert "times the byte floor" in wave.source and wave.low_s < RECORDED.wave_s[64] < wave.high_s
    assert "of this model on a CPU" in Times(demo, []).wave(8, "baseline").source
    unknown = replace(sweep, model=replace(sweep.model, config=None, path="org/some"))
    assert "knows nothing" in Times(unknown, []).wave(64, "base").source
    assert times.rerun_share()[0] == RERUN_SHARE
    often = replace(RECORDED, recorded=False, reruns=3, gated=6)
    assert Times(sweep, [often]).rerun_share()[0] == pytest.approx(3.12 / 7)


def test_what_sessions_on_disk_took(tmp_path, sweep):
    spec = session_specs(sweep, ROOT)[0]
    folder = tmp_path / "results/other/raw/s1-base-0123456789ab/20261201-100000"
    write_json(folder / "spec.json", {**spec, "booking": "other"})
    write_json(folder / "session.json", {"status": "complete"})
    events = [("boot", None, 0, 100), ("client", None, 100, 101), ("warmup", 8, 101, 105), ("warmup", 8, 105.5, 108),
              ("warmup", 8, 108.5, 111), ("run", 8, 111.5, 151.5), ("teardown", None, 152, 155)]  # fmt: skip
    names = ("phase", "concurrency", "t_start_s", "t_end_s")
    lines = [json.dumps(dict(zip(names, event, strict=True)) | {"ok": True, "label": event[0]}) for event in events]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")
    spare = next(block["rerun"][0]["name"] for block in spec["plan"] if block["concurrency"] == 8)
    for n, (start, end) in enumerate([(101, 105), (105.5, 108), (108.5, 111)], start=1):
        write_json(folder / f"warmup/warmup_c8_w{n}/record.json", {
            "run": f"warmup_c8_w{n}", "concurrency": 8, "repeat": None, "num_prompts": 8, "status": "ok",
            "t_start_s": start, "t_end_s": end})  # fmt: skip
    write_json(folder / f"runs/{spare}/record.json", {
        "run": spare, "concurrency": 8, "repeat": 2, "num_prompts": 136, "status": "ok", "t_start_s": 111.5,
        "t_end_s": 151.5})  # fmt: skip
    (found,) = earlier.find(tmp_path, sweep)
    assert (found.boot_s, found.beside_s, found.gap_s) == (100.0, 4.0, 0.5)
    assert found.wave_s == {8: pytest.approx(40 / 17)} and found.readings == {8: 3}
    assert (found.reruns, found.gated, found.recorded, found.cold_boot) == (1, 1, False, True)
    shutil.copytree(folder, tmp_path / "results/other/raw/s1-base-ffffffffffff/20261201-100000")
    assert len(earlier.find(tmp_path, sweep)) == 1, "a recording that was adopted twice"
    shutil.rmtree(tmp_path / "results/other/raw/s1-base-ffffffffffff")
    assert earlier.find(tmp_path, sweep, without="other") == []
    assert earlier.find(tmp_path, replace(sweep, node=replace(sweep.node, kind="b300"))) == []
    (folder / "spec.json").unlink()
    (folder / "spec.json").write_text("{")
    assert earlier.find(tmp_path, sweep) == [], "a plan needs none of it"


# --- effects


def noise(df: float) -> pd.DataFrame:
    return pd.DataFrame([{"metric": "tpot_mean_ms", "session_sigma_pct": 2.0, "session_df": df, "repeat_sigma_pct": 1.0,
                          "repeat_df": 20.0}])  # fmt: skip


def with_boots(booking, boots: int):
    asked = Hypothesis("h", "eager", "baseline", "tpot_mean_ms", (8,), "higher", 0.05, None)
    return replace(booking, schedule=replace(booking.schedule, sessions_per_arm=boots), hypotheses=(asked,))


def test_what_comparisons_find_falls_with_boots_and_is_none_below_what_the_method_asks(demo):
    found = [detectable.of(with_boots(demo, boots), [noise(12.0)])[0].mde_pct for boots in (1, 2, 3, 6, 12)]
    assert found[0] is None and None not in found[1:]
    assert found[2:] == sorted(found[2:], reverse=True)
    assert detectable.of(with_boots(demo, 2), [])[0].mde_pct is None, "two boots need a registry"
    assert detectable.of(with_boots(demo, 2), [noise(7.0)])[0].mde_pct is None, "with 8 degrees of freedom"
    alone = detectable.of(with_boots(demo, 1), [])[0]
    assert "one boot of an arm has no spread of its own" in alone.why and alone.declared


def test_the_effect_is_that_of_the_power_formula(demo):
    (declared, *others) = detectable.of(with_boots(demo, 3), [noise(12.0)])
    sigma = (0.02**2 + 0.01**2 / 3) ** 0.5
    assert declared.mde_pct == pytest.approx(100 * (2.718281828459045 ** power.mde(3, sigma, df=3) - 1))
    assert {(item.metric, item.declared) for item in others} == {("throughput_tok_s", False), ("ttft_mean_ms", False)}
    assert {item.sigma_from for item in others} == {"the method's prior"} and declared.sigma_from == "registry"


# --- budgets


def test_cuts_are_made_until_it_fits_and_no_further(sweep):
    whole_s = expected_s(sweep)
    for share in (0.95, 0.7, 0.5):
        times = Times(sweep, [RECORDED])
        cuts, fits = budget.cuts(times, share * whole_s)
        assert fits and cuts[-1].left_s <= share * whole_s
        assert all(cut.left_s > share * whole_s for cut in cuts[:-1])
        assert whole_s - sum(cut.saves_s for cut in cuts) == pytest.approx(cuts[-1].left_s)
        assert all(cut.saves_s > 0 and cut.how and cut.costs for cut in cuts)
    cuts, fits = budget.cuts(Times(sweep, [RECORDED]), 60)
    assert not fits, "a boot alone takes longer"


def test_what_a_hypothesis_names_and_the_ends_of_the_sweep_are_not_cut(sweep):
    asked = Hypothesis("h", "base", "base", "tpot_mean_ms", (64,), "higher", 0.05, None)
    cuts, _ = budget.cuts(Times(replace(sweep, hypotheses=(asked,)), [RECORDED]), 60)
    gone = {cut.what for cut in cuts if "leave out" in cut.what}
    assert gone == {"leave out concurrency 8", "leave out concurrency 32", "leave out concurrency 128"}


def test_runs_longer_than_their_window_asks_are_cut_first_and_keep_it(sweep):
    long = replace(sweep, workload=replace(sweep.workload, prompts={**SWEEP_PROMPTS, 64: 64 * 40}))
    cuts, fits = budget.cuts(Times(long, [RECORDED]), expected_s(long) - 30)
    assert fits and cuts[0].what == "shorter runs at concurrency 64"
    waves = int(cuts[0].how.partition("64: ")[2].rstrip("}")) / 64
    assert (waves - 2) * RECORDED.wave_s[64] >= max(long.thresholds.steady_window_min_s, 2 * RECORDED.wave_s[64])


def test_room_for_more_boots_is_told(demo):
    times = Times(demo, [])
    assert budget.room(times, expected_s(demo, ()) + 1) == []
    (told,) = budget.room(times, 2 * expected_s(demo, ()))
    assert told == "4 boots of each arm fit as well: schedule.sessions_per_arm: 4"


def priced(booking, usd_per_hour, **asked):
    return replace(booking, node=replace(booking.node, price_usd_per_hour=usd_per_hour), budget=Budget(**asked))


def test_money_is_null_without_a_price_and_never_zero(sweep, tmp_path):
    told = plan.of(priced(sweep, None, usd=1.0), tmp_path, [])
    assert told.budget_s is None and told.fits is None and told.to_json()["total"]["expected_usd"] is None
    printed = "\n".join(text.lines(told))
    assert "give price_usd_per_hour in config/nodes/h200.yaml" in printed and "$" not in printed
    told = plan.of(priced(sweep, 3.6, usd=1.0, minutes=100.0), tmp_path, [])
    assert told.budget_s == pytest.approx(1000) and told.usd(1000) == pytest.approx(1.0)
    assert told.fits is False and "OVER THE BUDGET of 16:40" in "\n".join(text.lines(told))
    assert told.to_json()["cuts"][0]["saves_usd"] > 0
    assert plan.of(priced(sweep, 3.6, minutes=1e4), tmp_path, []).fits is True


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(1, 3))))
def test_estimates_add_up_bound_by_bound(parts):
    each = [Estimate(seconds / wide, seconds, seconds * wide, "x") for seconds, wide in parts]
    whole = total(each)
    assert whole.expected_s == pytest.approx(sum(seconds for seconds, _ in parts))
    assert whole.low_s <= whole.expected_s * (1 + 1e-12) and whole.expected_s <= whole.high_s * (1 + 1e-12)


@pytest.mark.parametrize(("seconds", "told"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")])
def test_the_clock(seconds, told):
    assert text.clock(seconds) == told


def test_the_command_prints_draws_and_tells_by_its_exit_code(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as ended:
        main(["plan", "h200-capture", "--json", "--without", "h200-capture", "--draw", str(tmp_path)])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert [item["arm"] for item in told["sessions"]] == ["capture-512", "capture-64"]
    assert json.loads((tmp_path / "plan.json").read_text()) == told
    assert "capture-64" in (tmp_path / "plan.svg").read_text()
    with pytest.raises(SystemExit) as ended:
        main(["plan", "no-such-booking"])
    assert ended.value.code == 2 and "config/bookings/ has" in capsys.readouterr().err


def test_a_plan_without_a_name_for_a_short_block_is_drawn_too(tmp_path, demo):
    sessions = plan.of(demo, tmp_path, []).to_json()["sessions"]
    figure_plan.draw(sessions, tmp_path / "plan.svg")
    assert "s4  baseline" in (tmp_path / "plan.svg").read_text()
