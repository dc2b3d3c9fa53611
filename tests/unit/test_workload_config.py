"""A booking's choice of load client and of workload: what is accepted, what a session is told, and what is refused."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchbook.config import facts, schedule, spec
from benchbook.config.load import load_booking
from benchbook.errors import ConfigError, SessionError
from benchbook.measure import asked
from benchbook.measure.client.workloads import prompts
from benchbook.measure.store import sha256
from hypothesis import given
from hypothesis import strategies as st

BOOKING = """
title: two servers
node: box
model: tiny
engine: pinned
arms:
  - {name: baseline}
  - {name: eager, args: {enforce-eager: true}}
workload: {input_tokens: 64, output_tokens: 64, concurrency: [1, 4], waves: 4, repeats: 2}
"""
UNIFORM = {"distribution": "uniform", "min": 10, "max": 20}


def root(folder: Path, *, model: str = "path: org/tiny\n", workload: dict[str, Any] | None = None, **keys: Any) -> Path:
    """A project whose booking has `keys` replaced and `workload` merged; None takes a key of it out."""
    booking = yaml.safe_load(BOOKING)
    booking |= copy.deepcopy(keys)
    merged = booking["workload"] | (workload or {})
    booking["workload"] = {name: value for name, value in merged.items() if value is not None}
    files = {
        "bookings/b.yaml": yaml.safe_dump(booking), "nodes/box.yaml": "description: a box\ngpus: 0\n",
        "models/tiny.yaml": model, "engines/pinned.txt": "vllm==0.32.0\n", "engines/pinned.lock": "vllm==0.32.0\n",
    }  # fmt: skip
    for name, text in files.items():
        (folder / "config" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "config" / name).write_text(text, encoding="utf-8")
    return folder


def specs(folder: Path, **changes: Any) -> list[dict[str, Any]]:
    made = root(folder, **changes)
    return spec.session_specs(load_booking(made, "b"), made)


def refused(folder: Path, **changes: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_booking(root(folder, **changes), "b")
    return [line.removeprefix("config/bookings/b.yaml: ") for line in str(caught.value).splitlines()]


def lines_of(folder: Path, count: int, **entry: Any) -> str:
    text = "".join(json.dumps({"prompt": f"question {n}"} | entry) + "\n" for n in range(count))
    (folder / "asked.jsonl").write_text(text, encoding="utf-8")
    return "asked.jsonl"


FILE = {"kind": "file", "input_tokens": None, "output_tokens": None, "path": "asked.jsonl"}


def test_the_native_client_is_the_default_and_needs_no_engine(tmp_path: Path) -> None:
    value = specs(tmp_path, engine={"name": "dock", "command": ["docker", "run"]})[0]
    assert value["client"] == ["native"] and value["client_engine"] is None
    assert value["schema"] == 2 and (value["endpoint"], value["connections"]) == ("completions", "kept")
    assert value["limits"]["read_gap_s"] == 120
    assert value["workload"] == {"kind": "random", "input_tokens": 64, "output_tokens": 64, "token_ids": None}


@pytest.mark.parametrize(("given_as", "names"), [
    ("vllm-bench", ["vllm-bench"]), (["native"], ["native"]), (["vllm-bench", "native"], ["vllm-bench", "native"]),
])  # fmt: skip
def test_a_client_is_a_name_or_a_list(tmp_path: Path, given_as: Any, names: list[str]) -> None:
    value = specs(tmp_path, client=given_as)[0]
    assert value["client"] == names and (value["client_engine"] is not None) == ("vllm-bench" in names)


def test_an_unknown_client_is_named(tmp_path: Path) -> None:
    (told,) = refused(tmp_path, client="aiperf")
    assert told == ('client = "aiperf" does not have the right form; give native or vllm-bench or a list of at least '
                    "one entry, each one of native, vllm-bench.")  # fmt: skip


def test_two_clients_take_turns_in_pairs_and_the_first_warms_up(tmp_path: Path) -> None:
    low, high = specs(tmp_path, client=["native", "vllm-bench"])[0]["plan"]
    for block in (low, high):
        assert [run["client"] for run in block["runs"]] == ["native", "vllm-bench", "vllm-bench", "native"]
        assert [run["repeat"] for run in block["runs"] + block["rerun"]] == list(range(1, 9))
        assert [run["client"] for run in block["rerun"]] == [run["client"] for run in block["runs"]]
        assert {reading["client"] for reading in block["readings"]} == {"native"}
    assert [run["name"] for run in high["runs"]] == [f"baseline_c4_r{n}" for n in (1, 2, 3, 4)]


@given(repeats=st.integers(1, 40))
def test_a_pair_has_one_run_of_each_client_and_neither_goes_first_more_often(repeats: int) -> None:
    order = schedule.runs(["native", "vllm-bench"], repeats)
    pairs = list(zip(order[::2], order[1::2], strict=True))
    assert len(pairs) == repeats and all(set(pair) == {"native", "vllm-bench"} for pair in pairs)
    first = [pair[0] for pair in pairs]
    assert abs(first.count("native") - first.count("vllm-bench")) <= 1


@pytest.mark.parametrize(("workload", "what"), [
    ({"endpoint": "chat"}, "endpoint: chat"), ({"connections": "new"}, "connections: new"),
    ({"output_tokens": UNIFORM}, "a distribution of output_tokens"),
    ({"kind": "shared-prefix", "prefix_tokens": 9}, "kind: shared-prefix"),
])  # fmt: skip
def test_vllm_bench_is_not_asked_for_what_it_does_not_send(tmp_path: Path, workload: Any, what: str) -> None:
    (told,) = refused(tmp_path, client=["native", "vllm-bench"], workload=workload)
    assert told.startswith("client = [") and f"on kept connections, not {what}; leave vllm-bench out" in told
    assert load_booking(root(tmp_path, workload=workload), "b").client == ("native",)


def test_a_recording_was_made_by_vllms_client(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "recording.yaml").write_text("sessions: []\n")
    (told,) = refused(tmp_path, recorded="there")
    assert told.endswith("give client: vllm-bench.")
    assert load_booking(root(tmp_path, recorded="there", client="vllm-bench"), "b").client == ("vllm-bench",)


@pytest.mark.parametrize(("workload", "told"), [
    ({"prefixes": 3}, "workload.prefixes = 3 is no key of kind random, which has input_tokens, output_tokens; remove "
                      "it, or give another kind."),
    ({"kind": "agentic", "input_tokens": None}, "workload.input_tokens is missing; give a whole number"),
    ({"kind": "shared-prefix"}, "workload.prefix_tokens is missing; give a whole number of at least 1 (tokens of a "),
    ({"kind": "file", "input_tokens": None}, "workload.path is missing; give text"),
    ({"input_tokens": {"distribution": "uniform", "min": 4}}, "workload.input_tokens is uniform and lacks max; give "
                                                              "min, max."),
    ({"input_tokens": UNIFORM | {"sd": 3}}, "workload.input_tokens.sd is no parameter of uniform, which has min, max; "
                                            "remove it."),
    ({"output_tokens": UNIFORM | {"min": 1}}, "workload.output_tokens.min = 1 is too small; give a whole number of at "
                                              "least 2 (the time per output token (TPOT) needs a second token)."),
    ({"input_tokens": UNIFORM | {"max": 9}}, "workload.input_tokens.max = 9 is less than min = 10; exchange them."),
    ({"input_tokens": {"distribution": "normal", "mean": 900, "sd": 1, "min": 1, "max": 2}},
     "workload cannot be made: input_tokens: less than 1% of this normal distribution lies in 1 to 2"),
    ({"kind": "agentic", "input_tokens": 9, "tools": 5}, "workload cannot be made: workload agentic: input_tokens"),
])  # fmt: skip
def test_a_workload_that_cannot_be_is_refused(tmp_path: Path, workload: Any, told: str) -> None:
    (line,) = refused(tmp_path, workload=workload)
    assert line.startswith(told)


def test_the_largest_lengths_must_fit(tmp_path: Path) -> None:
    arms = [{"name": "short", "args": {"max-model-len": 100}}]
    (told,) = refused(tmp_path, arms=arms, workload={
        "kind": "shared-prefix", "prefix_tokens": 60, "input_tokens": UNIFORM, "output_tokens": UNIFORM | {"max": 21},
    })  # fmt: skip
    assert told == ("workload has prefix_tokens + input_tokens.max + output_tokens.max = 60 + 20 + 21 = 101, which "
                    "does not fit arms[0].args.max-model-len = 100; raise that or shorten the requests.")  # fmt: skip
    exact = {"kind": "shared-prefix", "prefix_tokens": 60, "input_tokens": UNIFORM, "output_tokens": UNIFORM}
    assert load_booking(root(tmp_path, arms=arms, workload=exact), "b").workload.kind == "shared-prefix"


@pytest.mark.parametrize(("workload", "endpoint", "text"), [
    ({}, "completions", False), ({}, "chat", True), ({}, "responses", True),
    ({"kind": "shared-prefix", "prefix_tokens": 5}, "chat", True),
    ({"kind": "agentic", "input_tokens": 9000, "shared_tokens": 5000, "tools": 5}, "chat", False),
    ({"kind": "agentic", "input_tokens": 9000, "shared_tokens": 5000, "tools": 5}, "completions", True),
])  # fmt: skip
def test_prompts_are_text_where_the_endpoint_takes_no_ids(
    tmp_path: Path, workload: Any, endpoint: str, text: bool
) -> None:
    value = specs(tmp_path, workload=workload | {"endpoint": endpoint})[0]
    assert value["endpoint"] == endpoint and value["workload"].get("text", False) is text
    (one,) = prompts(asked.resolved(value, tmp_path), 1, 7)
    assert one.kind in (("text", "token_ids") if endpoint == "completions" else ("text", "messages"))


def test_all_arms_and_sessions_send_the_same(tmp_path: Path) -> None:
    values = specs(tmp_path, workload={"kind": "shared-prefix", "prefix_tokens": 5, "prefixes": 2})
    assert len({json.dumps(value["workload"], sort_keys=True) for value in values}) == 1
    assert values[0]["workload"]["prefix_seed"] > 0

    def tasks(value: dict[str, Any]) -> set[tuple[str, int, int]]:
        items = [item for block in value["plan"] for item in block["readings"] + block["runs"] + block["rerun"]]
        return {(item["name"].partition("_")[2], item["seed"], item["offset"]) for item in items}

    assert all(tasks(value) == tasks(values[0]) for value in values)
    assert [b["concurrency"] for b in values[0]["plan"]] != [b["concurrency"] for b in values[2]["plan"]]


def test_no_prompt_of_a_file_is_used_twice_on_one_server(tmp_path: Path) -> None:
    needed = 10 * (1 + 4) + 2 * 2 * (4 + 16)
    lines_of(tmp_path, needed, output_tokens=8)
    value = specs(tmp_path, workload=FILE)[0]
    blocks = sorted(value["plan"], key=lambda block: block["concurrency"])
    taken = [
        (item["offset"], item["offset"] + (block["num_prompts"] if "repeat" in item else block["concurrency"]))
        for block in blocks
        for item in block["readings"] + block["runs"] + block["rerun"]
    ]
    assert taken[0][0] == 0 and taken[-1][1] == needed
    assert all(end == start for (_, end), (start, _) in pairwise(taken))


def test_a_file_with_too_few_prompts_is_refused_with_numbers(tmp_path: Path) -> None:
    lines_of(tmp_path, 129, output_tokens=8)
    (told,) = refused(tmp_path, workload=FILE)
    assert told.startswith('workload.path = "asked.jsonl" has 129 different prompts, and all readings, runs and runs ')
    assert "of a session take 130; give more prompts" in told
    assert load_booking(root(tmp_path, workload=FILE | {"repeat": True}), "b").workload.content["repeat"] is True
    two = {"rule": "two-agree"}
    assert load_booking(root(tmp_path, workload=FILE, warmup=two), "b"), "without a gate nothing is measured once more"
    (told,) = refused(tmp_path, workload=FILE | {"path": "nowhere.jsonl"})
    assert "cannot be read" in told


def test_a_changed_file_is_another_specification_and_is_not_sent(tmp_path: Path) -> None:
    lines_of(tmp_path, 200, output_tokens=8)
    value = specs(tmp_path, workload=FILE)[0]
    assert value["prompts_sha256"] == sha256(tmp_path / "asked.jsonl")
    assert len(prompts(asked.resolved(value, tmp_path), 3, 0, offset=5)) == 3
    lines_of(tmp_path, 201, output_tokens=8)
    assert specs(tmp_path, workload=FILE)[0]["spec_hash"] != value["spec_hash"]
    with pytest.raises(SessionError, match="is not the file of prompts that the specification was written for"):
        asked.resolved(value, tmp_path)


def test_token_ids_come_from_the_models_vocabulary_as_soon_as_it_is_known(tmp_path: Path) -> None:
    built = specs(tmp_path, model="build: tokenizer-and-config\nconfig: {vocab_size: 2000}\n")[0]
    assert built["workload"]["token_ids"] == [500, 2000]
    local = specs(tmp_path, model=f"path: {tmp_path}/model\n")[0]
    assert local["workload"]["token_ids"] is None
    assert asked.resolved(local, tmp_path)["token_ids"] == [1000, 30000], "the model is not there to be asked"
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"vocab_size": 400}')
    assert asked.resolved(local, tmp_path)["token_ids"] == [100, 400]
    assert asked.resolved(specs(tmp_path)[0], tmp_path)["token_ids"] == [1000, 30000]


def test_the_report_is_told_who_sends_what(tmp_path: Path) -> None:
    told = facts.report_facts(load_booking(root(tmp_path), "b"))["workload"]
    assert told["load client"] == "Benchbook's own, closed loop"
    assert (told["input tokens"], told["output tokens"]) == (64, 64) and "endpoint" not in told
    both = facts.report_facts(load_booking(root(tmp_path, client=["native", "vllm-bench"]), "b"))["workload"]
    assert both["load client"] == "Benchbook's own and vllm bench serve of pinned, by turns, closed loop"
    other = {"kind": "shared-prefix", "prefix_tokens": 5, "output_tokens": UNIFORM, "endpoint": "chat",
             "connections": "new"}  # fmt: skip
    told = facts.report_facts(load_booking(root(tmp_path, workload=other), "b"))["workload"]
    assert told["workload"] == "shared-prefix" and told["endpoint"] == "chat" and told["shared prefixes"] == 1
    assert told["output tokens"] == "uniform (min 10, max 20)"
    assert told["load client"] == "Benchbook's own, closed loop, a new connection each"
