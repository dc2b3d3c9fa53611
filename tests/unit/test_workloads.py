"""Workloads: exact lengths, the same list anywhere, nothing twice; what cannot be made is refused with its place."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from benchbook.errors import BenchbookError, WorkloadError
from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.workloads import count_in, entries, prompts, repeats_by_design, token_range
from benchbook.measure.client.workloads.draw import draws, shuffled
from benchbook.measure.client.workloads.lengths import lengths
from benchbook.measure.client.workloads.tool_schemas import MOST
from benchbook.measure.client.workloads.words import WORDS
from hypothesis import given, settings
from hypothesis import strategies as st

RANDOM = {"kind": "random", "input_tokens": 20, "output_tokens": 8}
SHARED = {"kind": "shared-prefix", "prefix_tokens": 64, "prefixes": 3, "input_tokens": 20, "output_tokens": 8}
SMALL_AGENT = {
    "kind": "agentic",
    "tools": 6,
    "shared_tokens": 2500,
    "input_tokens": {"distribution": "uniform", "min": 3200, "max": 5000},
    "output_tokens": 16,
}
ENDLESS = [form for kind in (RANDOM, SHARED, SMALL_AGENT) for form in (kind, {**kind, "text": True})]
NAMES = ["random", "random text", "shared", "shared text", "agentic", "agentic text"]
SEEDS = st.integers(0, 2**31 - 1)


def value(prompt: Prompt) -> Any:
    return json.loads(b"".join(prompt.value))


def digest(made: list[Prompt]) -> str:
    text = repr([(p.kind, b"".join(p.value), p.output_tokens, p.tokens, p.tools) for p in made])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# the same list anywhere, and none twice


GOLDEN = {
    "random": "712a4fba7e670174",
    "random text": "c795727b6ad617d4",
    "shared": "370c1a45dc96f39c",
    "shared text": "b821df9fc14e5c77",
    "agentic": "659ec1e12f23f682",
    "agentic text": "c3189281ef42d52f",
}


@pytest.mark.parametrize(("name", "workload"), list(zip(NAMES, ENDLESS, strict=True)), ids=NAMES)
def test_a_list_is_the_one_it_has_always_been(name, workload):
    assert digest(prompts(workload, 5, seed=7)) == GOLDEN[name]


@pytest.mark.parametrize("length", [
    {"distribution": "uniform", "min": 3, "max": 900},
    {"distribution": "normal", "mean": 200, "sd": 90.5, "min": 10, "max": 400},
    {"distribution": "lognormal", "median": 200, "sigma": 1.1, "min": 10, "max": 4000},
], ids=lambda length: length["distribution"])  # fmt: skip
def test_drawn_lengths_are_the_ones_they_have_always_been(length):
    golden = {
        "uniform": [708, 719, 573, 43, 338, 820],
        "normal": [247, 323, 274, 203, 297, 11],
        "lognormal": [356, 896, 491, 208, 649, 15],
    }
    assert list(islice(lengths(length, draws("golden"), "input_tokens"), 6)) == golden[length["distribution"]]


@pytest.mark.parametrize("workload", ENDLESS, ids=NAMES)
@given(seed=SEEDS, short=st.integers(0, 4), more=st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_a_longer_list_begins_with_the_shorter_one(workload, seed, short, more):
    long = prompts(workload, short + more, seed)
    assert len(long) == short + more
    assert prompts(workload, short, seed) == long[:short]


@given(one=SEEDS, other=SEEDS)
@settings(max_examples=50, deadline=None)
def test_prompts_of_two_seeds_never_begin_alike(one, other):
    first = [tuple(value(p)[:16]) for seed in {one, other} for p in prompts(RANDOM, 20, seed)]
    assert len(set(first)) == len(first)


@pytest.mark.parametrize("workload", ENDLESS, ids=NAMES)
@given(one=SEEDS, other=SEEDS)
@settings(max_examples=15, deadline=None)
def test_no_two_prompts_are_equal(workload, one, other):
    made = [b"".join(p.value) for seed in {one, other} for p in prompts(workload, 6, seed)]
    assert len(set(made)) == len(made)


def test_a_negative_seed_is_another_seed():
    assert prompts(RANDOM, 3, -5) != prompts(RANDOM, 3, 5)


def test_output_lengths_do_not_move_the_prompts():
    drawn = {"distribution": "normal", "mean": 50, "sd": 30, "min": 1, "max": 200}
    fixed, varied = prompts(RANDOM, 10, 3), prompts({**RANDOM, "output_tokens": drawn}, 10, 3)
    assert [p.value for p in fixed] == [p.value for p in varied]
    assert len({p.output_tokens for p in varied}) > 1


# lengths


@given(low=st.integers(1, 500), width=st.integers(0, 500), seed=SEEDS)
def test_uniform_lengths_stay_inside_and_reach_both_ends(low, width, seed):
    width = width % 6
    form = {"distribution": "uniform", "min": low, "max": low + width}
    assert set(islice(lengths(form, draws(seed), "x"), 400)) == set(range(low, low + width + 1))


def test_a_normal_has_its_mean_and_spread():
    form = {"distribution": "normal", "mean": 500, "sd": 50, "min": 1, "max": 1000}
    drawn = list(islice(lengths(form, draws(1), "x"), 20000))
    assert statistics.mean(drawn) == pytest.approx(500, abs=2)
    assert statistics.stdev(drawn) == pytest.approx(50, abs=1.5)


def test_a_normal_is_cut_off_and_not_piled_up_at_its_ends():
    form = {"distribution": "normal", "mean": 100, "sd": 50, "min": 100, "max": 110}
    drawn = list(islice(lengths(form, draws(2), "x"), 11000))
    counts = [drawn.count(tokens) for tokens in range(100, 111)]
    assert sum(counts) == len(drawn)
    assert all(900 < count < 1100 for count in counts)


def test_a_lognormal_has_its_median_and_spread():
    form = {"distribution": "lognormal", "median": 200, "sigma": 0.5, "min": 1, "max": 100000}
    drawn = list(islice(lengths(form, draws(3), "x"), 20000))
    assert statistics.median(drawn) == pytest.approx(200, rel=0.02)
    assert statistics.stdev(map(math.log, drawn)) == pytest.approx(0.5, rel=0.02)


def test_a_very_wide_lognormal_stays_inside():
    form = {"distribution": "lognormal", "median": 200, "sigma": 100.0, "min": 1, "max": 10**6}
    assert all(1 <= tokens <= 10**6 for tokens in islice(lengths(form, draws(4), "x"), 500))


@pytest.mark.parametrize(("length", "says"), [
    (0, "from 1 up"),
    (True, "a number of tokens or a distribution"),
    ("100", "a number of tokens or a distribution"),
    (None, "a number of tokens or a distribution"),
    ({"distribution": "zipf", "min": 1, "max": 2}, "just these keys"),
    ({"distribution": "uniform", "min": 1}, "just these keys"),
    ({"distribution": "uniform", "min": 1, "max": 9, "mean": 5}, "just these keys"),
    ({"distribution": "uniform", "min": 9, "max": 1}, "min not above max"),
    ({"distribution": "uniform", "min": 0, "max": 9}, "from 1 up"),
    ({"distribution": "uniform", "min": 1.5, "max": 9}, "whole numbers"),
    ({"distribution": "normal", "mean": 5, "sd": 0, "min": 1, "max": 9}, "above 0"),
    ({"distribution": "normal", "mean": "5", "sd": 1, "min": 1, "max": 9}, "numbers are needed"),
    ({"distribution": "normal", "mean": math.nan, "sd": 1, "min": 1, "max": 9}, "numbers are needed"),
    ({"distribution": "normal", "mean": 5000, "sd": 10, "min": 1, "max": 100}, "less than 1% of this normal"),
    ({"distribution": "lognormal", "median": 0, "sigma": 1, "min": 1, "max": 9}, "above 0"),
    ({"distribution": "lognormal", "median": 5, "sigma": 0.1, "min": 900, "max": 999}, "less than 1%"),
])  # fmt: skip
def test_a_length_that_cannot_be_drawn_is_refused(length, says):
    with pytest.raises(WorkloadError, match=says) as caught:
        prompts({**RANDOM, "output_tokens": length}, 1, 0)
    assert str(caught.value).startswith("output_tokens: ")


# random and shared prefix


@given(low=st.integers(0, 5000), width=st.integers(1, 5000), tokens=st.integers(1, 300), seed=SEEDS)
@settings(deadline=None)
def test_random_ids_are_exactly_as_many_as_asked_and_in_their_range(low, width, tokens, seed):
    workload = {**RANDOM, "input_tokens": tokens, "token_ids": [low, low + width]}
    for prompt in prompts(workload, 3, seed):
        assert prompt.kind == "token_ids" and prompt.tools is None and prompt.output_tokens == 8
        assert len(value(prompt)) == prompt.tokens == tokens
        assert all(low <= token < low + width for token in value(prompt))


def test_random_ids_are_uniform_and_without_memory():
    made = prompts({**RANDOM, "input_tokens": 1000, "token_ids": [5, 15]}, 100, 0)
    drawn = [token for prompt in made for token in value(prompt)]
    assert all(drawn.count(token) == pytest.approx(10000, rel=0.04) for token in range(5, 15))
    pairs = [pair for pair in pairwise(drawn) if pair[1] == pair[0] + 1]
    assert len(pairs) == pytest.approx(9000, rel=0.04)


def test_lengths_of_random_prompts_follow_their_distribution():
    form = {"distribution": "uniform", "min": 10, "max": 30}
    made = prompts({**RANDOM, "input_tokens": form}, 400, 1)
    assert {p.tokens for p in made} == set(range(10, 31))
    assert all(len(value(p)) == p.tokens for p in made)


def test_text_is_common_words_as_many_as_tokens_asked():
    for prompt in prompts({**RANDOM, "text": True}, 5, 1):
        assert (prompt.kind, prompt.tokens) == ("text", None)
        assert len(value(prompt).split(" ")) == 20
        assert set(value(prompt).split(" ")) <= set(WORDS)


def test_words_differ_and_are_plain():
    assert len(set(WORDS)) == len(WORDS) > 500
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)


@pytest.mark.parametrize("text", [False, True])
def test_a_shared_prefix_is_one_object_of_its_group_and_no_ending_is_shared(text):
    made = prompts({**SHARED, "text": text}, 8, 11)
    for index, prompt in enumerate(made):
        assert prompt.value[0] is made[index % 3].value[0]
    assert len({p.value[0] for p in made}) == 3
    assert len({p.value[1] for p in made}) == 8
    for prompt in made:
        items = value(prompt).split(" ") if text else value(prompt)
        assert len(items) == 64 + 20
        assert prompt.tokens == (None if text else 84)


def test_prefixes_depend_on_their_own_seed_alone():
    def beginnings(seed, **more):
        return [p.value[0] for p in prompts({**SHARED, **more}, 3, seed)]

    assert beginnings(1) == beginnings(2)
    assert not set(beginnings(1)) & set(beginnings(1, prefix_seed=1))
    assert not {p.value[1] for p in prompts(SHARED, 3, 1)} & {p.value[1] for p in prompts(SHARED, 3, 2)}


@pytest.mark.parametrize(("vocab_size", "ids"), [
    (None, (1000, 30000)), (151936, (1000, 30000)), (32000, (1000, 30000)), (30000, (1000, 30000)),
    (4000, (1000, 4000)), (512, (128, 512)), (2, (0, 2)),
])  # fmt: skip
def test_ordinary_ids_of_a_vocabulary(vocab_size, ids):
    assert token_range(vocab_size) == ids


def test_a_vocabulary_of_one_is_refused():
    with pytest.raises(WorkloadError, match="too small"):
        token_range(1)


def test_ids_default_to_the_usual_range():
    assert prompts(RANDOM, 4, 2) == prompts({**RANDOM, "token_ids": [1000, 30000]}, 4, 2)


# agentic


def rendered_length(messages: list[dict[str, Any]]) -> int:
    total = 0
    for message in messages:
        total += len(f"### {message['role']}\n\n")
        total += len(message["content"]) + 1 if message["content"] else 0
        for call in message.get("tool_calls", ()):
            total += len(f"call {call['function']['name']} {call['function']['arguments']}\n")
    return total


@pytest.fixture(scope="module")
def agents() -> list[Prompt]:
    return prompts({"kind": "agentic", "output_tokens": 300}, 6, 5)


def test_ninety_three_tools_are_valid_and_different(agents):
    tools = json.loads(agents[0].tools)
    names = [tool["function"]["name"] for tool in tools]
    assert len(set(names)) == len(names) == 93
    assert len({name.split("_")[0] for name in names}) > 8
    for tool in tools:
        assert set(tool) == {"type", "function"} and tool["type"] == "function"
        assert set(tool["function"]) == {"name", "description", "parameters"}
        jsonschema.Draft202012Validator.check_schema(tool["function"]["parameters"])
    texts = json.dumps(tools)
    assert '"enum"' in texts and '"additionalProperties": false' in texts
    parameters = [entry for tool in tools for entry in tool["function"]["parameters"]["properties"].values()]
    assert {entry["type"] for entry in parameters} == {"string", "integer", "boolean", "array", "object"}


def test_instructions_and_tools_are_shared_and_the_greater_part(agents):
    assert len({id(p.tools) for p in agents}) == len({id(p.value[0]) for p in agents}) == 1
    assert len({p.value[1] for p in agents}) == len(agents)
    shared = len(agents[0].tools) + len(value(agents[0])[0]["content"])
    assert shared == pytest.approx(55000 * 4, abs=100)


def test_conversations_keep_openai_s_form_and_fit_the_schemas(agents):
    for prompt in agents:
        schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in json.loads(prompt.tools)}
        system, first, *rest = value(prompt)
        assert (prompt.kind, prompt.tokens, prompt.output_tokens) == ("messages", None, 300)
        assert (system["role"], first["role"]) == ("system", "user")
        waiting: list[str] = []
        seen: set[str] = set()
        for message in rest:
            assert (message["role"] == "tool") == bool(waiting)
            if message["role"] == "tool":
                assert message["tool_call_id"] == waiting.pop(0)
            for call in message.get("tool_calls", ()):
                jsonschema.validate(json.loads(call["function"]["arguments"]), schemas[call["function"]["name"]])
                waiting.append(call["id"])
                assert call["id"] not in seen
                seen.add(call["id"])
        assert seen and not waiting
        assert rest[-1]["role"] in ("user", "tool")


def test_agentic_lengths_are_those_asked_for_by_characters():
    asked = {"distribution": "uniform", "min": 60000, "max": 90000}
    expected = list(islice(lengths(asked, draws("agentic input", 9), "x"), 5))
    made = prompts({"kind": "agentic", "output_tokens": 1}, 5, 9)
    found = [(len(p.tools) + len("### tools\n\n\n") + rendered_length(value(p))) / 4.0 for p in made]
    assert found == expected
    assert max(found) - min(found) > 1000


def test_agentic_text_is_the_same_content_as_one_prompt():
    text, messages = prompts({**SMALL_AGENT, "text": True}, 4, 1), prompts(SMALL_AGENT, 4, 1)
    assert len({id(p.value[0]) for p in text}) == 1
    for plain, chat in zip(text, messages, strict=True):
        assert (plain.kind, plain.tools, plain.tokens) == ("text", None, None)
        whole = value(plain)
        assert chat.tools.decode() in whole
        assert all(message["content"] in whole for message in value(chat) if message["content"])
        assert 3200 * 4 <= len(whole) - len("### assistant\n") <= 5000 * 4


def test_what_agents_share_depends_on_the_prefix_seed_alone():
    def shared(seed, **more):
        first = prompts({**SMALL_AGENT, **more}, 1, seed)[0]
        return first.tools, first.value[0]

    assert shared(1) == shared(2)
    other = shared(1, prefix_seed=1)
    assert other[0] != shared(1)[0] and other[1] != shared(1)[1]


@given(tools=st.integers(1, 40), seed=SEEDS, chars_per_token=st.sampled_from([1.0, 2.5, 4.0, 7.3]))
@settings(max_examples=25, deadline=None)
def test_the_smallest_agent_that_is_allowed_keeps_its_lengths(tools, seed, chars_per_token):
    workload = {"kind": "agentic", "tools": tools, "output_tokens": 1, "chars_per_token": chars_per_token,
                "shared_tokens": 1, "prefix_seed": seed, "input_tokens": 10**6}  # fmt: skip
    with pytest.raises(WorkloadError, match="do not fit into shared_tokens 1; they need") as caught:
        prompts(workload, 1, seed)
    needed = int(str(caught.value).split()[-1])
    workload |= {"shared_tokens": needed, "input_tokens": needed}
    with pytest.raises(WorkloadError, match="input_tokens must be at least") as caught:
        prompts(workload, 1, seed)
    least = int(str(caught.value).split("at least ")[1].split(",")[0])
    (made,) = prompts({**workload, "input_tokens": least}, 1, seed)
    assert len(json.loads(made.tools)) == tools
    assert len(made.tools) + len("### tools\n\n\n") + rendered_length(value(made)) == round(least * chars_per_token)
    assert len(value(made)[0]["content"]) > 50


def test_more_tools_than_there_are_is_refused():
    with pytest.raises(WorkloadError, match=f"there are {MOST} different tools, {MOST + 1} are asked for"):
        prompts({**SMALL_AGENT, "tools": MOST + 1}, 1, 0)


@pytest.mark.parametrize("value", [0, -1, True, "4", math.nan, 1000])
def test_characters_per_token_must_make_sense(value):
    with pytest.raises(WorkloadError, match="chars_per_token"):
        prompts({**SMALL_AGENT, "chars_per_token": value}, 1, 0)


# files


def write(path: Path, *lines: Any) -> dict[str, Any]:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return {"kind": "file", "path": str(path), "output_tokens": 5}


@pytest.fixture
def hundred(tmp_path) -> dict[str, Any]:
    return write(tmp_path / "p.jsonl", *({"prompt": f"prompt {number}"} for number in range(100)))


def test_every_form_of_a_line(tmp_path):
    tools = [{"type": "function", "function": {"name": "f"}}]
    messages = [{"role": "user", "content": "grüß dich"}]
    workload = write(
        tmp_path / "p.jsonl",
        {"prompt": "a \"quoted\" text\n", "output_tokens": 11},
        {"messages": messages, "tools": tools, "output_tokens": 12},
        "",
        {"token_ids": [5, 6, 7], "output_tokens": 13},
        {"messages": [{"role": "user", "content": "x"}], "tools": tools, "output_tokens": 14},
        {"conversations": [{"from": "human", "value": "why"}], "output_tokens": 15},
    )
    made = sorted(prompts({**workload, "output_tokens": None}, 5, 0), key=lambda p: p.output_tokens)
    assert [(p.kind, value(p), p.tokens, p.output_tokens) for p in made] == [
        ("text", 'a "quoted" text\n', None, 11),
        ("messages", messages, None, 12),
        ("token_ids", [5, 6, 7], 3, 13),
        ("messages", [{"role": "user", "content": "x"}], None, 14),
        ("text", "why", None, 15),
    ]
    assert json.loads(made[1].tools) == tools and made[1].tools is made[3].tools
    assert "grüß".encode() in made[1].value[0]


def test_the_workload_s_output_length_goes_before_the_file_s(tmp_path):
    workload = write(tmp_path / "p.jsonl", {"prompt": "a", "output_tokens": 11}, {"prompt": "b"})
    assert [p.output_tokens for p in prompts(workload, 2, 0)] == [5, 5]
    for form in ({**workload, "output_tokens": None}, {k: v for k, v in workload.items() if k != "output_tokens"}):
        with pytest.raises(WorkloadError, match="1 of 2 prompts do not say how many tokens to ask for"):
            prompts(form, 1, 0)


SHAREGPT = [
    {"id": "a", "conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "x" * 400}]},
    {"id": "b", "conversations": [
        {"from": "gpt", "value": "earlier"}, {"from": "human", "value": "two 🙂"}, {"from": "gpt", "value": "ja"},
        {"from": "human", "value": "later"}]},
    {"id": "c", "conversations": []},
    {"id": "d", "conversations": [{"from": "human", "value": "unanswered"}]},
    {"id": "e", "conversations": [{"from": "system", "value": "s"}, {"from": "gpt", "value": "alone"}]},
    {"id": "f", "conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "other answer"}]},
]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("chunk", [4096, 7, 1])
def test_sharegpt_gives_the_first_human_turn_and_the_answer_s_length(tmp_path, monkeypatch, indent, chunk):
    monkeypatch.setattr(entries, "CHUNK", chunk)
    path = tmp_path / "sg.json"
    path.write_text(json.dumps(SHAREGPT, indent=indent), "utf-8")
    workload = {"kind": "file", "path": str(path), "output_tokens": None}
    assert count_in(workload) == 2
    found = {value(p): p.output_tokens for p in prompts(workload, 2, 0)}
    assert found == {"one": 100, "two 🙂": 1}
    assert [p.output_tokens for p in prompts({**workload, "output_tokens": 9}, 2, 0)] == [9, 9]


def test_the_order_is_seed_order_s_alone(hundred):
    assert prompts(hundred, 100, 1) == prompts(hundred, 100, 2)
    other = prompts({**hundred, "seed_order": 1}, 100, 1)
    assert other != prompts(hundred, 100, 1)
    assert sorted(map(value, other)) == sorted(f"prompt {number}" for number in range(100))
    assert list(map(value, other)) != sorted(map(value, other))


@given(cuts=st.lists(st.integers(1, 30), max_size=3))
def test_runs_one_after_the_other_never_take_a_prompt_twice(tmp_path_factory, cuts):
    path = tmp_path_factory.getbasetemp() / "runs.jsonl"
    workload = write(path, *({"prompt": f"prompt {number}"} for number in range(100)))
    whole, offset = list(map(value, prompts(workload, 100, 0))), 0
    for count in cuts:
        assert list(map(value, prompts(workload, count, 5, offset))) == whole[offset : offset + count]
        offset += count
    assert len(set(whole)) == 100


def test_duplicates_are_dropped(tmp_path):
    workload = write(
        tmp_path / "p.jsonl",
        {"prompt": "a"}, {"prompt": "a", "output_tokens": 9}, '{ "prompt" :"\\u0061"}', {"prompt": "b"},
        {"messages": [{"role": "user", "content": "a"}]},
        {"messages": [{"role": "user", "content": "a"}], "tools": [{"type": "function"}]},
    )  # fmt: skip
    assert count_in(workload) == 4


def test_too_few_prompts_say_how_many_there_are_and_what_to_do(hundred):
    assert len(prompts(hundred, 40, 0, offset=60)) == 40
    with pytest.raises(WorkloadError) as caught:
        prompts(hundred, 41, 0, offset=60)
    assert str(caught.value) == (
        f"{hundred['path']} has 100 different prompts; 60 were given out before and 41 more are asked for: give it "
        "more prompts, make the runs smaller, or set `repeat: true`"
    )
    assert isinstance(caught.value, BenchbookError) and caught.value.exit_code == 2


def test_with_repeat_the_file_begins_again(hundred):
    workload = {**hundred, "repeat": True}
    whole = prompts(workload, 100, 0)
    assert prompts(workload, 250, 0, offset=30) == (whole * 3)[30:280]
    assert count_in(workload) == 100


def test_output_lengths_of_a_file_may_be_drawn(hundred):
    drawn = {"distribution": "uniform", "min": 1, "max": 500}
    one, other = (prompts({**hundred, "output_tokens": drawn}, 50, seed) for seed in (1, 2))
    assert [p.value for p in one] == [p.value for p in other]
    assert [p.output_tokens for p in one] != [p.output_tokens for p in other]
    assert one == prompts({**hundred, "output_tokens": drawn}, 50, 1)


def test_a_changed_file_is_read_again(tmp_path):
    workload = write(tmp_path / "p.jsonl", {"prompt": "a"})
    assert count_in(workload) == 1
    write(tmp_path / "p.jsonl", {"prompt": "a"}, {"prompt": "b"})
    assert count_in(workload) == 2


GOOD = {"prompt": "fine"}


@pytest.mark.parametrize(("line", "says"), [
    ("{broken", "not JSON"),
    ("7", "an object is needed, not 7"),
    ('["prompt"]', "an object is needed"),
    ({"text": "x"}, "one of the keys prompt, messages, token_ids, conversations is needed, there is none"),
    ({"prompt": "x", "token_ids": [1]}, "there is prompt and token_ids"),
    ({"prompt": ""}, "prompt is a text"),
    ({"prompt": 5}, "prompt is a text"),
    ({"prompt": "x", "tools": []}, "tools go with messages only"),
    ({"prompt": "x", "output_tokens": 0}, "output_tokens is a whole number from 1 up"),
    ({"prompt": "x", "output_tokens": True}, "output_tokens is a whole number"),
    ({"messages": []}, "messages is a list of objects"),
    ({"messages": ["hello"]}, "messages is a list of objects"),
    ({"messages": [{"content": "x"}]}, "every message needs a role"),
    ({"messages": [{"role": "user"}], "tools": {"a": 1}}, "tools is a list of objects"),
    ({"token_ids": []}, "token_ids is a list of whole numbers"),
    ({"token_ids": [1, -1]}, "token_ids is a list of whole numbers"),
    ({"token_ids": [1, 2.0]}, "token_ids is a list of whole numbers"),
    ({"token_ids": [True]}, "token_ids is a list of whole numbers"),
    ({"conversations": "x"}, "conversations is a list of objects"),
    ({"conversations": [{"from": "human", "value": 5}]}, "the value of a turn is a text"),
    ('{"prompt": "\\ud83d"}', "half of a surrogate pair"),
    ('{"messages": [{"role": "user", "x": NaN}]}', "line 2"),
    ('{"prompt": ' + "[" * 100000, "line 2"),
])  # fmt: skip
def test_an_unreadable_line_is_named(tmp_path, line, says):
    workload = write(tmp_path / "p.jsonl", GOOD, line, GOOD)
    with pytest.raises(WorkloadError) as caught:
        count_in(workload)
    assert str(caught.value).startswith(f"{workload['path']}, line 2: ")
    assert says in str(caught.value)


def test_bytes_that_are_no_utf_8_are_named_by_line(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'{"prompt": "a"}\n{"prompt": "b"}\n{"prompt": "\xff"}\n')
    with pytest.raises(WorkloadError, match="line 3: a text is not UTF-8"):
        prompts({"kind": "file", "path": str(path), "output_tokens": 1}, 1, 0)


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt": "a"}\r\n{"prompt": "b"}\r\n')
    assert count_in({"kind": "file", "path": str(path), "output_tokens": 1}) == 2


@pytest.mark.parametrize(("text", "says"), [
    ('[\n{"prompt": "a"},\n{"prompt": "b"}\n', "line 4: the file ends before the list's closing ]"),
    ('[\n{"prompt": "a"},\n{"prompt": "b', "line 3: not JSON, or the file ends too soon"),
    ('[\n{"prompt": "a"},\n{"prompt" "b"}]', "line 3: not JSON, or the file ends too soon"),
    ('[\n{"prompt": "a"},\n{"prompt": ""}]', "line 3: prompt is a text"),
    ('[{"prompt": "a"}]\n[{"prompt": "b"}]', "line 1: something follows after the list's closing ]"),
    ("[]", "there is no prompt in it"),
    ("", "there is no prompt in it"),
    ("\n\n", "there is no prompt in it"),
])  # fmt: skip
@pytest.mark.parametrize("chunk", [4096, 3])
def test_a_list_that_is_cut_off_or_broken_is_refused(tmp_path, monkeypatch, text, says, chunk):
    monkeypatch.setattr(entries, "CHUNK", chunk)
    path = tmp_path / "p.json"
    path.write_text(text, "utf-8")
    with pytest.raises(WorkloadError) as caught:
        count_in({"kind": "file", "path": str(path), "output_tokens": 1})
    assert says in str(caught.value) and str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(WorkloadError, match="cannot be read") as caught:
            prompts({"kind": "file", "path": str(path), "output_tokens": 1}, 1, 0)
        assert str(path) in str(caught.value)


@given(items=st.lists(st.integers(), unique=True, max_size=30), seed=SEEDS)
def test_a_shuffled_list_keeps_its_items(items, seed):
    assert sorted(shuffled(draws(seed), items)) == sorted(items)


def test_a_shuffle_gives_every_order_as_often():
    orders = [tuple(shuffled(draws(seed), "abc")) for seed in range(6000)]
    assert len(set(orders)) == 6
    assert all(orders.count(order) == pytest.approx(1000, abs=120) for order in set(orders))


# the workload itself


@pytest.mark.parametrize(("workload", "says"), [
    ({}, "kind None is not one of random, shared-prefix, agentic, file"),
    ({**RANDOM, "kind": "sonnet"}, "kind 'sonnet' is not one of"),
    ({"kind": "random", "input_tokens": 5}, "output_tokens must be given"),
    ({"kind": "file"}, "path must be given"),
    ({"kind": "file", "path": 5}, "path is the path of a file"),
    ({"kind": "file", "path": "x", "repeat": 1}, "repeat is true or false"),
    ({"kind": "file", "path": "x", "ouput_tokens": 1}, "no such key ouput_tokens; there are output_tokens, path"),
    ({**RANDOM, "text": "yes"}, "text is true or false"),
    ({**RANDOM, "token_ids": [9, 9]}, "token_ids is"),
    ({**RANDOM, "token_ids": [-1, 9]}, "token_ids is"),
    ({**RANDOM, "token_ids": [1, 2, 3]}, "token_ids is"),
    ({**RANDOM, "token_ids": 9}, "token_ids is"),
    ({**SHARED, "prefixes": 0}, "prefixes is a whole number from 1 up"),
    ({**SHARED, "prefix_tokens": 1.5}, "prefix_tokens is a whole number"),
    ({**SHARED, "prefix_seed": "a"}, "prefix_seed is a whole number"),
    ({**SMALL_AGENT, "tools": 0}, "tools is a whole number from 1 up"),
])  # fmt: skip
def test_a_workload_that_cannot_be_made_is_refused(workload, says):
    with pytest.raises(WorkloadError) as caught:
        prompts(workload, 1, 0)
    assert says in str(caught.value)


def test_what_repeats_by_design_and_what_has_an_end(hundred):
    assert [repeats_by_design(workload) for workload in ENDLESS] == [False, False, True, True, True, True]
    assert not repeats_by_design(hundred) and repeats_by_design({**hundred, "repeat": True})
    assert [count_in(workload) for workload in ENDLESS] == [None] * 6
    assert count_in(hundred) == 100
