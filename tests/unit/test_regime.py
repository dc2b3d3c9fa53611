"""Which runs are of another regime than the decode step's fit, and the arguments that say how a server is laid out."""

from __future__ import annotations

import pandas as pd
import pytest
from benchbook import schema
from benchbook.derive import regime, scheduler, tags
from benchbook.engines import vllm_log
from benchbook.engines.vllm_layout import Layout, layout
from frames import frame

KEY = {"run_id": "s/a_c64_r1", "session_id": "s", "slot": "s1", "arm": "a", "concurrency": 64, "repeat": 1}


def run(**values):
    return {"concurrency": 64, "tpot_mean_ms": 20.0, "tpot_p90_ms": None, "tpot_p99_ms": None,
            "decode_sequences": None, **values}


@pytest.mark.parametrize(("queue", "graph", "told", "words"), [
    ({}, None, Layout(), None),
    ({"preemptions": 0, "waiting_p50": 0.0}, 64, Layout(), None),
    ({"preemptions": 3.0}, None, Layout(), "preempted 3 requests"),
    ({"waiting_p50": 12.0, "waiting_max": 40.0}, None, Layout(), "12 requests waited"),
    ({"waiting_p50": 0.0, "waiting_max": 64.0}, None, Layout(), None),  # a wave that has just been sent
    ({}, 32, Layout(), "64 tokens a rank and the largest captured graph 32"),
    ({}, 32, Layout(ranks=2), None),
    ({}, 64, Layout(speculative=1), "128 tokens a rank"),
    ({}, 64, Layout(speculative=None), None),
    ({}, 32, Layout(sequences_max=32), None),
    ({}, 32, Layout(eager=True), None),
])  # fmt: skip
def test_each_reason(queue, graph, told, words):
    found = regime.reasons(run(), queue, graph, told)
    assert (words is None and found == []) or (len(found) == 1 and words in found[0])


def test_requests_that_are_kept_out_are_in_no_step():
    starved = run(concurrency=160, decode_sequences=113.0)
    assert regime.tokens_per_step_and_rank(starved, Layout()) == 113
    nearly_all = run(concurrency=65, decode_sequences=63.9)
    assert regime.tokens_per_step_and_rank(nearly_all, Layout()) == 65


@pytest.mark.parametrize(("values", "words"), [
    ({}, None),
    ({"tpot_p90_ms": 20.9}, None),
    ({"tpot_p90_ms": 21.2}, "p90 of TPOT is 1.060 times"),
    ({"tpot_p90_ms": 21.2, "tpot_p99_ms": 20.9}, None),
    ({"tpot_p99_ms": 22.0}, "p99 of TPOT is 1.100 times"),
])
def test_requests_of_one_step_have_one_tpot(values, words):
    found = regime.uneven(run(**values))
    assert found is None if words is None else words in found


def test_the_tag():
    row = KEY | {"status": "ok", "tags": "UNSTEADY", "client": "native", "spec_hash": "0", "expected_failure": False,
                 "num_prompts": 256, "waves": 4.0, "whole_waves": True, "spare": False, "replaced": False}
    tables = {name: schema.empty(name) for name in ("telemetry", "client", "reconciliation")}
    tables |= {"runs": frame("runs", [row]),
               "scheduler": frame("scheduler", [KEY | {"scrapes": 9, "preemptions": 0, "waiting_p50": 0.0}]),
               "sessions": pd.DataFrame({"session_id": ["s"], "graph_tokens_max": pd.array([48], "Int64"),
                                         "server_cpus": None, "server_cpus_held": None}),
               }  # fmt: skip
    assert tags.with_observers(tables, {}, {"s": Layout()})["tags"][0] == "UNSTEADY,REGIME"
    assert tags.with_observers(tables, {}, {"s": Layout(ranks=8)})["tags"][0] == "UNSTEADY"
    eager = tables | {"sessions": tables["sessions"].assign(graph_tokens_max=pd.array([None], "Int64"))}
    assert tags.with_observers(eager, {}, {"s": Layout()})["tags"][0] == "UNSTEADY"
    for held, told in ((True, "UNSTEADY"), (False, "UNSTEADY,UNPINNED"), (None, "UNSTEADY,UNPINNED")):
        pinned = eager | {"sessions": eager["sessions"].assign(server_cpus=2, server_cpus_held=held)}
        assert tags.with_observers(pinned, {}, {"s": Layout()})["tags"][0] == told


def test_a_wave_that_was_just_sent_is_no_queue():
    """Waiting at 1 of 9 scrapes: the largest shows it, the median does not."""
    watched = pd.DataFrame({"t_s": range(9), "running": 64.0, "waiting": [0, 40.0] + [0] * 7, "kv_usage": 0.1})
    row = scheduler.row(KEY | {"t_start_s": -1.0, "t_end_s": 10.0}, schema.empty("requests"), watched, None, True, 0.1)
    assert (row["waiting_max"], row["waiting_p50"]) == (40.0, 0.0)


CAPTURED = "INFO 06-01 10:00:09 [m.py:1] Graph capturing finished in 2 secs, took 0.10 GiB\n"


@pytest.mark.parametrize(("log", "tokens"), [
    ("INFO 06-01 10:00:00 [c.py:1] config: {'max_cudagraph_capture_size': 256}\n" + CAPTURED, 256),
    ('INFO 06-01 10:00:00 [c.py:1] config: {"cudagraph_capture_sizes":[512],"max_capture_size":512}\n' + CAPTURED, 512),
    ("INFO 06-01 10:00:00 [m.py:1] Profiling CUDA graph memory: PIECEWISE=51 (largest=512), FULL=35 (largest=256)\n"
     "INFO 06-01 10:00:08 [w.py:1] Available KV cache memory: 70.5 GiB\n" + CAPTURED, 512),
    ("INFO 06-01 10:00:00 [c.py:1] enforce_eager=True, {'max_cudagraph_capture_size': 0}\n", None),
    ("INFO 06-01 10:00:00 [c.py:1] config: {'max_cudagraph_capture_size': 256}\n", None),
])  # fmt: skip
def test_the_largest_captured_graph(log, tokens):
    assert vllm_log.boot_facts(log).graph_tokens_max == tokens


@pytest.mark.parametrize(("args", "expected"), [
    ({}, Layout()),
    ({"data-parallel-size": 8, "enable-expert-parallel": True}, Layout(ranks=8, expert=True)),
    ({"data_parallel_size": "4", "tensor_parallel_size": 2}, Layout(ranks=4, tensor=2)),
    ({"tp": 2, "pp": 2}, Layout(tensor=2, pipeline=2)),
    ({"enforce-eager": True, "max-num-seqs": 64}, Layout(eager=True, sequences_max=64)),
    ({"speculative-config": '{"method": "mtp", "num_speculative_tokens": 3}'}, Layout(speculative=3)),
    ({"speculative-config": {"num_speculative_tokens": 1}}, Layout(speculative=1)),
    ({"speculative-config.num_speculative_tokens": 2}, Layout(speculative=2)),
    ({"speculative-config": {"method": "ngram"}}, Layout(speculative=None)),
    ({"speculative-config": "mtp.json"}, Layout(speculative=None)),
    ({"data-parallel-size": "many", "max-num-seqs": "lots"}, Layout()),
    ({"enforce-eager": False, "enable-expert-parallel": None}, Layout()),
])
def test_arguments_of_a_server(args, expected):
    assert layout(args) == expected


def test_sizes_of_a_layout():
    assert Layout(ranks=4, tensor=2).gpus == 8
    assert Layout(speculative=3).tokens_per_sequence == 4 and Layout(speculative=None).tokens_per_sequence is None
