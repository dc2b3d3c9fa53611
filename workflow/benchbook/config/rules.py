"""What a schema cannot say about a booking: rules between keys, and the sentences for server flags.

Each `check_*` looks at the parts of `booking` that are sound so far and adds what it finds to `problems`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.config import workload
from benchbook.config.messages import Key, Problems, dotted, listed, unknown
from benchbook.config.records import Arm, Engine
from benchbook.errors import WorkloadError
from benchbook.measure.client.workloads import count_in
from benchbook.measure.specification import DRAFT
from benchbook.measure.warmup import RULES, Converged
from benchbook.preflight.rules import RULES as PREFLIGHT

Data = dict[str, Any]

OURS = {
    "host": "Benchbook starts the server on this machine and sets it",
    "port": "Benchbook sets it, from server.port or to a free one",
    "model": "the booking's key model says which model is served",
    "served-model-name": "Benchbook names the served model after the booking's model",
}


def server_args(common: Mapping[str, Any], own: Mapping[str, Any]) -> Data:
    """The flags of an arm's server: the common ones, changed by the arm's own, without the null and the false."""
    return {flag: value for flag, value in {**common, **own}.items() if value is not None and value is not False}


def sound_arms(booking: Data, file: str, problems: Problems) -> dict[int, Data]:
    """The arms without a problem, by index."""
    arms = booking.get("arms")
    if not isinstance(arms, list):
        return {}
    return {index: arm for index, arm in enumerate(arms) if problems.sound(file, "arms", index)}


def check_flags(booking: Data, file: str, problems: Problems) -> None:
    """Flags are written without leading dashes, with dashes for underscores, and none that Benchbook sets."""
    holders: list[tuple[Key, Any]] = [(("server",), booking.get("server"))]
    arms = booking.get("arms")
    holders += [(("arms", index), arm) for index, arm in enumerate(arms if isinstance(arms, list) else [])]
    for key, holder in holders:
        args = holder.get("args") if isinstance(holder, dict) else None
        if not isinstance(args, dict):
            continue
        for flag, value in args.items():
            sentence = _flag(flag, args)
            if sentence:
                problems.add(file, (*key, "args", flag), sentence, value)


def _flag(flag: str, args: Mapping[str, Any]) -> str | None:
    head, dot, tail = flag.partition(".")
    name = head.lstrip("-").replace("_", "-")
    right = name + dot + tail
    if name in OURS:
        return f"is not yours to set: {OURS[name]}; remove it."
    if not name or not all(char.isascii() and (char.isalnum() or char == "-") for char in name):
        return "is not a server flag; name it with letters, digits and dashes."
    twin = ", which is given as well; keep one of them." if right != flag and right in args else "."
    if flag.startswith("-"):
        return f"has leading dashes; leave them out: {right}{twin}"
    if "_" in head:
        return f"has underscores; write the flag with dashes: {right}{twin}"
    return None


def check_draft_model(booking: Data, file: str, problems: Problems) -> None:
    """A draft model is one that a server's flags use, and flags use none that is not named."""
    named = "draft_model" in booking
    places: list[tuple[Key, str, Any]] = []
    arms = sound_arms(booking, file, problems)
    holders: list[tuple[Key, Any]] = [(("server",), booking.get("server"))]
    holders += [(("arms", index), arm) for index, arm in arms.items()]
    for holder, server in holders:
        args = server.get("args") if isinstance(server, dict) else None
        if isinstance(args, dict):
            places += [((*holder, "args", flag), flag, value) for flag, value in args.items() if DRAFT in str(value)]
    if places and not named:
        key, _, value = places[0]
        problems.add(file, key, f"uses {DRAFT}, and no draft model is named; add draft_model: and a name of a file in "
                                "config/models/.", value)  # fmt: skip
    if named and not places:
        problems.add(file, ("draft_model",), f"is used by no server; put {DRAFT} where a flag names its directory, as "
                     "in speculative-config, or remove the key.", booking["draft_model"])  # fmt: skip


def check_arm_names(booking: Data, file: str, problems: Problems) -> None:
    """No two arms share a name, since run and file names hold it."""
    first: dict[str, int] = {}
    for index, arm in sound_arms(booking, file, problems).items():
        if arm["name"] in first:
            other = dotted(("arms", first[arm["name"]]))
            problems.add(
                file,
                ("arms", index, "name"),
                f"is the name of {other} already, and file names hold it; give each arm its own name.",
                arm["name"],
            )
        first.setdefault(arm["name"], index)


