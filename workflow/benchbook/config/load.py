"""A booking and the files that it names, checked and complete; the Snakefile imports this at every start.

root = Path("...")                      the folder that holds config/
booking = load_booking(root, load_config(root))
booking.arms[0].server_args             what the first arm's server is started with
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbook.config import claims, rules, workload
from benchbook.config.check import allowed, check, schema
from benchbook.config.engines import Engines, spelled
from benchbook.config.messages import Problems, listed, shown, unknown
from benchbook.config.read import Document, read, stems
from benchbook.config.records import (
    Arm,
    Booking,
    Budget,
    Comparisons,
    Engine,
    ExpectedFailure,
    Hypothesis,
    Limits,
    Model,
    Node,
    Schedule,
    Server,
    Telemetry,
    Thresholds,
    Warmup,
    Workload,
)
from benchbook.errors import ConfigError
from benchbook.measure import warmup
from benchbook.measure.specification import VLLM_BENCH

__all__ = [
    "Arm",
    "Booking",
    "Comparisons",
    "Engine",
    "ExpectedFailure",
    "Hypothesis",
    "Limits",
    "Model",
    "Node",
    "Schedule",
    "Server",
    "Telemetry",
    "Thresholds",
    "Warmup",
    "Workload",
    "load_booking",
    "load_config",
    "load_registry",
]


def load_config(root: Path) -> str:
    """The booking that config/config.yaml names, whether or not it exists.

    Raises ConfigError when the file is missing or says anything else.
    """
    file, problems = "config/config.yaml", Problems()
    try:
        document = read(root, file, problems)
    except FileNotFoundError:
        has = listed(stems(root, "bookings"))
        raise ConfigError(
            f"{file} does not exist; create it with the line booking: and a name (config/bookings/ has {has})."
        ) from None
    checked = check(document, "config", file, problems) if document else Document({})
    problems.raise_any()
    name: str = checked.data["booking"]
    return name


def load_registry(root: Path) -> Path:
    """The folder of the registry that config/config.yaml names, as it names it. Raises ConfigError as load_config."""
    file, problems = "config/config.yaml", Problems()
    try:
        document = read(root, file, problems)
    except FileNotFoundError:
        raise ConfigError(f"{file} does not exist; create it with the line booking: and a name.") from None
    checked = check(document, "config", file, problems) if document else Document({})
    problems.raise_any()
    return Path(checked.data["registry"])


def load_booking(root: Path, booking_id: str) -> Booking:
    """The booking config/bookings/<booking_id>.yaml with its node, model and engines, defaults filled in.

    Whether a Python, a command or a model directory exists is not asked: that is the node's, and this may be elsewhere.

    Raises ConfigError with everything that is wrong with the files, one sentence a line.
    """
    problems = Problems()
    name_schema = schema("config")["properties"]["booking"]
    if not re.fullmatch(name_schema["pattern"], booking_id):
        raise ConfigError(f"{shown(booking_id)} cannot be the name of a booking; give {allowed(name_schema)}.")
    file = f"config/bookings/{booking_id}.yaml"
    try:
        document = read(root, file, problems)
    except FileNotFoundError:
        advice = unknown(booking_id, stems(root, "bookings"), "config/bookings/ has", "name one of these or create it")
        raise ConfigError(f"{file} does not exist {advice}") from None
    booking = check(document, "booking", file, problems) if document else Document({})
    if not booking.data:
        problems.raise_any()
    data = booking.data

    node = _node(root, file, data, problems)
    model = _model(root, file, data, problems)
    draft = _model(root, file, data, problems, "draft_model")
    engines = Engines(root, file, booking, problems)
    engine = engines.get(data["engine"], ("engine",)) if "engine" in data else None
    given = "client_engine" in data
    client = engines.get(data["client_engine"], ("client_engine",)) if given else engine
    if problems.sound(file, "client") and VLLM_BENCH in workload.clients(data):
        rules.check_client_engine(engine, client, given, file, problems)
    rules.check_flags(data, file, problems)
    rules.check_draft_model(data, file, problems)
    rules.check_overrides(data, file, problems)
    rules.check_arm_names(data, file, problems)
    rules.check_expected_failures(data, file, problems)
    arms = _arms(file, booking, engine, engines, problems)
    if not data.get("identical_arms"):
        rules.check_same_arms(arms, file, problems)
    claims.check(data, file, problems)
    workload.check_keys(document.data if document else {}, data, file, problems)
    workload.check_client(data, file, problems)
    rules.check_prompts(data, file, problems)
    rules.check_repeats(data, file, problems)
    rules.check_length(data, file, problems)
    rules.check_limits_in_order(data, file, problems)
    rules.check_recording(root, data, file, problems)
    problems.raise_any()
    asked = _workload(root, file, data, problems)
    problems.raise_any()

    assert node and model and engine and document
    clients = workload.clients(data)
    server = data["server"]
    return Booking(
        id=booking_id,
        title=data["title"],
        question=data.get("question"),
        node=node,
        model=model,
        engine=engine,
        client=clients,
        client_engine=client if VLLM_BENCH in clients else None,
        sealed=data["sealed"],
        recorded=data.get("recorded"),
        server=Server(
            server["args"], spelled(server["env"], ("server", "env"), booking.spelling), server["port"]
        ),
        arms=tuple(arms.values()),
        workload=asked,
        warmup=_warmup(data["warmup"]),
        schedule=Schedule(**data["schedule"]),
        limits=Limits(**_floats(data["limits"])),
        thresholds=Thresholds(**_floats(data["thresholds"])),
        telemetry=Telemetry(**_floats(data["telemetry"])),
        expected_failures=tuple(ExpectedFailure(**failure) for failure in data["expected_failures"]),
        comparisons=claims.comparisons(data),
        hypotheses=claims.hypotheses(data),
        draft_model=draft,
        budget=Budget(**data["budget"]),
        allow=data["preflight"]["allow"],
    )


def _warmup(data: dict[str, Any]) -> Warmup:
    limits = data[rules.limits_of(data["rule"])]
    return Warmup(data["rule"], data["max_readings"], warmup.rule({"rule": data["rule"], **limits}))


def _floats(section: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in section.items()}


def _named(
    root: Path, kind: str, file: str, booking: dict[str, Any], problems: Problems, key: str | None = None
) -> tuple[str, dict[str, Any]] | None:
    """The name and the checked content of the node or model file that the booking names, if all is well with it.

    `key`: where the booking names it, by default its kind.
    """
    key = key or kind
    if key not in booking or not problems.sound(file, key):
        return None
    name: str = booking[key]
    named = f"config/{kind}s/{name}.yaml"
    try:
        document = read(root, named, problems)
    except FileNotFoundError:
        where = f"config/{kind}s/ has"
        advice = unknown(name, stems(root, f"{kind}s"), where, f"use one of these or add {named}")
        problems.add(file, (key,), f"is not a {kind} {advice}", name)
        return None
    checked = check(document, kind, named, problems) if document else Document({})
    return (name, checked.data) if problems.sound(named) else None


def _node(root: Path, file: str, booking: dict[str, Any], problems: Problems) -> Node | None:
    found = _named(root, "node", file, booking, problems)
    if found is None:
        return None
    name, data = found
    price, bandwidth, rate = (
        None if data[key] is None else float(data[key])
        for key in ("price_usd_per_hour", "memory_bandwidth_tb_s", "matrix_tflops")
    )
    memory, power, host = (
        None if data[key] is None else float(data[key])
        for key in ("gpu_memory_gib", "power_limit_w", "host_memory_gib")
    )
    return Node(name, data["description"], price, data["gpus"], bandwidth, rate, data.get("kind", name), memory, power,
                data["cores"], host)  # fmt: skip


def _model(
    root: Path, file: str, booking: dict[str, Any], problems: Problems, key: str = "model"
) -> Model | None:
    found = _named(root, "model", file, booking, problems, key)
    if found is None:
        return None
    name, data = found
    return Model(name, data.get("description"), data.get("build"), data.get("config"), data.get("path"),
                 data["sizes"], data.get("expert_format"))  # fmt: skip


def _arms(file: str, booking: Document, engine: Engine | None, engines: Engines, problems: Problems) -> dict[int, Arm]:
    """The arms without a problem, by index."""
    arms: dict[int, Arm] = {}
    for index, data in rules.sound_arms(booking.data, file, problems).items():
        key = ("arms", index)
        own = engines.get(data["engine"], (*key, "engine")) if "engine" in data else engine
        if own is None or not problems.sound(file, "server"):
            continue
        server = booking.data["server"]
        common_env = spelled(server["env"], ("server", "env"), booking.spelling)
        env = spelled(data["env"], (*key, "env"), booking.spelling)
        arms[index] = Arm(
            name=data["name"],
            description=data.get("description"),
            args=data["args"],
            env=env,
            engine=own,
            server_args=rules.server_args(server["args"], data["args"]),
            server_env={**own.env, **common_env, **env},
            cpus=data.get("cpus"),
        )
    return arms


def _at_each(given: int | Mapping[str, int], levels: Sequence[int]) -> dict[int, int]:
    return {level: given if isinstance(given, int) else given[str(level)] for level in levels}


def _workload(root: Path, file: str, booking: dict[str, Any], problems: Problems) -> Workload:
    data = booking["workload"]
    levels: list[int] = data["concurrency"]
    if "waves" in data:
        prompts = {level: data["waves"] * level for level in levels}
    else:
        prompts = _at_each(data["num_prompts"], levels)
    repeats = _at_each(data["repeats"], levels)
    rule, spares = booking["warmup"]["rule"], booking["warmup"]["max_readings"]
    again = 2 if rules.has_gate(rule) else 1
    needed = sum(
        spares * level + again * repeats[level] * len(workload.clients(booking)) * prompts[level] for level in levels
    )
    return Workload(
        kind=data["kind"],
        content=workload.content(data),
        endpoint=data["endpoint"],
        connections=data["connections"],
        concurrency=tuple(levels),
        prompts=prompts,
        repeats=repeats,
        seed=data["seed"],
        file_sha256=rules.check_file(root, data, needed, file, problems) if data["kind"] == "file" else None,
    )
