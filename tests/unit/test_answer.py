"""What one request's bytes and read times say: figures, failures, and that no way of cutting them up matters."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from benchbook.measure import bench_result
from benchbook.measure.client import answer, events, http_message
from benchbook.measure.client.endpoints import ENDPOINTS
from hypothesis import given
from hypothesis import strategies as st
from rawanswers import (
    DONE,
    HEAD,
    START_S,
    VLLM_ERROR,
    chunk,
    completion,
    data,
    delta,
    generated,
    message,
    named,
    raw,
    usage,
)

COMPLETIONS = ENDPOINTS["completions"]
WORDS = [data(completion("one")), data(completion(" two")), data(completion(" drei äöü €", "length"))]
USAGE = data(usage(16, 3))
WHOLE = [*WORDS, USAGE, DONE]


def read(reads, times_s=None, endpoint=COMPLETIONS, asked=3, exact=True, **how):
    return answer.read(raw(reads, times_s, **how), endpoint, asked, exact)


def test_a_whole_answer():
    read_ = read(message(WHOLE), [0.010, 0.050, 0.060, 0.090, 0.091, 0.092, 0.093])
    assert read_.failure is None
    assert (read_.status, read_.done, read_.reads, read_.finish_reason) == (200, True, 7, "length")
    assert (read_.text, read_.kinds) == ("one two drei äöü €", "ttt")
    assert (read_.prompt_tokens, read_.output_tokens, read_.cached_tokens) == (16, 3, None)
    assert list(read_.chunk_s) == pytest.approx([0.050, 0.060, 0.090])
    assert (read_.ttft_s, read_.answer_ttft_s, read_.e2el_s) == pytest.approx((0.050, 0.050, 0.090))
    assert (read_.tpot_s, read_.itl_s) == (pytest.approx(0.020), pytest.approx((0.010, 0.030)))
    assert (read_.started_s, read_.scheduled_s) == (START_S, START_S - 1.0)


def test_an_event_has_the_time_of_the_read_that_brought_the_end_of_its_blank_line():
    first, second = chunk(WORDS[0]), chunk(WORDS[1])
    reads = [HEAD + first[:-3], first[-3:] + second[:9], second[9:] + b"".join(map(chunk, WHOLE[2:])) + b"0\r\n\r\n"]
    assert first[-3:] == b"\n\r\n"
    assert list(read(reads, [1.0, 2.0, 3.0]).chunk_s) == [2.0, 3.0, 3.0]
    late = [HEAD + first[:-2], first[-2:] + second + b"".join(map(chunk, WHOLE[2:])) + b"0\r\n\r\n"]
    assert list(read(late, [1.0, 2.0]).chunk_s) == [1.0, 2.0, 2.0]  # the chunk's own end comes after the event's


# ---- chunks without text ---------------------------------------------------------------------------------------------

EMPTY = data(completion(""))


@pytest.mark.parametrize(("tokens", "token_s"), [
    (2, [3.0, 5.0]), (4, [2.0, 3.0, 4.0, 5.0]), (5, [3.0, 5.0]), (3, [2.0, 3.0, 4.0, 5.0]),
])  # fmt: skip
def test_chunks_without_text_hold_no_token_only_where_the_servers_count_says_so(tokens, token_s):
    read_ = read(message([EMPTY, WORDS[0], EMPTY, WORDS[1], data(usage(16, tokens)), DONE]), exact=False)
    assert read_.failure is None
    assert (read_.kinds, list(read_.chunk_s), list(read_.token_s)) == ("etet", [2.0, 3.0, 4.0, 5.0], token_s)
    assert (read_.ttft_s, read_.answer_ttft_s, read_.e2el_s) == (token_s[0], token_s[0], token_s[-1])
    assert read_.tpot_s == (token_s[-1] - token_s[0]) / (tokens - 1)


def test_the_same_rule_as_for_a_result_in_vllms_form():
    """bench_result judges results that list every chunk; both must say the same of the same answer."""
    for tokens in (2, 3, 4, 5):
        read_ = read(message([EMPTY, WORDS[0], EMPTY, WORDS[1], data(usage(16, tokens)), DONE]), exact=False)
        chunks = list(read_.chunk_s)
        listed = bench_result.requests({
            "ttfts": chunks[:1], "itls": [[later - sooner for sooner, later in pairwise(chunks)]],
            "latencies": [chunks[-1]], "start_times": [START_S], "input_lens": [16], "output_lens": [tokens],
            "errors": [""], "benchbook": {
                "chunks": [len(chunks)], "usage_tokens": [tokens],
                "empty_chunks": [[place for place, kind in enumerate(read_.kinds) if kind == "e"]],
            },
        })[0]  # fmt: skip
        assert (listed.ttft_s, listed.e2el_s, listed.itl_s) == (read_.ttft_s, read_.e2el_s, read_.itl_s)
        assert listed.tpot_s == read_.tpot_s


def test_chat_deltas_without_content_are_tokens_only_where_the_count_says_so():
    role = data(delta(role="assistant", content=""))
    for tokens, token_s in ((2, [3.0, 5.0]), (3, [3.0, 4.0, 5.0]), (7, [3.0, 5.0])):
        parts = [role, data(delta(content="a")), data(delta(content="")), data(delta(content="b"))]
        read_ = read(message([*parts, data(usage(1, tokens)), DONE]), endpoint=ENDPOINTS["chat"], exact=False)
        assert (read_.kinds, list(read_.token_s)) == ("etet", token_s)


def test_tpot_needs_two_tokens():
    assert read(message([WORDS[0], data(usage(16, 1)), DONE]), asked=1).tpot_s is None


def test_tokens_that_came_in_one_chunk_have_no_time_between_them():
    """vLLM puts all tokens into one chunk when its front end falls behind the engine."""
    read_ = read(message([WORDS[0], data(usage(16, 12)), DONE]), asked=12)
    assert (read_.failure, read_.ttft_s, read_.e2el_s, read_.tpot_s, read_.itl_s) == (None, 2.0, 2.0, None, ())


# ---- failures --------------------------------------------------------------------------------------------------------


def failure(*args, **kwargs):
    read_ = read(*args, **kwargs)
    assert read_.failure is not None
    return read_.failure.kind, read_.failure.text, read_.failure.at_s


def test_vllm_57519_an_error_in_the_stream_is_a_failure_though_done_and_usage_follow():
    """vllm-project/vllm#57519: HTTP 200, some tokens, an error event, [DONE]: counted as a success."""
    reads = message([WORDS[0], data(VLLM_ERROR), USAGE, DONE])
    read_ = read(reads)
    assert (read_.failure.kind, read_.failure.text, read_.failure.at_s) == ("error_event", "Internal server error", 3.0)
    assert (read_.kinds, list(read_.chunk_s), read_.text) == ("t", [2.0], "one")


