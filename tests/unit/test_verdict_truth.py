"""From simulated runs whose truth is known to verdicts: what was wrong with a run is named, and what it voids refused;
what is true and replicated is SOLID; what is not there is never claimed."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from benchbook import schema
from benchbook.claims import comparisons, fixed_cost, noise, repeatability, steps, toll, verdicts
from benchbook.claims.levels import CONFOUNDED, REFUSED, SOLID, SOLID_SCALE, UNREPLICATED
from benchbook.derive import requests, runs, tags
from benchbook.derive.counters import Counted
from benchbook.engines.vllm_layout import Layout
from benchbook.measure import bench_result
from frames import frame
from simulated import THRESHOLDS, oracle
from verdictinput import booking

TPOT, TTFT, TOK_S = "tpot_mean_ms", "ttft_mean_ms", "throughput_tok_s"
BOOT_S, C, WAVES, LOUT = 1000.0, 8, 10, 24
BOOT_SIGMA = 0.002
AGED = Counted({}, {'vllm:request_success_total{finished_reason="length"}': 9.0,
                    "vllm:time_to_first_token_seconds_count": 9.0})  # fmt: skip


@cache
def simulate(**config):
    return oracle.simulate(oracle.Config(**{"lin": 64, "lout": LOUT, "ranks": 1, "keep_itl": True, **config}))


@cache
def one_run(arm, place, boot, repeat, concurrency, verdict="CONVERGED", **config):
    """Row of table `runs` of one simulated run, and what the scheduler would have shown."""
    run = simulate(concurrency=concurrency, num_prompts=WAVES * concurrency, **config)
    result = oracle.to_vllm_json(run)
    judged = bench_result.judge(result, run.cfg.num_prompts, run.cfg.lout)
    start = 5e8 + BOOT_S * place + 100 * repeat
    spec = {"slot": f"s{place}", "arm": arm, "spec_hash": "0" * 12, "workload": {"output_tokens": run.cfg.lout}}
    record = {
        "run": f"{arm}_c{concurrency}_r{repeat}", "concurrency": concurrency, "repeat": repeat,
        "num_prompts": run.cfg.num_prompts, "status": judged.status, "reason": judged.reason, "t_start_s": start,
        "t_end_s": start + result["duration"], "m_start_s": 0.0, "m_end_s": result["duration"],
    }  # fmt: skip
    session = f"{arm}-{boot}"
    row = runs.row(session, spec, record, result["duration"],
                   requests.table(requests.rows(session, spec, record, result)), counted=AGED, late_work=0,
                   tokens_from="usage", warmup_verdict=verdict, expected_failure=False, busy_until_s=None,
                   thresholds=THRESHOLDS)  # fmt: skip
    return {**row, "client": "native"}, {"waiting_p50": 0.0, "scrapes": 9, "preemptions": run.truth["preemptions"]}


def measured(arms, boots=3, repeats=1, levels=(C,), order="ABBAAB", graph_tokens_max=None, only=None, seed=1):
    """Tables of a booking. `arms`: the oracle's config of each; `only`: what differs in single runs, by (arm, boot,
    repeat, concurrency)."""
    random = np.random.default_rng(seed)
    names, taken, rows, queues = list(arms), dict.fromkeys(arms, 0), [], []
    for place, letter in enumerate(order[: boots * len(arms)] if len(arms) == 2 else "A" * boots):
        arm = names["AB".index(letter)]
        taken[arm] += 1
        speed = float(np.exp(random.normal(0, BOOT_SIGMA)))
        for level in levels:
            for repeat in range(1, repeats + 1):
                extra = (only or {}).get((arm, taken[arm], repeat, level), {})
                row, queue = one_run(arm, place, taken[arm], repeat, level, run_factor=speed, **arms[arm], **extra)
                rows.append(row)
                queues.append({name: row[name] for name in ("run_id", "session_id", "slot", "arm", "concurrency",
                                                            "repeat")} | queue)  # fmt: skip
    table = runs.table(rows)
    ids = sorted(set(table["session_id"]))
    tables = {
        **{name: schema.empty(name) for name in ("client", "reconciliation")},
        "runs": table,
        "scheduler": frame("scheduler", queues),
        "telemetry": frame("telemetry", [{**{name: row[name] for name in ("run_id", "session_id", "slot", "arm",
                                          "concurrency", "repeat")}, "samples": 9, "coverage": 1.0}
                                         for row in rows]),
        "sessions": pd.DataFrame({"session_id": ids,
                                  "graph_tokens_max": pd.array([graph_tokens_max] * len(ids), "Int64"),
                                  "server_cpus": None, "server_cpus_held": None}),
    }  # fmt: skip
    return tables | {"runs": tags.with_observers(tables, THRESHOLDS, dict.fromkeys(ids, Layout()))}


def claims(tables, levels=(C,), sessions_per_arm=3):
    """Table `verdicts` by claim, all its inputs made as the pipeline makes them."""
    arms = [{"name": arm, "server_args": {}} for arm in dict.fromkeys(tables["runs"]["arm"])]
    facts = booking(
        arms=arms,
        workload={"kind": "random", "content": {}, "concurrency": list(levels), "repeats": 1},
        schedule={"order": "ABBA", "sessions_per_arm": sessions_per_arm, "cold_boot": False},
        comparisons={"baseline": arms[0]["name"], "metrics": [TPOT, TTFT, TOK_S], "concurrency": list(levels),
                     "alpha": 0.05, "equivalence": 0.02, "smallest_effect": 0.01, "sessions_min": 3},
    )  # fmt: skip
    of = tables["runs"]
    points = steps.table(of, tables["scheduler"], tables["sessions"], facts)
    costs = fixed_cost.table(points, schema.empty("floor"), facts)
    own, prior = noise.table(of, facts["clients"], facts["id"], "k"), noise.prior([])
    spread = repeatability.table(of, facts["clients"], own, prior)
    found = verdicts.table(
        of, comparisons.table(of, facts, [], noise.prior([])), spread, costs,
        toll.table(points, costs, schema.empty("floor"), facts), schema.empty("floor"), schema.empty("occupancy"),
        facts,
    )  # fmt: skip
    return found.set_index("claim_id")


BASE, FAST = {"t_fixed_ms": 17.0}, {"t_fixed_ms": 17.0 * 0.96}
AGAINST = f"fast/base/{TPOT}/c{C}"


def test_four_percent_over_three_boots_are_solid():
    found = claims(measured({"base": BASE, "fast": FAST}))
    row = found.loc[AGAINST]
    assert row["level"] == SOLID and "lower mean TPOT than base at C=8: better." in row["sentence"]
    assert found.loc[f"fast/base/{TOK_S}/c{C}", "level"] == SOLID
    assert found.loc[f"value/base/{TPOT}/c{C}", "level"] == SOLID
    assert found["exploratory"].dropna().all(), "nothing was declared"


@pytest.mark.parametrize("seed", range(3))
def test_the_same_server_twice_is_no_claim(seed):
    found = claims(measured({"base": BASE, "fast": BASE}, seed=seed))
    compared = found[found["kind"] == "comparison"]
    assert len(compared) == 3 and not set(compared["level"]) & {SOLID, SOLID_SCALE}


def test_one_session_an_arm_is_unreplicated_and_says_what_would_replicate_it():
    found = claims(measured({"base": BASE, "fast": FAST}, boots=1, repeats=3), sessions_per_arm=1)
    compared = found[found["kind"] == "comparison"]
    assert set(compared["level"]) == {UNREPLICATED}
    assert set(compared["replicate"]) == {"boot each arm 2 more times (sessions_per_arm: 3)"}
    assert not compared["sentence"].str.contains("higher|lower|better|worse").any()


def test_a_stall_of_five_seconds_confounds_and_the_ratio_does_not_hide_it():
    found = claims(measured({"base": BASE, "fast": FAST}, only={("base", 2, 1, C): {"stalls": ((2.0, 5.0),)}}))
    for metric in (TPOT, TOK_S):
        row = found.loc[f"fast/base/{metric}/c{C}"]
        assert row["level"] == CONFOUNDED and row["because"] == "STALLED (base)"
    assert found.loc[f"value/base/{TPOT}/c{C}", "level"] == CONFOUNDED
    assert found.loc[f"value/fast/{TPOT}/c{C}", "level"] == SOLID, "the other arm is as good as before"


@cache
def late_waves():
    """Admission that is late for two waves of ten: 0.2 s where a TTFT takes 0.02 s."""
    windows = []
    for wave in (3, 7):
        run = simulate(concurrency=C, num_prompts=WAVES * C, admit_stalls=tuple(windows), **BASE)
        windows.append((run.records[wave * C]["t_send"] - 1e-3, 0.2))
    return tuple(windows)


def test_a_bimodal_ttft_is_refused_and_its_tpot_is_not():
    tables = measured({"base": BASE, "fast": FAST}, only={("base", 1, 1, C): {"admit_stalls": late_waves()}})
    assert list(tables["runs"]["tags"]) == ["BIMODAL", "", "", "", "", ""]
    found = claims(tables)
    assert found.loc[f"fast/base/{TTFT}/c{C}", ["level", "because"]].tolist() == [REFUSED, "BIMODAL"]
    assert found.loc[AGAINST, ["level", "because"]].tolist() == [CONFOUNDED, "BIMODAL (base)"]
    assert found.loc[f"value/base/{TTFT}/c{C}", "level"] == REFUSED
    assert found.loc[f"value/base/{TPOT}/c{C}", "level"] == CONFOUNDED


def test_a_crash_refuses_all_that_stands_on_it():
    found = claims(measured({"base": BASE, "fast": FAST}, only={("fast", 3, 1, C): {"crash_at_s": 3.0}}))
    compared = found[found["kind"] == "comparison"]
    assert set(compared["level"]) == {REFUSED} and compared["because"].str.startswith("INCOMPLETE").all()
    assert compared["sentence"].str.contains("Next: have the failed runs measured again").all()
    assert found.loc[f"value/fast/{TPOT}/c{C}", "level"] == REFUSED
    assert found.loc[f"value/base/{TPOT}/c{C}", "level"] == SOLID
    assert found.loc["fit/fast", "level"] == REFUSED


def test_a_baseline_after_a_warmup_that_did_not_converge_confounds_every_comparison_with_it():
    found = claims(measured({"base": BASE, "fast": FAST}, only={("base", 1, 1, C): {"verdict": "UNWARMED"}}))
    compared = found[found["kind"] == "comparison"]
    assert set(compared["level"]) == {CONFOUNDED} and set(compared["because"]) == {"UNWARMED (base)"}


LEVELS = (1, 2, 4, 8, 16)
LINE = {"t_fixed_ms": 17.0, "c_ms": 0.3, "step_sigma": 0.01}
sweep = partial(measured, boots=3, levels=LEVELS)


def test_a_line_of_steps_is_solid_and_the_truth_is_in_its_interval():
    tables = sweep({"base": LINE})
    found = claims(tables, LEVELS)
    assert found.loc["fit/base", "level"] == SOLID
    assert "fixed cost of the decode step 1" in found.loc["fit/base", "sentence"]
    assert found.loc["fit/base", "sentence"].endswith("of it at C=16.")
    assert found[found["kind"] == "scale"]["level"].tolist() == [SOLID_SCALE]


def test_preemption_refuses_the_fit_and_confounds_the_value():
    starved = {("base", boot, 1, 8): {"kv_tokens": 500} for boot in (1, 2, 3)}
    tables = sweep({"base": LINE}, only=starved)
    of = tables["runs"]
    assert (of.loc[of["concurrency"] == 8, "tags"].str.contains("REGIME")).all()
    found = claims(tables, LEVELS)
    fit = found.loc["fit/base"]
    assert fit["level"] == REFUSED and fit["because"].startswith("REGIME: ") and "preempted" in fit["because"]
    assert found.loc[f"value/base/{TPOT}/c8", "level"] == CONFOUNDED
    assert found.loc[f"value/base/{TPOT}/c8", "because"].startswith("REGIME")
    assert found.loc[f"value/base/{TPOT}/c4", "level"] == SOLID


def test_eager_fallback_is_tagged_and_no_fit_is_carried_into_it():
    eager = {**LINE, "graph_max": 1, "eager_factor": 1.6}
    tables = sweep({"base": eager}, graph_tokens_max=1)
    of = tables["runs"]
    assert (of["tags"].str.contains("REGIME") == (of["concurrency"] > 1)).all()
    found = claims(tables, LEVELS)
    assert found.loc["fit/base", "level"] == REFUSED and found.loc["fit/base", "because"].startswith("REGIME: ")
    assert found.loc[f"value/base/{TPOT}/c16", ["level", "because"]].tolist() == [CONFOUNDED, "REGIME"]
    assert found.loc[f"value/base/{TPOT}/c1", "level"] == SOLID
