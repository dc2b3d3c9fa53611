"""What the load client notes beside vLLM's result, and what becomes of a request because of it."""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace

import pytest
from benchbook.derive import requests
from benchbook.engines.vllm import INSIDE
from benchbook.measure import bench_result

sys.path.insert(0, str(INSIDE))
import client_truth

TOKEN = 'data: {"choices":[{"index":0,"text":" t5","finish_reason":null}],"usage":null}'
EMPTY = TOKEN.replace(" t5", "")
USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":8,"total_tokens":11,"completion_tokens":3}}'
ERROR = 'data: {"error":{"message":"EngineCore encountered an issue","code":500}}'
DONE = "data: [DONE]"


def note_of(*messages):
    note = client_truth.StreamNote()
    for message in messages:
        note.read(message)
    return note


def test_a_whole_stream():
    note = note_of(TOKEN, TOKEN, TOKEN, USAGE, DONE)
    assert (note.chunks, note.empty_chunks, note.usage_tokens, note.error, note.finished) == (3, [], 3, None, True)


def test_empty_chunks_are_noted_by_their_place():
    assert note_of(EMPTY, TOKEN, EMPTY, TOKEN).empty_chunks == [0, 2]


@pytest.mark.parametrize("text", ['say \\"error\\"', 'a \\"completion_tokens\\" b', '\\"\\"', 'ends with \\"'])
def test_a_text_that_looks_like_something_else_is_a_token(text):
    note = note_of(TOKEN.replace(" t5", text))
    assert (note.chunks, note.empty_chunks, note.error, note.usage_tokens) == (1, [], None, None)


@pytest.mark.parametrize(("event", "told"), [
    (ERROR, "EngineCore encountered an issue"), ('data: {"error":"no"}', "no"), ('data: {"error":{"code":500}}', "500"),
    ("data: {broken", None), (": ping", None),
])  # fmt: skip
def test_an_error_event(event, told):
    error = note_of(TOKEN, event).error
    assert error is None if told is None else told in error


class Handler:
    def add_chunk(self, chunk):
        return chunk


def vllm_like(streams):
    """Modules shaped as vLLM's: `benchmark` sends one request a stream, all at once, and lists a success for each."""
    functions = SimpleNamespace(StreamedResponseHandler=Handler)
    starts = iter(range(1, 100))

    async def send(stream):
        output = SimpleNamespace(start_time=float(next(starts)), success=True)
        handler = functions.StreamedResponseHandler()
        for message in stream:
            handler.add_chunk([message])
            await asyncio.sleep(0.002)
        return output

    async def benchmark():
        sent = [asyncio.create_task(serve.ASYNC_REQUEST_FUNCS["openai"](stream)) for stream in streams]
        return {"duration": 1.0, "start_times": [output.start_time for output in await asyncio.gather(*sent)]}

    serve = SimpleNamespace(ASYNC_REQUEST_FUNCS={"openai": send}, benchmark=benchmark)
    client_truth.install(serve, functions)
    return serve


def test_notes_go_to_their_own_request_and_the_client_is_measured():
    serve = vllm_like([[TOKEN] * 3 + [USAGE, DONE], [TOKEN, ERROR, DONE], [TOKEN] * 20])
    result = asyncio.run(serve.benchmark())
    assert result["duration"] == 1.0
    assert result["benchbook"] == {
        "stream_errors": [None, "EngineCore encountered an issue", None], "usage_tokens": [3, None, None],
        "finished": [True, True, False], "chunks": [3, 1, 20], "empty_chunks": [[], [], []],
    }  # fmt: skip
    client = client_truth.current.client()
    assert 0 < client["cpu_s"] <= client["span_s"] and client["span_s"] >= 0.04
    assert 0 <= client["loop_lag_mean_ms"] <= client["loop_lag_max_ms"]
    assert client["loop_lag_p99_ms"] <= client["loop_lag_max_ms"]