@pytest.mark.parametrize("event", [
    data({"error": "it broke"}),
    b'event: error\ndata: {"message": "it broke"}\n\n', b"event: error\ndata: it broke\n\n",
    data({"object": "error", "message": "it broke", "type": "BadRequestError", "param": None, "code": 400}),
    data({"choices": [{"text": "", "finish_reason": "error"}], "error": {"code": 502, "message": "it broke"}}),
])  # fmt: skip
def test_every_form_of_an_error_event(event):
    kind, text, at_s = failure(message([WORDS[0], event, DONE]))
    assert (kind, at_s) == ("error_event", 3.0)
    assert "it broke" in text


def test_an_answer_that_the_server_cut_off_failed():
    kind, text, _ = failure(message([WORDS[0], data(completion("", "abort")), USAGE, DONE]))
    assert (kind, "abort" in text) == ("error_event", True)


@pytest.mark.parametrize(("body", "text"), [
    (json.dumps(VLLM_ERROR), "HTTP 500: Internal server error"),
    ('{"object":"error","message":"no such model","code":404}', "HTTP 500: no such model"),
    ('{"detail":"Not Found"}', "HTTP 500: Not Found"),
    ("<html>\nBad Gateway", "HTTP 500: <html>"),
    ("", "HTTP 500: no text"),
])  # fmt: skip
def test_http_status(body, text):
    head = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert failure([head, body.encode()], [0.5, 0.7]) == ("http_status", text, 0.5)
    read_ = read([head], [0.5], ending="closed", ended_s=2.0)  # the status is told before the transport's end
    assert (read_.status, read_.failure.kind) == (500, "http_status")