def check_same_arms(arms: Mapping[int, Arm], file: str, problems: Problems) -> None:
    """No two arms start the same server, since nothing would be compared."""
    first: dict[str, int] = {}
    for index, arm in arms.items():
        server = _server(arm)
        if server in first:
            other = first[server]
            problems.add(
                file,
                ("arms", index),
                f'("{arm.name}") has the same arguments, environment, engine and cores as {dotted(("arms", other))} '
                f'("{arms[other].name}"), so nothing would be compared; change or remove one of them.',
            )
        first.setdefault(server, index)


def _server(arm: Arm) -> str:
    """A text that two arms share only if they start the same server: flag values as the command line has them."""
    args = {
        flag: [str(item) for item in value] if isinstance(value, list) else value if value is True else str(value)
        for flag, value in arm.server_args.items()
    }
    engine = arm.engine
    start = [engine.kind, engine.requirements, engine.python, engine.command]
    return json.dumps([args, dict(arm.server_env), start, arm.cpus], sort_keys=True)


def check_prompts(booking: Data, file: str, problems: Problems) -> None:
    """A map of prompts names every concurrency and no other. Whether waves are whole is asked by preflight."""
    workload = booking.get("workload")
    key: Key = ("workload", "num_prompts")
    if not isinstance(workload, dict) or "concurrency" not in workload or not isinstance(
        workload.get("num_prompts"), dict
    ):
        return
    if problems.sound(file, *key) and problems.sound(file, "workload", "concurrency"):
        _check_levels(workload["num_prompts"], workload["concurrency"], "a multiple of {}", file, key, problems)


def check_overrides(booking: Data, file: str, problems: Problems) -> None:
    """An override names a rule of preflight, and says more than nothing."""
    key: Key = ("preflight", "allow")
    if not problems.sound(file, *key) or "preflight" not in booking:
        return
    for rule, reason in booking["preflight"]["allow"].items():
        if rule not in PREFLIGHT:
            advice = unknown(rule, PREFLIGHT, "rules:", "remove it")
            problems.add(file, (*key, rule), f"is not a rule of preflight {advice}", reason)
        elif isinstance(reason, str) and not reason.strip():
            problems.add(file, (*key, rule), "gives no reason; say in one sentence why the error may stand.", reason)


def check_repeats(booking: Data, file: str, problems: Problems) -> None:
    """A map of repeats names every concurrency and no other."""
    workload = booking.get("workload")
    key: Key = ("workload", "repeats")
    if not isinstance(workload, dict) or "concurrency" not in workload or not isinstance(workload.get("repeats"), dict):
        return
    if problems.sound(file, *key) and problems.sound(file, "workload", "concurrency"):
        _check_levels(workload["repeats"], workload["concurrency"], "its number of runs", file, key, problems)


def _check_levels(
    given: Mapping[str, Any], levels: list[int], wanted: str, file: str, key: Key, problems: Problems
) -> None:
    """Whether a map from concurrency to number has those that are run, and those only."""
    for level in levels:
        if str(level) not in given:
            sentence = f"is missing, and workload.concurrency has {level}; give {wanted.format(level)}."
            problems.add(file, (*key, str(level)), sentence)
    known = {str(level) for level in levels}
    for name, value in given.items():
        if name not in known:
            sentence = (f"is for a concurrency that is not run (workload.concurrency has {listed(map(str, levels))}); "
                        "remove it.")  # fmt: skip
            problems.add(file, (*key, name), sentence, value)


def check_length(booking: Data, file: str, problems: Problems) -> None:
    """The longest request that the workload can draw fits the longest sequence of every arm that sets a maximum."""
    if "workload" not in booking or not problems.sound(file, "workload"):
        return
    parts = workload.largest(booking["workload"])
    tokens = sum(size for _, size in parts)
    common: Data = booking["server"]["args"] if problems.sound(file, "server") else {}
    holders: list[tuple[Key, Data]] = [(("server", "args"), common)]
    holders += [(("arms", index, "args"), arm["args"]) for index, arm in sound_arms(booking, file, problems).items()]
    used = [key for key, args in holders[1:] if "max-model-len" not in args]
    for key, args in holders:
        longest = _whole(args.get("max-model-len"))
        if longest is None or longest >= tokens or (key == ("server", "args") and not used):
            continue
        names, sizes = " + ".join(name for name, _ in parts), " + ".join(str(size) for _, size in parts)
        problems.add(
            file,
            ("workload",),
            f"has {names} = {sizes} = {tokens}, which does not fit "
            f"{dotted((*key, 'max-model-len'))} = {longest}; raise that or shorten the requests.",
        )


