"""How each endpoint is asked, and what its real streams say (wording from vLLM 0.32's and SGLang's sources)."""

from __future__ import annotations

import json

import pytest
from benchbook.errors import ConfigError
from benchbook.measure.client import answer
from benchbook.measure.client.endpoints import ENDPOINTS, Sampling
from benchbook.measure.client.prompt import Prompt
from rawanswers import DONE, data, delta, generated, message, named, raw, usage

TOOLS = b'[{"type":"function","function":{"name":"look","description":"d","parameters":{"type":"object"}}}]'
SYSTEM = json.dumps({"role": "system", "content": "You are terse. äöü"}, ensure_ascii=False).encode()


def body_of(name, prompt, **sampling):
    """Body in parts, and what they say together."""
    parts = ENDPOINTS[name].body(prompt, model="m", sampling=Sampling(**sampling))
    return parts, json.loads(b"".join(parts))


def read(name, events, asked=1, exact=False):
    """The answer of a whole response with these events, one read each: the head at 1 s, the first event at 2 s ..."""
    return answer.read(raw(message(events)), ENDPOINTS[name], asked, exact)


IDS = Prompt("token_ids", (b"[1,2,", b"3]"), 7, 3)
TEXT = Prompt("text", (b'"say ', b'it"'), 7, None)
CHAT = Prompt("messages", (b"[" + SYSTEM + b",", b'{"role":"user","content":"hi"}]'), 7, None, TOOLS)


@pytest.mark.parametrize(("name", "prompt", "body"), [
    ("completions", IDS, {
        "model": "m", "max_tokens": 7, "temperature": 0.0, "stream": True, "stream_options": {"include_usage": True},
        "ignore_eos": True, "prompt": [1, 2, 3],
    }),
    ("completions", TEXT, {
        "model": "m", "max_tokens": 7, "temperature": 0.0, "stream": True, "stream_options": {"include_usage": True},
        "ignore_eos": True, "prompt": "say it",
    }),
    ("chat", TEXT, {
        "model": "m", "max_completion_tokens": 7, "temperature": 0.0, "stream": True, "ignore_eos": True,
        "stream_options": {"include_usage": True}, "messages": [{"role": "user", "content": "say it"}],
    }),
    ("chat", CHAT, {
        "model": "m", "max_completion_tokens": 7, "temperature": 0.0, "stream": True, "ignore_eos": True,
        "stream_options": {"include_usage": True}, "tools": json.loads(TOOLS),
        "messages": [{"role": "system", "content": "You are terse. äöü"}, {"role": "user", "content": "hi"}],
    }),
    ("responses", TEXT, {
        "model": "m", "max_output_tokens": 7, "temperature": 0.0, "stream": True, "store": False, "ignore_eos": True,
        "input": "say it",
    }),
    ("responses", CHAT, {
        "model": "m", "max_output_tokens": 7, "temperature": 0.0, "stream": True, "store": False, "ignore_eos": True,
        "tools": [{"type": "function", "name": "look", "description": "d", "parameters": {"type": "object"}}],
        "instructions": "You are terse. äöü", "input": [{"role": "user", "content": "hi"}],
    }),
    ("generate", IDS, {
        "sampling_params": {"max_new_tokens": 7, "temperature": 0.0, "ignore_eos": True}, "stream": True,
        "input_ids": [1, 2, 3],
    }),
    ("generate", TEXT, {
        "sampling_params": {"max_new_tokens": 7, "temperature": 0.0, "ignore_eos": True}, "stream": True,
        "text": "say it",
    }),
])  # fmt: skip
def test_body(name, prompt, body):
    assert body_of(name, prompt)[1] == body


@pytest.mark.parametrize("name", ["completions", "chat", "responses", "generate"])
def test_ignore_eos_is_only_sent_when_true(name):
    assert b"ignore_eos" not in b"".join(body_of(name, TEXT, ignore_eos=False)[0])


@pytest.mark.parametrize(("name", "prompt"), [("completions", IDS), ("generate", IDS), ("chat", CHAT)])
def test_parts_of_a_prompt_stay_the_same_objects(name, prompt):
    parts = {id(part) for part in body_of(name, prompt)[0]}
    assert {id(part) for part in prompt.value} <= parts
    assert prompt.tools is None or id(prompt.tools) in parts