@pytest.mark.parametrize("ending", ["closed", "reset", "read_gap", "interrupted"])
@pytest.mark.parametrize("brought", [0, 1, 2, 4])
def test_an_end_before_the_stream_was_complete(ending, brought):
    reads = message(WHOLE)[:brought]
    read_ = read(reads, ending=ending, ended_s=60.0)
    assert (read_.failure.kind, read_.failure.at_s, read_.done) == (ending, 60.0, False)
    assert (len(read_.kinds), len(read_.chunk_s)) == (max(0, brought - 1),) * 2
    assert read_.status == (200 if brought else None)


@pytest.mark.parametrize("ending", ["refused", "unreachable"])
def test_a_request_that_was_never_sent(ending):
    read_ = read([], ending=ending, ended_s=0.5, started=False, text="No route to host")
    assert (read_.failure.kind, read_.failure.text, read_.failure.at_s) == (ending, "No route to host", 1.5)
    assert (read_.status, read_.ttft_s, read_.e2el_s, read_.tpot_s, read_.itl_s) == (None, None, None, None, ())


@pytest.mark.parametrize("ending", ["closed", "reset", "read_gap", "interrupted"])
def test_an_end_after_the_stream_was_complete_is_none(ending):
    read_ = read(message(WHOLE)[:-1], ending=ending, ended_s=60.0)
    assert (read_.failure, read_.e2el_s) == (None, 4.0)


def test_an_end_after_done_but_without_usage_is_one():
    assert failure(message([*WORDS, DONE])[:-1], ending="closed", ended_s=9.0)[0] == "closed"


def test_no_done():
    assert failure(message([*WORDS, USAGE]), ended_s=9.0)[::2] == ("no_done", 9.0)
    assert failure(message([]))[0] == "no_done"


def test_no_usage():
    assert failure(message([*WORDS, DONE]))[0] == "no_usage"
    assert failure(message([*WORDS, data(completion("") | {"usage": None}), DONE]))[0] == "no_usage"


def test_short_output():
    kind, text, _ = failure(message(WHOLE), asked=4)
    assert (kind, text) == ("short_output", "3 tokens came and 4 were asked for (finish_reason length)")
    assert read(message(WHOLE), asked=4, exact=False).failure is None
    assert failure(message([data(usage(16, 0)), DONE]), exact=False)[0] == "short_output"
    assert failure(message([data(usage(16, 3)), DONE]))[0] == "short_output"


def test_more_tokens_than_asked_for_are_kept():
    read_ = read(message(WHOLE), asked=2)
    assert (read_.failure, read_.output_tokens) == (None, 3)


@pytest.mark.parametrize("event", [
    b"data: {\n\n", b'data: "text"\n\n', b"data: [1]\n\n", b"data: \xff{}\n\n", b'data: {"choices": [1]}\n\n',
    b'data: {"choices": [{"text": 1}]}\n\n', b'data: {"choices": {"text": "a"}}\n\n',
    b"data: " + b"[" * 100_000 + b"\n\n",
    b'data: {"choices":[],"usage":{"completion_tokens":true}}\n\n', b'data: {"usage":{"completion_tokens":-1}}\n\n',
    b'data: {"usage":{"completion_tokens":1e400}}\n\n', b'data: {"usage":7}\n\n',
])  # fmt: skip
def test_an_event_that_cannot_be_read_fails_the_request_and_keeps_the_others(event):
    read_ = read(message([WORDS[0], event, *WORDS[1:], USAGE, DONE]))
    assert (read_.failure.kind, read_.failure.at_s, read_.text) == ("unreadable", 3.0, "one two drei äöü €")
    assert len(read_.chunk_s) == len(read_.kinds) == 3
    assert failure(message([event, data(VLLM_ERROR), DONE]))[0] == "error_event"


