from __future__ import annotations

import dataclasses
from pathlib import Path

import benchbook
from benchbook.config import facts, spec
from benchbook.config.load import Warmup, load_booking
from benchbook.measure.warmup import TwoAgree
from benchbook.present.context import Threshold

ROOT = Path(benchbook.__file__).parents[2]


def specs(**changes):
    return spec.session_specs(dataclasses.replace(load_booking(ROOT, "demo-cpu"), **changes), ROOT)


def test_the_demo_is_two_arms_in_abba_order_with_one_flag_between_them():
    baseline, eager, *_ = specs()
    assert [s["arm"] for s in specs()] == ["baseline", "eager", "eager", "baseline"]
    assert set(eager["server"]["args"].items()) ^ set(baseline["server"]["args"].items()) == {("enforce-eager", True)}
    assert [b["concurrency"] for b in baseline["plan"]] == [1, 2, 4, 8]
    assert [b["concurrency"] for b in specs()[3]["plan"]] == [8, 4, 2, 1]
    assert all(b["num_prompts"] % b["concurrency"] == 0 and len(b["runs"]) == 3 for b in baseline["plan"])


def test_both_arms_get_the_same_prompts_and_no_server_gets_one_twice():
    def seeds(s):
        items = [item for b in s["plan"] for item in b["readings"] + b["runs"] + b["rerun"]]
        return {item["name"].partition("_")[2]: item["seed"] for item in items}

    first, *others = map(seeds, specs())
    assert all(other == first for other in others)
    assert len(set(first.values())) == len(first)


def test_the_hash_moves_with_what_bears_on_the_figures_and_with_nothing_else():
    before = [s["spec_hash"] for s in specs()]
    booking = load_booking(ROOT, "demo-cpu")
    assert [s["spec_hash"] for s in specs(title="another headline")] == before
    assert [s["spec_hash"] for s in specs(limits=dataclasses.replace(booking.limits, ready_s=1.0))] == before
    relaxed = dataclasses.replace(booking.thresholds, little_pass=0.5)
    assert [s["spec_hash"] for s in specs(thresholds=relaxed)] == before
    content = {**booking.workload.content, "output_tokens": 129}
    longer = dataclasses.replace(booking.workload, content=content)
    assert not set(before) & {s["spec_hash"] for s in specs(workload=longer)}
    warm = dataclasses.replace(booking.schedule, cold_boot=False)
    assert not set(before) & {s["spec_hash"] for s in specs(schedule=warm)}


def test_every_run_has_a_spare_where_the_rule_has_a_gate():
    for block in specs()[0]["plan"]:
        names = [run["name"] for run in block["runs"] + block["rerun"]]
        assert names == [f"baseline_c{block['concurrency']}_r{n}" for n in range(1, 7)]
    agree = Warmup("two-agree", 10, TwoAgree(min_readings=2, tolerance=0.02))
    without = specs(warmup=agree)[0]
    assert [block["rerun"] for block in without["plan"]] == [[]] * 4
    assert without["warmup"] == {"rule": "two-agree", "max_readings": 10, "min_readings": 2, "tolerance": 0.02}


def test_a_concurrency_may_have_repeats_of_its_own():
    booking = load_booking(ROOT, "demo-cpu")
    workload = dataclasses.replace(booking.workload, repeats={1: 1, 2: 3, 4: 1, 8: 2})
    blocks = {block["concurrency"]: block for block in specs(workload=workload)[0]["plan"]}
    assert {level: len(block["runs"]) for level, block in blocks.items()} == {1: 1, 2: 3, 4: 1, 8: 2}
    assert all(len(block["rerun"]) == len(block["runs"]) for block in blocks.values())
    told = facts.report_facts(dataclasses.replace(booking, workload=workload))["workload"]["repeats per session"]
    assert told == "1 at 1, 3 at 2, 1 at 4, 2 at 8"


def test_the_report_is_told_which_limits_of_the_warmup_are_relaxed():
    booking = load_booking(ROOT, "demo-cpu")
    listed = [Threshold(**item) for item in facts.report_facts(booking)["thresholds"]]
    relaxed = {item.name.removeprefix("warmup.converged.") for item in listed if item.relaxed}
    assert relaxed == {"steady_window_min_s", "throughput_noise", "tpot_spread", "tpot_slope", "tpot_above_best",
                       "gate_tpot_spread", "gate_tpot_slope"}  # fmt: skip
    agree = dataclasses.replace(booking, warmup=Warmup("two-agree", 10, TwoAgree(min_readings=2, tolerance=0.02)))
    told = facts.report_facts(agree)
    listed = [Threshold(**item) for item in told["thresholds"] if item["name"].startswith("warmup.")]
    assert [(item.name, item.relaxed) for item in listed] == [
        ("warmup.two_agree.min_readings", True), ("warmup.two_agree.tolerance", False),
    ]  # fmt: skip
    assert told["warmup_rule"].startswith("two-agree: the last two readings within 2 % in throughput.")


def test_a_specification_holds_no_path_of_this_machine():
    assert str(ROOT) not in repr(specs())
