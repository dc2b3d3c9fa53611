"""The real load clients through the real session code, against a server that writes down what it really did."""

from __future__ import annotations

import pandas as pd
import pytest
import timed
from benchbook.measure import session

pytestmark = pytest.mark.engine
TOKENS = 128
# Its first sends cost vLLM's client tens of milliseconds: enough waves that this is well below 1 % of a run.
WAVES = {"native": {1: 2, 16: 4, 64: 6}, "vllm-bench": {1: 2, 16: 4, 64: 14, 128: 4}}
SATURATED = 128  # in flight at 1 ms a step: more than vLLM's thread can read, and no more than this server can send


@pytest.fixture(scope="module", params=list(WAVES))
def measured(request, tmp_path_factory, engine_python, tiny_model):
    folder = tmp_path_factory.mktemp("truth")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "NODE_LOCK", folder / "node.lock")
        return timed.measure(
            request.param, engine_python, tiny_model, folder, {f"only_c{SATURATED}_r1": {"step_ms": 1.0}},
            WAVES[request.param], repeats=1, output_tokens=TOKENS, input_tokens=16, run_s=60.0,
        )  # fmt: skip


@pytest.fixture(params=[1, 16, 64])
def run(request, measured):
    found = measured.run(f"only_c{request.param}_r1")
    assert found.row["status"] == "ok"
    waves = WAVES[found.row["client"]][request.param]
    assert len(found.good) == len(found.truth) == len(found.requests) == request.param * waves
    return found


def test_tpot_and_throughput_are_the_truth_within_one_percent(run):
    truth = run.truth
    tpot_ms = 1000 * (truth["last"] - truth["first"]) / (truth["tokens"] - 1)
    assert run.row["tpot_mean_ms"] == pytest.approx(tpot_ms.mean(), rel=0.01)
    throughput_tok_s = truth["tokens"].sum() / (truth["last"].max() - truth["arrival"].min())
    assert run.row["throughput_tok_s"] == pytest.approx(throughput_tok_s, rel=0.01)


def test_ttft_is_late_by_no_more_than_the_client_is(run):
    true_ms = 1000 * (run.truth["first"] - run.truth["arrival"])
    assert (run.requests["ttft_ms"].to_numpy(float) >= true_ms.to_numpy()).all()
    own_lag_ms = run.record["client"]["loop_lag_max_ms"]
    assert run.row["ttft_mean_ms"] <= true_ms.mean() + 80 + own_lag_ms
    excess_ms = run.row["ttft_mean_ms"] - true_ms.mean()
    assert run.client["ttft_excess_ms"] == pytest.approx(excess_ms, abs=0.5), "the server's figure shows by how much"


def test_counts_and_the_servers_counters_agree(run):
    assert run.row["output_tokens"] == run.delta("generation_tokens_total") == run.truth["tokens"].sum()
    assert run.row["prompt_tokens"] == run.delta("prompt_tokens_total") == 16 * len(run.truth)
    assert run.row["tokens_per_chunk"] == 1.0 and run.row["tokens_from"] == "usage"


def test_nobody_is_blamed_for_a_run_that_is_right(run):
    assert not run.tags & {"FRONTEND", "MISMATCH", "STALLED", "BIMODAL", "CACHED", "RETOKENIZED", "INCOMPLETE"}


def test_a_client_that_keeps_up_is_not_blamed(measured):
    for concurrency in (1, 16):
        run = measured.run(f"only_c{concurrency}_r1")
        assert "CLIENT" not in run.tags and pd.isna(run.client["saturated"])


@pytest.mark.parametrize("measured", ["vllm-bench"], indirect=True)
def test_a_client_that_does_not_keep_up_is(measured):
    run = measured.run(f"only_c{SATURATED}_r1")
    assert "CLIENT" in run.tags and isinstance(run.client["saturated"], str)
    assert run.row["status"] == "ok" and run.row["output_tokens"] == run.truth["tokens"].sum()