@pytest.mark.parametrize(("reads", "said"), [
    ([b"SSH-2.0-OpenSSH_9.2\r\n"], "status line"),
    ([b"HTTP/2 200\r\n\r\n"], "status line"),
    ([HEAD, b"zz\r\n"], "chunk size"),
    ([HEAD, b"-5\r\n"], "chunk size"),
    ([HEAD, b"0x5\r\ndata:\r\n"], "chunk size"),
    ([HEAD, b"2\r\ndata: \r\n"], "does not end where its size says"),
    ([HEAD.replace(b"chunked", b"gzip, chunked"), b"x"], "Transfer-Encoding"),
    ([HEAD.replace(b"server: uvicorn", b"content-encoding: br"), b"x"], "compressed"),
    ([b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n", b"x"], "Content-Length"),
    ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"data: {}\n"], "form|event"),
    ([b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\ncontent-type: text/html\r\n\r\n", b"<html></html"], "text/html"),
])  # fmt: skip
def test_framing_that_cannot_be_read(reads, said):
    kind, text, _ = failure(reads)
    if said == "form|event":  # an object without choices is an event that carries nothing
        assert kind == "no_done"
        return
    assert kind == "unreadable"
    assert said in text
    closed = failure(reads, ending="closed") if "html" not in said else ("closed", said)
    assert closed[0] == "closed"
    assert said in closed[1]


def test_a_transport_that_calls_half_an_answer_whole_is_not_believed():
    assert failure(message(WHOLE)[:3])[0] == "unreadable"


def test_an_error_in_json_where_a_stream_should_be():
    body = json.dumps(VLLM_ERROR).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\ncontent-type: application/json\r\n\r\n" % len(body)
    assert failure([head, body]) == ("error_event", "Internal server error", 2.0)


# ---- framing and events ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", [
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200\r\nConnection: close\r\n\r\n",
])  # fmt: skip
@pytest.mark.parametrize("ending", ["whole", "closed"])
def test_a_body_that_the_connections_end_ends(head, ending):
    read_ = read([head, *WHOLE], ending=ending)
    assert (read_.failure, list(read_.chunk_s)) == (None, [2.0, 3.0, 4.0])
    assert failure([head, *WORDS], ending=ending)[0] == "no_done"
    assert failure([head, *WORDS], ending="reset")[0] == "reset"


def test_a_body_with_its_length_told():
    body = b"".join(WHOLE)
    head = b"HTTP/1.1 200 OK\r\nCONTENT-length:  %d \r\n\r\n" % len(body)
    assert read([head, *WHOLE]).failure is None
    assert failure([head, *WHOLE[:-2]], ending="closed")[0] == "closed"


def test_chunk_extensions_and_trailers():
    body = b"".join(WHOLE)
    pieces = [HEAD, b'%X;name="va\tlue";x\r\n%b\r\n' % (len(body), body), b"0;last\r\nX-Trailer: 1\r\nY: 2\r\n\r\n"]
    assert read(pieces).failure is None
    assert http_message.read(b"".join(pieces)).whole is True
    assert http_message.read(b"".join(pieces)[:-2]).whole is False


@pytest.mark.parametrize("body", [
    b": keep-alive\n\ndata: 1\n\n: again\n\n\n\ndata: 2\n\ndata: [DONE]\n\n",
    b"data: 1\r\n\r\n: c\r\n\r\ndata: 2\r\n\r\ndata: [DONE]\r\n\r\n",
    b"data:1\n\nid: 7\nretry: 5\ndata: 2\nevent: x\n\ndata:[DONE]\n\n",
    b"data\n\ndata: 1\n\n\ndata: 2\n\n\n\ndata: [DONE] \n\n",
    b"data: 1\n\r\ndata: 2\r\n\ndata: [DONE]\n\n",
])  # fmt: skip
def test_forms_of_event_streams(body):
    assert events.read(body, True).values == [1, 2, events.DONE]


