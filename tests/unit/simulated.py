"""Tables of a booking whose runs the oracle simulated: the way from a client's result to table runs is derive's own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from benchbook import schema
from benchbook.derive import requests, runs, tags
from benchbook.derive.counters import Counted
from benchbook.engines.vllm_layout import layout
from frames import frame

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
import oracle

THRESHOLDS = {"steady_window_min_s": 0.0, "steady_window_min_e2el": 0.0, "little_pass": 0.05, "little_warn": 0.1,
              "prefix_hits_max": 0.01, "telemetry_coverage_min": 0.95}  # fmt: skip
NODE = {"name": "n", "kind": "k", "gpus": 1, "price_usd_per_hour": None, "memory_bandwidth_tb_s": None,
        "matrix_tflops": None}  # fmt: skip
T0 = 5e8


def booking(**server_args):
    return {
        "id": "b", "recorded": False, "node": NODE, "model": {"name": "m", "config": None, "sizes": {}},
        "arms": [{"name": "a", "server_args": {name.replace("_", "-"): value for name, value in server_args.items()}}],
        "clients": ["native"],
        "workload": {"kind": "random", "content": {"input_tokens": 256, "output_tokens": 64}, "concurrency": [],
                     "repeats": 3},
    }  # fmt: skip


def measured(told, levels, repeats=3, run_sigma=0.01, seed=0, graph_tokens_max=None, per_level=None, **config):
    """Tables runs, scheduler and sessions of `levels` x `repeats` runs of one session, as a server of booking `told`
    would have given them. `config`: of the oracle, `per_level` further fields by concurrency."""
    random = np.random.default_rng(seed)
    rows, queues = [], []
    for level in levels:
        for repeat in range(1, repeats + 1):
            one = oracle.Config(**{
                "concurrency": level, "num_prompts": 3 * level, "lin": 256, "lout": 72, "lout_spread": 0.1,
                "ranks": layout(told["arms"][0]["server_args"]).ranks, "step_sigma": 0.02, "keep_itl": True,
                "run_factor": float(np.exp(random.normal(0, run_sigma))), "seed": int(random.integers(10**6)),
                **config, **(per_level or {}).get(level, {}),
            })  # fmt: skip
            run = oracle.simulate(one)
            row = _run(run, repeat)
            rows.append(row)
            queues.append({name: row[name] for name in ("run_id", "session_id", "slot", "arm", "concurrency", "repeat")}
                          | {"scrapes": 9, "waiting_p50": 0.0, "preemptions": run.truth["preemptions"]})
    tables = {name: schema.empty(name) for name in ("telemetry", "client", "reconciliation")}
    tables |= {
        "runs": runs.table(rows),
        "scheduler": frame("scheduler", queues),
        "sessions": pd.DataFrame({"session_id": ["s"], "graph_tokens_max": pd.array([graph_tokens_max], "Int64"),
                                  "server_cpus": None, "server_cpus_held": None}),
    }  # fmt: skip
    laid = {"s": layout(told["arms"][0]["server_args"])}
    return tables | {"runs": tags.with_observers(tables, THRESHOLDS, laid)}


def _run(run, repeat):
    result, level = oracle.to_vllm_json(run), run.cfg.concurrency
    spec = {"slot": "s1", "arm": "a", "spec_hash": "0" * 12, "workload": {"output_tokens": run.cfg.lout}}
    record = {
        "run": f"a_c{level}_r{repeat}", "concurrency": level, "repeat": repeat, "num_prompts": run.cfg.num_prompts,
        "status": "ok", "reason": None, "t_start_s": T0, "t_end_s": T0 + result["duration"], "m_start_s": 0.0,
        "m_end_s": result["duration"],
    }  # fmt: skip
    listed = requests.table(requests.rows("s", spec, record, result))
    row = runs.row("s", spec, record, result["duration"], listed, counted=_counted(run), late_work=0,
                   tokens_from=requests.tokens_from(result), warmup_verdict="CONVERGED", expected_failure=False,
                   busy_until_s=None, thresholds=THRESHOLDS)  # fmt: skip
    return {**row, "client": "native"}


def _counted(run, drafts=1000):
    after = {'vllm:request_success_total{finished_reason="length"}': 9.0,
             "vllm:time_to_first_token_seconds_count": 9.0}  # fmt: skip
    if run.cfg.spec_depth:
        after |= {"vllm:spec_decode_num_drafts_total": float(drafts),
                  "vllm:spec_decode_num_accepted_tokens_total": drafts * (run.truth["accept_len"] - 1)}  # fmt: skip
    return Counted(dict.fromkeys(after, 0.0), after)
