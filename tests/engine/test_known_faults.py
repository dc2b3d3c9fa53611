"""Faults injected one by one into a server that writes down what it did, seen through the real load clients.

One session, a run per fault: what the fault did to its run, and that the numbers of the rest are right.
"""

from __future__ import annotations

import pandas as pd
import pytest
import timed
from benchbook.measure import session

pytestmark = pytest.mark.engine
TOKENS, WAVES, C = 32, 4, 4
REQUESTS = C * WAVES
HIT = 6  # the request that a fault befalls: the second of the second wave
FAULTS = {
    "clean": {"fault": None}, "stall": {"request": HIT}, "slow_first": {"request": HIT},
    "error_event": {"request": HIT}, "short": {"request": HIT}, "cut": {"request": HIT}, "reset": {"request": HIT},
    "no_usage": {"request": HIT}, "empty_chunks": {}, "two_tokens": {"fault": None, "tokens_per_chunk": 2},
    "speculation": {"fault": None, "tokens_per_chunk": 2, "speculative": True},
    "http500": {}, "prefix_hits": {}, "jit": {"request": HIT}, "hang": {"request": HIT}, "after_hang": {"fault": None},
}  # fmt: skip
READ_GAP_S = 8.0  # longer than a stall
UNINTENDED = {"UNWARMED", "UNSTEADY", "TELEM"}  # of runs as short as these
MANY = 16
FATAL = {
    "frontend": {"seconds": 0.1}, "crash": {"request": 2 * MANY + 2}, "after_crash": {"fault": None},
}  # fmt: skip


def measure(client, faults, concurrency, folder, python, model):
    """Measure one run per fault, in this order; the function from a fault to its Run, and the sessions."""
    names = {fault: f"only_c{concurrency}_r{number}" for number, fault in enumerate(faults, start=1)}
    plan = {names[fault]: {"fault": fault} | settings for fault, settings in faults.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "NODE_LOCK", folder / "node.lock")
        measured = timed.measure(
            client, python, model, folder, plan, {concurrency: WAVES}, repeats=len(faults), output_tokens=TOKENS,
            run_s=12.0, read_gap_s=READ_GAP_S,
        )  # fmt: skip
    return lambda fault: measured.run(names[fault]), measured.sessions


@pytest.fixture(scope="module", params=["native", "vllm-bench"])
def run(request, tmp_path_factory, engine_python, tiny_model):
    return measure(request.param, FAULTS, C, tmp_path_factory.mktemp("faults"), engine_python, tiny_model)[0]


@pytest.fixture(scope="module")
def died(tmp_path_factory, engine_python, tiny_model):
    return measure("native", FATAL, MANY, tmp_path_factory.mktemp("fatal"), engine_python, tiny_model)


def is_native(run):
    return run.row["client"] == "native"


def right(run):
    """Whether the row of a run says what the server did for the requests that it served whole."""
    good = run.good
    listed = run.requests[run.requests["ok"]]
    assert list(listed.index) == list(good.index)
    assert run.row["completed"] == len(good)
    assert run.row["output_tokens"] == good["tokens"].sum()
    assert run.row["prompt_tokens"] == good["prompt_tokens"].sum()
    tpot_ms = 1000 * (good["last"] - good["first"]) / (good["tokens"] - 1)
    assert run.row["tpot_mean_ms"] == pytest.approx(tpot_ms.mean(), rel=0.1)
    late_ms = listed["ttft_ms"].astype(float) - 1000 * (good["first"] - good["arrival"])
    assert late_ms.between(0, 300).all(), "a token is seen after it was sent, and not much later"
    assert listed["t_first_s"].astype(float).to_numpy() == pytest.approx(
        (good["first"] + good["unix_offset"]).to_numpy(), abs=0.3
    )


def test_no_fault(run):
    clean = run("clean")
    right(clean)
    assert clean.row["status"] == "ok" and clean.row["tokens_per_chunk"] == pytest.approx(1.0)
    assert clean.requests["error"].isna().all() and clean.row["tokens_from"] == "usage"
    assert clean.tags <= UNINTENDED


def test_the_servers_counters_say_the_same(run):
    for fault in ("clean", "two_tokens", "empty_chunks"):
        seen = run(fault)
        assert seen.delta("generation_tokens_total") == seen.row["output_tokens"] == REQUESTS * TOKENS
        assert seen.delta("prompt_tokens_total") == seen.row["prompt_tokens"]
        assert seen.delta("time_to_first_token_seconds_count") == REQUESTS