def test_data_in_several_lines():
    found = events.read(b'data: {"a":\ndata: [1,\ndata:2]}\n\n', True)
    assert (found.values, found.ends) == ([{"a": [1, 2]}], [32])


def test_what_follows_the_last_blank_line_counts_when_the_body_is_finished():
    assert events.read(b"data: 1\n\ndata: 2", False).values == [1]
    found = events.read(b"data: 1\n\ndata: 2", True)
    assert (found.values, found.ends) == ([1, 2], [9, 16])


def test_two_values_in_one_event_are_not_two_events():
    first, second = events.read(b"data: 1,2\n\ndata: 3\n\n", True).values
    assert (type(first), second) == (events.Broken, 3)


def test_what_every_event_of_a_stream_repeats_is_left_out_of_those_alone():
    found = events.read(data(completion("a")) + data(completion("b") | {"model": "n"}) + DONE, True).values
    assert [value["choices"][0]["text"] for value in found[:2]] == ["a", "b"]
    assert found[1]["model"] == "n"


def test_halves_of_a_character_that_the_json_split_become_one():
    one, two = (json.dumps({"choices": [{"text": half}]}).encode() for half in ("\ud83d", "\ude00"))
    read_ = read(message([b"data: " + one + b"\n\n", b"data: " + two + b"\n\n", USAGE, DONE]))
    assert read_.text == "😀"
    assert read(message([b"data: " + one + b"\n\n", USAGE, DONE])).text == "\ufffd"


# ---- properties ------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def streams(draw):
    """(endpoint, events in bytes, kinds, text): a whole stream as a server may send it, in any framing."""
    name = draw(st.sampled_from(sorted(ENDPOINTS)))
    texts = draw(st.lists(TEXTS, min_size=1, max_size=6))
    kinds = "".join("t" if text else "e" for text in texts)
    count = len(texts)
    if name == "completions":
        sent = [*map(data, map(completion, texts)), data(usage(4, count)), DONE]
    elif name == "chat":
        sent = [*(data(delta(content=text)) for text in texts), data(usage(4, count)), DONE]
    elif name == "generate":
        sent = [*(data(generated("<" + text, place + 1)) for place, text in enumerate(texts)), DONE]
        texts, kinds = ["<" + text for text in texts], "t" * count
        if any(later.startswith(sooner) for sooner, later in pairwise(texts)):
            texts = ["<", "!"]
            sent, kinds = [data(generated("<", 1)), data(generated("!", 2)), DONE], "tt"
    else:
        sent = [named({"type": "response.created", "response": {}})]
        sent += [named({"type": "response.output_text.delta", "delta": text}) for text in texts]
        sent.append(named({"type": "response.completed", "response": {"usage": {"output_tokens": count}}}))
    if draw(st.booleans()):
        sent = [b": ping\n\n" + event.replace(b"\n", b"\r\n") for event in sent]
    return ENDPOINTS[name], sent, kinds, "".join(texts)


@st.composite
def framed(draw):
    """(a stream as of `streams`, bytes of the response, for each event how many of them complete it)."""
    endpoint, sent, kinds, text = draw(streams())
    body, ends = b"".join(sent), []
    for event in sent:
        ends.append((ends[-1] if ends else 0) + len(event))
    if not draw(st.booleans()):
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        return (endpoint, sent, kinds, text), head + body, [len(head) + end for end in ends]
    cuts = sorted(draw(st.sets(st.integers(1, len(body) - 1), max_size=8)))
    whole, places = HEAD, []
    for start, stop in zip([0, *cuts], [*cuts, len(body)], strict=True):
        line = b"%x\r\n" % (stop - start)
        places += [len(whole) + len(line) + end - start for end in ends if start < end <= stop]
        whole += line + body[start:stop] + b"\r\n"
    return (endpoint, sent, kinds, text), whole + b"0\r\n\r\n", places


