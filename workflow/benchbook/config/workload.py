"""The booking's workload: which keys belong to which kind, what a client can send, and its form in a specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.config import schedule
from benchbook.config.check import allowed, schema
from benchbook.config.messages import Key, Problems, listed
from benchbook.errors import WorkloadError
from benchbook.measure.client.workloads import prompts, token_range
from benchbook.measure.specification import VLLM_BENCH

NEEDED = {
    "random": ("input_tokens", "output_tokens"),
    "shared-prefix": ("prefix_tokens", "input_tokens", "output_tokens"),
    "agentic": ("input_tokens", "output_tokens"),
    "file": ("path",),
}
OPTIONAL = {
    "random": (), "shared-prefix": ("prefixes",), "agentic": ("tools", "shared_tokens", "chars_per_token"),
    "file": ("output_tokens", "repeat"),
}  # fmt: skip
PARAMETERS = {
    "uniform": ("min", "max"), "normal": ("mean", "sd", "min", "max"), "lognormal": ("median", "sigma", "min", "max"),
}  # fmt: skip
# chat and responses take text; an agentic prompt is text already where the endpoint takes token ids.
_AS_TEXT = {
    "random": ("chat", "responses"), "shared-prefix": ("chat", "responses"), "agentic": ("completions", "generate"),
}  # fmt: skip
_LENGTHS = ("input_tokens", "output_tokens")


def check_keys(given: Any, booking: Mapping[str, Any], file: str, problems: Problems) -> None:
    """A workload has the keys of its kind and no other, and a distribution those of its name.

    `given` is the booking as it is written: the defaults of other kinds stand in `booking`, which is the checked one.
    """
    if not problems.sound(file, "workload") or "workload" not in booking:
        return
    written, workload = given["workload"], booking["workload"]
    kind, parts = workload["kind"], schema("booking")["properties"]["workload"]["properties"]
    mine = (*NEEDED[kind], *OPTIONAL[kind])
    for name in dict.fromkeys(key for keys in (*NEEDED.values(), *OPTIONAL.values()) for key in keys):
        if name in NEEDED[kind] and name not in workload:
            problems.add(file, ("workload", name), f"is missing; give {allowed(parts[name])} "
                         f"({parts[name]['description']}).")  # fmt: skip
        elif name in written and name not in mine:
            sentence = f"is no key of kind {kind}, which has {listed(mine)}; remove it, or give another kind."
            problems.add(file, ("workload", name), sentence, written[name])
    for name in _LENGTHS:
        if name in mine and isinstance(workload.get(name), dict):
            _check_distribution(workload[name], ("workload", name), int(parts[name]["minimum"]), file, problems)
    if kind != "file" and problems.sound(file, "workload"):
        try:
            prompts({"kind": kind, **content(workload)}, 1, 0)
        except WorkloadError as error:
            problems.add(file, ("workload",), f"cannot be made: {error}.")


def _check_distribution(length: Mapping[str, Any], key: Key, least: int, file: str, problems: Problems) -> None:
    name = length["distribution"]
    needed = PARAMETERS[name]
    if missing := [parameter for parameter in needed if parameter not in length]:
        problems.add(file, key, f"is {name} and lacks {listed(missing)}; give {listed(needed)}.")
        return
    if others := [parameter for parameter in length if parameter not in ("distribution", *needed)]:
        problems.add(file, (*key, others[0]), f"is no parameter of {name}, which has {listed(needed)}; remove it.")
    if length["min"] < least:
        why = " (the time per output token (TPOT) needs a second token)" if least > 1 else ""
        problems.add(file, (*key, "min"), f"is too small; give a whole number of at least {least}{why}.", length["min"])
    if length["max"] < length["min"]:
        problems.add(file, (*key, "max"), f"is less than min = {length['min']}; exchange them.", length["max"])


def clients(booking: Mapping[str, Any]) -> tuple[str, ...]:
    """The names under the booking's key `client`, which is a name or a list of them."""
    given = booking["client"]
    return (given,) if isinstance(given, str) else tuple(given)


def check_client(booking: Mapping[str, Any], file: str, problems: Problems) -> None:
    """vllm-bench sends random prompts of fixed length to completions and nothing else; a recording was made with it."""
    if not problems.sound(file, "client"):
        return
    names = clients(booking)
    if "recorded" in booking and names != (VLLM_BENCH,):
        sentence = "cannot have made the recording, which holds results of `vllm bench serve`; give client: vllm-bench."
        problems.add(file, ("client",), sentence, booking["client"])
    if VLLM_BENCH not in names or not problems.sound(file, "workload") or "workload" not in booking:
        return
    workload = booking["workload"]
    only = {"kind": "random", "endpoint": "completions", "connections": "kept"}
    cannot = [f"{name}: {workload[name]}" for name, value in only.items() if workload[name] != value]
    cannot += [f"a distribution of {name}" for name in _LENGTHS if isinstance(workload.get(name), dict)]
    if cannot:
        problems.add(file, ("client",), "sends random prompts of fixed length to completions on kept connections, not "
                     f"{listed(cannot)}; leave vllm-bench out, or change the workload.", booking["client"])  # fmt: skip


def largest(workload: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Name and size of the parts of the longest request that can be drawn, in tokens; none where a file decides."""
    kind = workload["kind"]
    if kind == "file":
        return []
    parts = [("prefix_tokens", int(workload["prefix_tokens"]))] if kind == "shared-prefix" else []
    for name in _LENGTHS:
        length = workload[name]
        parts.append((f"{name}.max", length["max"]) if isinstance(length, dict) else (name, length))
    return parts


def content(data: Mapping[str, Any]) -> dict[str, Any]:
    """What the prompts are: the keys that belong to the workload's kind, defaults filled in."""
    return {name: data[name] for name in (*NEEDED[data["kind"]], *OPTIONAL[data["kind"]]) if name in data}


def specified(
    kind: str, content: Mapping[str, Any], endpoint: str, *, booking: str, seed: int, vocabulary: int | None,
) -> dict[str, Any]:  # fmt: skip
    """The workload of a specification, as measure.client.workloads reads it.

    `vocabulary`: size of the model's, None where only the node knows it; the token ids are then null, and the session
    looks at the model before it sends any.
    """
    value: dict[str, Any] = {"kind": kind, **content}
    if kind in ("random", "shared-prefix"):
        value["token_ids"] = None if vocabulary is None else list(token_range(vocabulary))
    if kind in ("shared-prefix", "agentic"):
        value["prefix_seed"] = schedule.seed(booking, seed, 0, "prefix", 0)
    if kind == "file":
        value |= {"output_tokens": content.get("output_tokens"),
                  "seed_order": schedule.seed(booking, seed, 0, "order", 0)}  # fmt: skip
    if endpoint in _AS_TEXT.get(kind, ()):
        value["text"] = True
    return value