def test_a_run_without_requests_says_nothing_of_the_client():
    result = asyncio.run(vllm_like([]).benchmark())
    assert result["benchbook"]["usage_tokens"] == [] and client_truth.current.client() is None


def result_of(itls, tokens, **notes):
    count = len(itls)
    notes = {"stream_errors": [None] * count, "usage_tokens": tokens, "finished": [True] * count,
             "chunks": [len(itl) + 1 for itl in itls],
             "empty_chunks": [[] for _ in itls]} | notes  # fmt: skip
    return {
        "duration": 1.0, "ttfts": [0.05] * count, "itls": itls, "start_times": [9.0] * count, "errors": [""] * count,
        "latencies": [0.05 + sum(itl) for itl in itls], "input_lens": [8] * count, "output_lens": list(tokens),
        "benchbook": notes,
    }  # fmt: skip


def test_an_error_after_200_fails_its_request_and_no_other():
    result = result_of([[0.01] * 7, [0.01] * 2, [0.01] * 7], [8, 3, 8], stream_errors=[None, "EngineCore died", None])
    good, bad, _ = bench_result.requests(result)
    assert bad == bench_result.Request(False, "error in the stream: EngineCore died", 9.0, None, None, (), None, None)
    assert good.ok and good.output_tokens == 8 and good.tokens_from == "usage"
    assert bench_result.summarise(result, 2) == bench_result.Summary(16.0, pytest.approx(10.0), pytest.approx(10.0))
    judged = bench_result.judge(result, 3, 8)
    assert (judged.status, judged.kind) == ("incomplete", "requests") and "1 of 3 requests failed" in judged.reason


def test_a_stream_that_just_ends_is_a_request_that_failed():
    result = result_of([[0.01] * 7], [8], finished=[False])
    assert bench_result.requests(result)[0].error == "the stream ended without [DONE]"


def test_a_result_without_notes_is_read_by_its_own_lists():
    result = result_of([[0.01] * 7], [8])
    del result["benchbook"]
    (request,) = bench_result.requests(result)
    assert request.ok and request.output_tokens == 8 and request.tokens_from is None


def test_chunks_without_a_token_are_left_out_where_the_servers_count_proves_them():
    result = result_of([[0.005] * 7], [4], empty_chunks=[[0, 2, 4, 6]])
    (request,) = bench_result.requests(result)
    assert request.ttft_s == pytest.approx(0.055) and request.e2el_s == pytest.approx(0.085)
    assert request.itl_s == pytest.approx([0.01] * 3) and request.tpot_s == pytest.approx(0.01)


def test_tokens_without_printable_text_stay_tokens():
    (request,) = bench_result.requests(result_of([[0.005] * 7], [8], empty_chunks=[[0, 2, 4, 6]]))
    assert request.ttft_s == 0.05 and len(request.itl_s) == 7


def test_a_count_without_the_servers_word_is_the_clients_own():
    result = result_of([[0.01] * 7] * 3, [8, 8, 8], usage_tokens=[8, None, 8])
    assert [request.tokens_from for request in bench_result.requests(result)] == ["usage", "retokenized", "usage"]
    assert requests.tokens_from(result) == "retokenized"


def test_a_request_that_failed_leaves_no_doubt_about_the_others_tokens():
    result = result_of([[0.01] * 7] * 2, [8, 3], usage_tokens=[8, None], stream_errors=[None, "EngineCore died"])
    assert requests.tokens_from(result) == "usage"


def test_notes_of_another_length_than_the_result_are_refused():
    with pytest.raises(ValueError, match="argument 9 is longer"):
        bench_result.requests(result_of([[0.01] * 7], [8], **{name: [None] * 2 for name in (
            "stream_errors", "usage_tokens", "finished", "chunks", "empty_chunks")}))  # fmt: skip


def test_notes_survive_the_result_file():
    result = result_of([[0.01] * 7], [8])
    assert bench_result.requests(json.loads(json.dumps(result))) == bench_result.requests(result)