def split(draw, whole):
    cuts = sorted(draw(st.sets(st.integers(1, len(whole) - 1), max_size=12))) if len(whole) > 1 else []
    return [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


def completing(reads, place):
    """Time (1, 2, 3 ...) of the read that brought byte number `place`."""
    brought = 0
    for time_s, read_ in enumerate(reads, 1):
        brought += len(read_)
        if brought >= place:
            return float(time_s)
    raise AssertionError


@given(framed(), st.data())
def test_any_cutting_into_reads_gives_the_same_answer_and_each_event_its_reads_time(stream, drawn):
    (endpoint, _, kinds, text), whole, places = stream
    reads = split(drawn.draw, whole)
    read_ = answer.read(raw(reads), endpoint, 1, False)
    assert (read_.failure, read_.done) == (None, True)
    assert (read_.kinds, read_.text, read_.output_tokens) == (kinds, text, len(kinds))
    first = 1 if endpoint.name == "responses" else 0
    due = [completing(reads, place) for place in places[first : first + len(kinds)]]
    assert list(read_.chunk_s) == due
    one = answer.read(raw([whole], [1.0]), endpoint, 1, False)
    assert replace(one, chunk_s=read_.chunk_s, token_s=read_.token_s, reads=read_.reads, ended_s=read_.ended_s) == read_


@given(framed(), st.data(), st.sampled_from(["closed", "reset", "read_gap", "interrupted", "whole"]))
def test_a_truncated_answer_failed_unless_the_stream_itself_was_complete(stream, drawn, ending):
    (endpoint, _, kinds, _), whole, places = stream
    kept = drawn.draw(st.integers(0, len(whole) - 1))
    reads = split(drawn.draw, whole[:kept]) if kept else []
    read_ = answer.read(raw(reads, ending=ending), endpoint, 1, False)
    if kept < places[-1]:
        assert read_.failure.kind == (ending if ending != "whole" else "unreadable")
    first = 1 if endpoint.name == "responses" else 0
    came = sum(place <= kept for place in places[first : first + len(kinds)])
    assert read_.kinds == kinds[:came]
    assert len(read_.chunk_s) == came


@given(framed(), st.data())
def test_flipped_bytes_never_raise(stream, drawn):
    _, whole, _ = stream
    mutated = bytearray(whole)
    for place in drawn.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=6)):
        mutated[place] = drawn.draw(st.integers(0, 255))
    ending = drawn.draw(st.sampled_from(["closed", "whole"]))
    for each in ENDPOINTS.values():
        read_ = answer.read(raw(split(drawn.draw, bytes(mutated)), ending=ending), each, 1, True)
        assert len(read_.chunk_s) == len(read_.kinds)
        assert set(read_.kinds) <= set("trce")
        assert read_.itl_s is not None
        assert read_.tpot_s is None or read_.tpot_s >= 0
        read_.text.encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["choices", "usage", "text", "delta", "content", "meta_info", "type", "response", "error",
                         "completion_tokens", "output_ids", "finish_reason", "object", "message"]),
        inner, max_size=4,
    ),
    max_leaves=8,
)  # fmt: skip


@given(st.lists(JSON, max_size=4), st.sampled_from(sorted(ENDPOINTS)), st.booleans())
def test_events_of_any_form_never_raise(values, name, response):
    sent = [data({"type": "response.completed"} | value if response and isinstance(value, dict) else value)
            for value in values]  # fmt: skip
    read_ = answer.read(raw(message([*sent, DONE])), ENDPOINTS[name], 1, True)
    assert read_.failure is not None or read_.output_tokens
    assert len(read_.chunk_s) == len(read_.kinds)


@given(st.binary(max_size=60), st.sampled_from([b"", HEAD, b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 100 C\r\n\r\n"]))
def test_any_bytes_are_a_failure_and_never_raise(noise, head):
    read_ = answer.read(raw([head + noise] if head + noise else [], ending="closed"), COMPLETIONS, 1, True)
    assert read_.failure is not None