def test_extra_fields_go_into_the_body_and_win():
    body = body_of("completions", TEXT, extra={"seed": 3, "temperature": 1.0})[1]
    assert (body["seed"], body["temperature"]) == (3, 1.0)
    params = body_of("generate", TEXT, extra={"rid": "a", "sampling_params": {"top_p": 0.5}})[1]
    assert params["sampling_params"] == {"max_new_tokens": 7, "temperature": 0.0, "ignore_eos": True, "top_p": 0.5}
    assert params["rid"] == "a"


@pytest.mark.parametrize("name", ["prompt", "stream", "stream_options"])
def test_an_extra_field_that_the_request_sets_is_refused(name):
    with pytest.raises(ConfigError, match=name):
        body_of("completions", TEXT, extra={name: False})


@pytest.mark.parametrize(("name", "prompt"), [("completions", CHAT), ("generate", CHAT), ("chat", IDS)])
def test_a_prompt_of_another_kind_is_refused(name, prompt):
    with pytest.raises(ConfigError, match=prompt.kind):
        body_of(name, prompt)


MESSAGES = [
    {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "u"}}]},
    {"role": "assistant", "content": "I will", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}},
        {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": "seen"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "se"}, {"type": "text", "text": "en"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    {"role": "system", "content": "later"},
]  # fmt: skip
ITEMS = [
    {"role": "user", "content": [
        {"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": "u"},
    ]},
    {"role": "assistant", "content": "I will"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a":1}'},
    {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "seen"},
    {"type": "function_call_output", "call_id": "c2", "output": "seen"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    {"role": "system", "content": "later"},
]  # fmt: skip


@pytest.mark.parametrize("cut", ["one part", "between messages", "brackets apart", "anywhere"])
def test_responses_turns_messages_into_items_however_the_prompt_is_cut(cut):
    encoded = [SYSTEM, *(json.dumps(item).encode() for item in MESSAGES)]
    text = b"[" + b",".join(encoded) + b"]"
    value = {
        "one part": (text,),
        "between messages": (b"[" + b",".join(encoded[:3]) + b",", b",".join(encoded[3:]) + b"]"),
        "brackets apart": (b"[", *(part for item in encoded for part in (item, b", "))),
        "anywhere": tuple(text[place : place + 7] for place in range(0, len(text), 7)),
    }[cut]
    if cut == "brackets apart":
        value = (*value[:-1], b"]")
    assert json.loads(b"".join(value)) == json.loads(text)
    body = body_of("responses", Prompt("messages", value, 7, None))[1]
    assert (body["instructions"], body["input"]) == ("You are terse. äöü", ITEMS)


def test_responses_keeps_what_prompts_share_shared():
    shared, tools = b"[" + SYSTEM + b',{"role":"user","content":"the long document"},', TOOLS
    bodies = [
        body_of("responses", Prompt("messages", (shared, b'{"role":"user","content":"%d"}]' % i), 7, None, tools))
        for i in range(40)
    ]  # fmt: skip
    first = {id(part) for part in bodies[0][0]}
    for parts, body in bodies:
        assert body["input"][0]["content"] == "the long document"
        kept = {part for part in parts if id(part) in first}
        assert any(b"the long document" in part for part in kept)
        assert any(b"You are terse" in part for part in kept)
        assert any(b'"look"' in part for part in kept)


@pytest.mark.parametrize("message_", [
    {"role": "assistant", "content": "x", "reasoning_content": "y"}, {"role": "user", "content": [{"type": "audio"}]},
    {"role": "assistant", "tool_calls": [{"id": "c"}]},
])  # fmt: skip
def test_a_message_without_a_form_on_responses_is_refused(message_):
    with pytest.raises(ConfigError, match="responses"):
        body_of("responses", Prompt("messages", (json.dumps([message_]).encode(),), 7, None))


def test_responses_refuses_what_is_no_list_of_messages():
    with pytest.raises(ConfigError, match="JSON list"):
        body_of("responses", Prompt("messages", (b"[1]",), 7, None))


# ---- what the streams say --------------------------------------------------------------------------------------------


def test_chat_of_vllm():
    read_ = read("chat", [
        data(delta(role="assistant", content="")), data(delta(content="He")), data(delta(content="llo")),
        data(delta("length", content="!") | {}),
        data(usage(9, 3, "chat.completion.chunk", prompt_tokens_details={"cached_tokens": 4})), DONE,
    ], asked=3, exact=True)  # fmt: skip
    assert read_.failure is None
    assert (read_.text, read_.kinds, read_.finish_reason) == ("Hello!", "ettt", "length")
    assert (read_.prompt_tokens, read_.output_tokens, read_.cached_tokens) == (9, 3, 4)
    assert (read_.ttft_s, read_.e2el_s, read_.tpot_s, read_.itl_s) == (3.0, 5.0, 1.0, (1.0, 1.0))


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_inference_perf_559_reasoning_is_the_first_token_and_the_answers_first_token_stands_apart(name):
    """kubernetes-sigs/inference-perf#559: TTFT null or inflated where reasoning deltas come before the answer."""
    read_ = read("chat", [
        data(delta(role="assistant", content="")), data(delta(**{name: "Let me "})), data(delta(**{name: "think."})),
        data(delta(content="42")), data(delta("stop", content="")),
        data(usage(9, 4, "chat.completion.chunk", completion_tokens_details={"reasoning_tokens": 2})), DONE,
    ])  # fmt: skip
    assert (read_.kinds, read_.reasoning, read_.text) == ("errte", "Let me think.", "42")
    assert (read_.ttft_s, read_.answer_ttft_s, read_.reasoning_tokens) == (3.0, 5.0, 2)
    assert read_.e2el_s == 6.0  # 4 tokens in the 4 chunks after the one that says who speaks: the last is the end token


def test_an_answer_that_is_all_reasoning_has_no_first_answer_token():
    read_ = read("chat", [data(delta(reasoning="hm")), data(usage(9, 1, "c")), DONE])
    assert (read_.ttft_s, read_.answer_ttft_s, read_.failure) == (2.0, None, None)


def test_tool_calls_are_output():
    calls = [{"index": 0, "id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}]
    read_ = read("chat", [
        data(delta(role="assistant", content="")), data(delta(reasoning="hm")), data(delta(tool_calls=calls)),
        data(delta("tool_calls", tool_calls=[{"index": 0, "function": {"arguments": "{}"}}])),
        data(usage(9, 3, "c")), DONE,
    ])  # fmt: skip
    assert (read_.kinds, read_.ttft_s, read_.answer_ttft_s, read_.e2el_s) == ("ercc", 3.0, 4.0, 5.0)
    assert read_.finish_reason == "tool_calls"


def test_chat_of_openai_ends_with_an_empty_delta_that_is_no_token():
    read_ = read("chat", [
        data(delta(role="assistant", content="", refusal=None) | {"usage": None}),
        data(delta(content="a") | {"usage": None}), data(delta(content="b") | {"usage": None}),
        data(delta("stop") | {"usage": None}), data(usage(9, 2, "c")), DONE,
    ])  # fmt: skip
    assert (read_.kinds, list(read_.token_s), read_.e2el_s) == ("ette", [3.0, 4.0], 4.0)


def event(kind, **more):
    return named({"type": kind, "sequence_number": 0} | more)


def text_delta(kind, text):
    return event(kind, item_id="msg_1", output_index=0, content_index=0, delta=text, logprobs=[])


def response(status="completed", **more):
    counts = {
        "input_tokens": 9, "input_tokens_details": {"cached_tokens": 2, "input_tokens_per_turn": []},
        "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 1, "tool_output_tokens": 0},
        "total_tokens": 13,
    }  # fmt: skip
    return {"id": "resp_1", "object": "response", "status": status, "output": [], "usage": counts} | more


OPENING = [
    event("response.created", response=response("in_progress", usage=None)),
    event("response.in_progress", response=response("in_progress", usage=None)),
    event("response.output_item.added", item={"type": "reasoning", "id": "rs_1", "summary": []}),
    event("response.content_part.added", part={"text": "", "type": "reasoning_text"}),
]  # fmt: skip


def test_responses_of_vllm():
    """vLLM ends with response.completed and no [DONE], also where max_output_tokens was reached."""
    read_ = read("responses", [
        *OPENING, text_delta("response.reasoning_text.delta", "hm"),
        event("response.reasoning_text.done", text="hm"), text_delta("response.output_text.delta", "a"),
        text_delta("response.output_text.delta", "b"), event("response.output_text.done", text="ab"),
        event("response.function_call_arguments.delta", item_id="fc_1", delta="{}"),
        event("response.completed", response=response("incomplete",
                                                      incomplete_details={"reason": "max_output_tokens"})),
    ], asked=4, exact=True)  # fmt: skip
    assert read_.failure is None
    assert (read_.kinds, read_.reasoning, read_.text) == ("rttc", "hm", "ab")
    assert (read_.ttft_s, read_.answer_ttft_s, read_.e2el_s) == (6.0, 8.0, 11.0)
    assert (read_.prompt_tokens, read_.output_tokens, read_.cached_tokens, read_.reasoning_tokens) == (9, 4, 2, 1)
    assert (read_.finish_reason, read_.done) == ("length", True)


def test_responses_that_is_incomplete_or_summarised():
    read_ = read("responses", [
        *OPENING, text_delta("response.reasoning_summary_text.delta", "s"),
        text_delta("response.output_text.delta", ""),
        event("response.incomplete", response=response("incomplete", incomplete_details={"reason": "content_filter"})),
    ])  # fmt: skip
    assert (read_.failure, read_.kinds, read_.finish_reason) == (None, "re", "content_filter")


@pytest.mark.parametrize("last", [
    event("response.failed", response=response("failed", error={"code": "server_error", "message": "it broke"})),
    event("error", code="server_error", message="it broke", param=None),
    event("response.completed", response=response("failed", error={"message": "it broke"})),
    data({"error": {"message": "it broke", "type": "InternalServerError", "param": None, "code": 500}}),
])  # fmt: skip
def test_responses_that_failed(last):
    read_ = read("responses", [*OPENING, text_delta("response.output_text.delta", "a"), last])
    assert (read_.failure.kind, read_.failure.text, read_.failure.at_s) == ("error_event", "it broke", 7.0)


def test_responses_without_its_last_event_is_not_done_whatever_else_is_said():
    read_ = read("responses", [*OPENING, text_delta("response.output_text.delta", "a"), DONE])
    assert read_.failure.kind == "no_done"


LENGTH = {"type": "length", "length": 4}


@pytest.mark.parametrize(("events", "kinds"), [
    pytest.param(
        [generated("a", 1), generated("ab", 3), generated("abé", 4, LENGTH)], "ttt", id="text so far, older"),
    pytest.param(
        [generated("a", 1, output_ids=[5]), generated("a", 3, output_ids=[5, 6, 7]),
         generated("abé", 4, LENGTH, output_ids=[5, 6, 7, 8])], "tet", id="text and ids so far"),
    pytest.param(
        [generated("a", 1, output_ids=[5]), generated("ab", 3, output_ids=[6, 7]),
         generated("abé", 4, LENGTH, output_ids=[8])], "ttt", id="text so far, ids added"),
    pytest.param(
        [generated("a", 1, output_ids=[5]), generated("b", 3, output_ids=[6, 7]),
         generated("é", 4, LENGTH, output_ids=[8])], "ttt", id="incremental_streaming_output"),
])  # fmt: skip
def test_generate_of_sglang(events, kinds):
    read_ = read("generate", [*map(data, events), DONE], asked=4, exact=True)
    assert (read_.failure, read_.text, read_.kinds, list(read_.chunk_tokens)) == (None, "abé", kinds, [1, 2, 1])
    assert (read_.prompt_tokens, read_.output_tokens, read_.cached_tokens) == (5, 4, 3)
    assert (read_.finish_reason, read_.ttft_s, read_.e2el_s, read_.tpot_s) == ("length", 2.0, 4.0, 2.0 / 3)


def test_generate_with_one_text_again_and_again_is_incremental():
    read_ = read("generate", [data(generated("x", 1)), data(generated("x", 2)), data(generated("x", 3)), DONE])
    assert (read_.text, read_.kinds) == ("xxx", "ttt")


def test_generate_takes_back_a_stop_string():
    read_ = read("generate", [
        data(generated("ab", 1)), data(generated("abST", 2)), data(generated("ab", 3, {"type": "stop"})), DONE,
    ])  # fmt: skip
    assert (read_.kinds, read_.finish_reason) == ("tte", "stop")


def test_generate_chunks_that_the_count_did_not_grow_in_hold_no_token():
    read_ = read("generate", [data(generated("", 0)), data(generated("a", 1)), data(generated("ab", 2)), DONE])
    assert (list(read_.token_s), list(read_.chunk_tokens)) == ([3.0, 4.0], [0, 1, 1])


@pytest.mark.parametrize(("last", "text"), [
    ({"error": {"message": "prompt too long"}}, "prompt too long"),
    (generated("a", 1, {"type": "abort", "message": "Abort in waiting queue", "status_code": 503}),
     "Abort in waiting queue"),
    (generated("a", 1, {"type": "abort"}), "the server cut the answer off (finish_reason abort)"),
    ({"object": "error", "message": "no", "code": 400}, "no"),
])  # fmt: skip
def test_generate_that_failed(last, text):
    read_ = read("generate", [data(generated("a", 1)), data(last), DONE])
    assert (read_.failure.kind, read_.failure.text, read_.failure.at_s) == ("error_event", text, 3.0)