def test_a_stall_of_the_whole_server(run):
    stalled = run("stall")
    right(stalled)
    assert stalled.row["status"] == "ok", "every token came"
    assert stalled.row["stalls"] == C and stalled.tags - UNINTENDED == {"STALLED"}
    gaps_ms = stalled.requests["itl_ms"].map(max)
    assert (gaps_ms > 4900).sum() == C, "one wave saw it, in the middle of its answers"
    assert stalled.row["itl_p50_ms"] == pytest.approx(10, rel=0.1)


def test_one_slow_first_token(run):
    slow = run("slow_first")
    right(slow)
    late = slow.requests["ttft_ms"] > 5000
    assert list(slow.requests.index[late]) == list(slow.truth.index[slow.truth["number"] == HIT])
    assert slow.row["ttft_p50_ms"] < 200 and slow.row["status"] == "ok"
    assert slow.row["stalls"] == 1 and slow.tags - UNINTENDED == {"STALLED"}


@pytest.mark.parametrize(("fault", "of_vllm", "of_native"), [
    ("error_event", "error in the stream: EngineCore encountered an issue",
     "error_event: EngineCore encountered an issue"),
    ("cut", "the stream ended without [DONE]", "no_done: "), ("reset", "ClientPayloadError", "closed: "),
])  # fmt: skip
def test_an_answer_that_broke_off(run, fault, of_vllm, of_native):
    broken = run(fault)
    told = of_native if is_native(broken) else of_vllm
    right(broken)
    assert broken.row["status"] == "incomplete" and broken.row["failed"] == 1
    assert broken.tags - UNINTENDED == {"INCOMPLETE", "MISMATCH"}, "the server counted what the client leaves out"
    assert broken.row["tokens_from"] == "usage", "the broken one has no say in it"
    assert f"1 of {REQUESTS} requests failed" in broken.row["reason"] and told in broken.row["reason"]
    (request,) = broken.requests[~broken.requests["ok"]].to_dict("records")
    assert told in request["error"]
    names = ("ttft_ms", "e2el_ms", "tpot_ms", "t_last_s", "output_tokens", "prompt_tokens", "chunks")
    assert all(pd.isna(request[name]) for name in names) and len(request["itl_ms"]) == 0
    if is_native(broken):
        assert request["failure_kind"] == of_native.partition(":")[0] and request["failure_s"] > 0


def test_fewer_tokens_than_asked_for(run):
    short = run("short")
    if is_native(short):
        assert f"1 of {REQUESTS} requests failed: short_output: {TOKENS // 2} tokens came and {TOKENS} were" in (
            short.row["reason"])  # fmt: skip
        assert short.row["output_tokens"] == (REQUESTS - 1) * TOKENS
        return
    right(short)
    assert short.row["status"] == "incomplete" and short.tags - UNINTENDED == {"INCOMPLETE"}
    assert f"1 of {REQUESTS} requests did not return the {TOKENS} tokens" in short.row["reason"]
    assert short.row["output_tokens"] == REQUESTS * TOKENS - TOKENS // 2


def test_a_count_that_the_server_did_not_tell(run):
    guessed = run("no_usage")
    if is_native(guessed):
        assert f"1 of {REQUESTS} requests failed: no_usage: " in guessed.row["reason"]
        assert guessed.row["output_tokens"] == (REQUESTS - 1) * TOKENS and guessed.row["tokens_from"] == "usage"
        return
    right(guessed)
    counts = guessed.raw.result(guessed.record)["benchbook"]["usage_tokens"]
    assert counts.count(None) == 1 and counts.count(TOKENS) == REQUESTS - 1
    assert guessed.row["tokens_from"] == "retokenized" and guessed.tags - UNINTENDED == {"RETOKENIZED"}


@pytest.mark.parametrize("fault", ["two_tokens", "speculation"])
def test_two_tokens_a_chunk(run, fault):
    two = run(fault)
    right(two)
    assert two.row["status"] == "ok" and two.tags <= UNINTENDED
    assert two.row["tokens_per_chunk"] == pytest.approx((TOKENS - 1) / (TOKENS / 2))
    assert two.row["tpot_mean_ms"] == pytest.approx(10 * TOKENS / 2 / (TOKENS - 1), rel=0.05)


def test_the_time_between_two_chunks_is_reported_only_where_it_is_a_decode_step(run):
    merged, speculated = run("two_tokens"), run("speculation")
    assert pd.isna(merged.row["itl_mean_ms"]) and pd.isna(merged.row["itl_p50_ms"])
    assert speculated.row["tokens_per_step"] == pytest.approx(speculated.row["tokens_per_chunk"], rel=0.02)
    assert speculated.row["itl_p50_ms"] == pytest.approx(10, rel=0.1)
    assert speculated.row["step_ms"] == pytest.approx(10, rel=0.05)