def has_gate(rule: str) -> bool:
    """Whether a warmup rule may have runs measured once more."""
    return issubclass(RULES[rule], Converged)


def check_file(root: Path, data: Data, needed: int, file: str, problems: Problems) -> str | None:
    """The sha256 of a workload's file, which holds `needed` prompts for all that one server may be asked, or is told to
    be repeated; None after adding why it cannot be used."""
    key, path = ("workload", "path"), root / data["path"]
    try:
        has = count_in({**workload.content(data), "kind": "file", "path": str(path)})
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except WorkloadError as error:
        problems.add(file, key, f"cannot be used: {error}.", data["path"])
        return None
    if has is not None and has < needed and not data["repeat"]:
        problems.add(
            file,
            key,
            f"has {has} different prompts, and all readings, runs and runs measured once more of a session take "
            f"{needed}; give more prompts, fewer waves or repeats, or repeat: true, which has the server see prompts "
            "twice.",
            data["path"],
        )
    return digest


def _whole(value: Any) -> int | None:
    """The length that a flag's value sets; None when it sets none (absent, automatic, or in words such as 8k)."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def check_limits_in_order(booking: Data, file: str, problems: Problems) -> None:
    """The smaller of two limits on one quantity does not exceed the larger."""
    pairs: list[tuple[Key, Key]] = [(("thresholds", "little_pass"), ("thresholds", "little_warn"))]
    if problems.sound(file, "warmup", "rule"):
        least: Key = ("warmup", limits_of(booking["warmup"]["rule"]), "min_readings")
        pairs.insert(0, (least, ("warmup", "max_readings")))
    for small, large in pairs:
        if problems.sound(file, *small) and problems.sound(file, *large):
            least_value, value = _at(booking, small), _at(booking, large)
            if least_value > value:
                sentence = f"is less than {dotted(small)} = {least_value}; raise it to that at least."
                problems.add(file, large, sentence, value)


def limits_of(rule: str) -> str:
    """The key of `warmup` that has the limits of a rule."""
    return rule.replace("-", "_")


def _at(booking: Data, key: Key) -> Any:
    value: Any = booking
    for step in key:
        value = value[step]
    return value


def check_recording(root: Path, booking: Data, file: str, problems: Problems) -> None:
    """A recording's folder is there and has its manifest."""
    if "recorded" in booking and problems.sound(file, "recorded"):
        manifest = Path(booking["recorded"]) / "recording.yaml"
        if not (root / manifest).is_file():
            problems.add(file, ("recorded",), f"has no {manifest}; name a folder that holds one.", booking["recorded"])


def check_expected_failures(booking: Data, file: str, problems: Problems) -> None:
    """An expected failure names an arm of the booking."""
    if not problems.sound(file, "arms") or not isinstance(booking.get("expected_failures"), list):
        return
    names = [arm["name"] for arm in booking["arms"]]
    for index, failure in enumerate(booking["expected_failures"]):
        key: Key = ("expected_failures", index, "arm")
        if problems.sound(file, *key) and failure["arm"] not in names:
            advice = unknown(failure["arm"], names, "arms:", "name one of these")
            problems.add(file, key, f"is not an arm {advice}", failure["arm"])


def check_client_engine(
    engine: Engine | None, client: Engine | None, given: bool, file: str, problems: Problems
) -> None:
    """The client vllm-bench runs in a Python environment, which an engine that is a command does not offer."""
    if given and client and client.source == "command":
        problems.add(
            file,
            ("client_engine",),
            f'("{client.name}") is a command, which has no Python for the client vllm-bench; '
            "name a file of config/engines/ with requirements, or give python.",
        )
    elif not given and engine and engine.source == "command":
        problems.add(
            file,
            ("client_engine",),
            f'is missing, and engine ("{engine.name}") is a command, which has no Python for the client vllm-bench; '
            "name a file of config/engines/ with requirements, or give python.",
        )