def test_chunks_without_a_token(run):
    empty = run("empty_chunks")
    right(empty)
    assert empty.row["status"] == "ok" and empty.tags <= UNINTENDED and empty.row["tokens_per_chunk"] == 1.0
    assert empty.row["itl_p50_ms"] == pytest.approx(10, rel=0.1)
    result = empty.raw.result(empty.record)
    if is_native(empty):
        kinds = "".join(result["benchbook"]["chunk_kinds"])
        assert kinds.count("t") == REQUESTS * TOKENS and kinds.count("e") > 0.5 * REQUESTS * TOKENS
        assert sum(len(gaps) for gaps in result["itls"]) == REQUESTS * (TOKENS - 1)
    else:
        gaps_of_vllm = sum(len(gaps) for gaps in result["itls"])
        assert gaps_of_vllm > 1.5 * REQUESTS * (TOKENS - 1), "vLLM takes them for tokens"


def test_every_request_answered_500(run):
    failed = run("http500")
    assert failed.row["status"] == "failed" and failed.row["failed"] == REQUESTS
    told = "http_status: HTTP 500: Internal server error" if is_native(failed) else "Internal Server Error"
    assert f"all {REQUESTS} requests failed: {told}" in failed.row["reason"]
    figures = ("throughput_tok_s", "tpot_mean_ms", "ttft_mean_ms", "itl_mean_ms", "output_tokens", "tokens_per_chunk")
    assert all(pd.isna(failed.row[name]) for name in figures)
    assert failed.tags - UNINTENDED == {"INCOMPLETE"}


def test_prefix_hits_and_a_late_compilation_leave_their_mark(run):
    hits, jit = run("prefix_hits"), run("jit")
    right(hits)
    right(jit)
    assert hits.delta("prefix_cache_hits_total") == hits.delta("prefix_cache_queries_total") > 0
    assert hits.tags - UNINTENDED == {"CACHED"} and jit.tags <= UNINTENDED
    assert jit.delta("prefix_cache_hits_total") == 0
    assert jit.row["late_work"] == 1 and "UNWARMED" in jit.tags and hits.row["late_work"] == 0
    assert "Triton kernel JIT compilation during inference" in jit.raw.server_log


def test_a_server_that_stops_sending_costs_its_run_only(run):
    hung, after = run("hang"), run("after_hang")
    if is_native(hung):
        assert f"1 of {REQUESTS} requests failed: read_gap: " in hung.row["reason"]
        (request,) = hung.requests[~hung.requests["ok"]].to_dict("records")
        assert request["failure_kind"] == "read_gap" and request["failure_s"] > READ_GAP_S
    else:
        assert hung.row["status"] == "failed" and "not finished within 12 s" in hung.row["reason"]
        assert hung.record["failure_kind"] == "timeout" and hung.record["client"] is None
    assert "INCOMPLETE" in hung.tags
    right(after)
    assert after.row["status"] == "ok" and after.raw is hung.raw, "the session went on"


def test_a_server_that_dies_at_half(died):
    run, sessions = died
    crashed, after = run("crash"), run("after_crash")
    assert crashed.row["status"] == "incomplete" and crashed.record["failure_kind"] == "server_died"
    assert "SIGKILL" in crashed.row["reason"] and crashed.tags - UNINTENDED == {"INCOMPLETE"}
    assert (crashed.truth["outcome"] == "killed").sum() == MANY
    right(crashed)
    right(after)
    assert after.raw.ending["reboot_of"] == crashed.raw.session_id
    assert [raw.status for raw in sessions] == ["failed", "complete"]


def test_requests_stuck_before_the_engine(died):
    run, _ = died
    stuck = run("frontend")
    right(stuck)
    assert stuck.tags - UNINTENDED == {"FRONTEND"}
    assert stuck.scheduler["engine_arrival_rate_req_s"] == pytest.approx(10, rel=0.1)
    assert stuck.row["ttft_p50_ms"] > 500, "the client waits for what the engine has not seen yet"
    scraped = [line["v"] for line in stuck.raw.telemetry if line["src"] == "metrics"
               and stuck.row["t_start_s"] < line["t"] < stuck.row["t_end_s"]]  # fmt: skip
    running, waiting = (
        [value for page in scraped for name, value in page.items() if name.startswith(f"vllm:num_requests_{state}{{")]
        for state in ("running", "waiting")
    )
    assert len(running) > 5 and max(running) < MANY / 2 and set(waiting) == {0.0}
