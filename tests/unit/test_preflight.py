"""Planted mistakes, one booking file each: preflight names every one, and nothing else as an error."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import benchbook
import pandas as pd
import pytest
import reportinput
import yaml
from benchbook.cli import main
from benchbook.config.load import load_booking
from benchbook.engines import vllm_log
from benchbook.errors import ConfigError, PreflightError, TextError
from benchbook.measure import cgroup
from benchbook.preflight import (
    asked,
    boots,
    capture,
    cores,
    defaults,
    flags,
    gate,
    gather,
    gpu_memory,
    runs,
    sglang,
    table,
)
from benchbook.preflight.check import check
from benchbook.preflight.finding import ERROR, NOTE, WARNING, Finding
from benchbook.preflight.rules import RULES
from benchbook.preflight.value import Value
from benchbook.present import report
from preflightfiles import Planted, booking, project

ROOT = Path(benchbook.__file__).parents[2]
SIXTEEN = Value(16.0, "the node has 16 cores")
SPEC3 = '{"method": "mtp", "num_speculative_tokens": 3}'
EIGHT = {"node": "eight", "model": "mxfp4-moe"}
DP8 = {"data-parallel-size": 8, "enable-expert-parallel": True, "api-server-count": 1}

PLANTED: dict[str, Planted] = {
    "capture-in-sequences": Planted("capture-too-small", ERROR, {
        "speculative-config": SPEC3, "max-cudagraph-capture-size": 64, "max-num-batched-tokens": 8192},
        says="64 x (1 + 3) = 256 > 64"),
    "capture-below-sweep": Planted("capture-too-small", ERROR, {
        "max-num-seqs": 1024, "max-cudagraph-capture-size": 256}, {"workload": {"concurrency": [64, 704]}},
        says="1,024 x (1 + 0) = 1,024 > 256"),
    "default-sequences-beyond-graphs": Planted("capture-too-small", WARNING, {"max-num-seqs": None},
                                               says="1,024 x (1 + 0) = 1,024 > 512"),
    "sweep-beyond-default-graphs": Planted("capture-too-small", ERROR, {"max-num-seqs": None}, {
        "workload": {"concurrency": [64, 704]}}, says="leaves the graphs above 512"),
    "count-in-words": Planted("flag-unreadable", ERROR, {"max-num-batched-tokens": "plenty"}),
    "share-in-percent": Planted("flag-unreadable", ERROR, {"gpu-memory-utilization": "90%"}),
    "broken-json": Planted("flag-unreadable", ERROR, {"compilation-config": "{cudagraph_mode: FULL"}),
    "nul-in-env": Planted("flag-unreadable", ERROR, {}, {"server": {"env": {"VLLM_LOGGING_LEVEL": "IN\0FO"}}}),
    "capture-sizes-list": Planted("capture-too-small", ERROR, {"cudagraph-capture-sizes": [1, 2, 4, 8, 16, 32]},
                                  says="64 x (1 + 0) = 64 > 32"),
    "capture-in-compilation-config": Planted("capture-too-small", ERROR, {
        "compilation-config": '{"max_cudagraph_capture_size": 32}'}, says="= 64 > 32"),
    "capture-per-rank": Planted("capture-too-small", ERROR, {**DP8, "max-cudagraph-capture-size": 16}, {
        **EIGHT, "workload": {"concurrency": [64, 352]}}, says="16 sequences a rank, x 8 ranks = 128"),
    "depth-untold": Planted("capture-too-small", NOTE, {"speculative-config": '{"method": "mtp"}',
                                                        "max-num-batched-tokens": 8192}),
    "capture-sizes-conflict": Planted("capture-sizes-conflict", ERROR, {
        "cudagraph-capture-sizes": [1, 64, 128], "max-cudagraph-capture-size": 256}, says="max(1, 64, 128) = 128"),
    "queue-measured": Planted("sequences-below-sweep", WARNING, {}, {"workload": {"concurrency": [16, 352]}},
                              says="352 / 1 = 352 > 64"),
    "sglang-graph": Planted("sglang-capture-too-small", ERROR, {
        "max-num-seqs": None, "gpu-memory-utilization": None, "max-model-len": None, "cuda-graph-max-bs": 8,
        "max-running-requests": 48}, {"engine": "sglang"}, says="min(64 / 1, 48) = 48 > 8"),
    "sglang-share": Planted("sglang-memory-over", ERROR, {
        "max-num-seqs": None, "gpu-memory-utilization": None, "max-model-len": None, "cuda-graph-max-bs": 64,
        "mem-fraction-static": 0.95}, {"engine": "sglang"}, says="(1 - 0.95) x 139.8 = 7.0 GiB < 12.6 GiB"),
    "tuned-for-decoding": Planted("autotune-range", WARNING, {
        "max-cudagraph-capture-size": 64, "max-num-batched-tokens": 8192, "gpu-memory-utilization": 0.85},
        EIGHT, says="tuned to max(64, 1) = 64 tokens < 8,192"),
    "workspaces-uncounted": Planted("autotune-workspace", WARNING, {"gpu-memory-utilization": 0.92}, EIGHT,
                                    says="(1 - 0.92) x 267.69 = 21.4 GiB"),
    "weights-over": Planted("gpu-memory-over", ERROR, {"gpu-memory-utilization": 0.2}, {"node": "small"},
                            says="0.2 x 24 = 4.80 GiB"),
    "kv-bytes-over": Planted("gpu-memory-over", ERROR, {"kv-cache-memory-bytes": 150_000_000_000},
                             says="kv-cache-memory-bytes = 139.70 GiB"),
    "kv-bytes-tight": Planted("gpu-memory-tight", WARNING, {"kv-cache-memory-bytes": 141_600_000_000}),
    "graphs-not-estimated": Planted("graph-estimate-off", WARNING, {}, {
        "server": {"env": {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"}}}),
    "share-unwritten": Planted("memory-share-unwritten", WARNING, {"gpu-memory-utilization": None}),
    "pinned-tables": Planted("host-memory-over", ERROR, {"load-format": None, **DP8, "gpu-memory-utilization": 0.78}, {
        "node": "eight", "model": "pinned"}, says="188.8 + 455.3 = 644.1 GiB > 400 GiB"),
    "offload-over": Planted("host-memory-over", ERROR, {"cpu-offload-gb": 160}, says="160.0 + 0.0 = 160.0 GiB > 128"),
    "request-too-long": Planted("kv-one-request", ERROR, {
        "max-model-len": 40960, "gpu-memory-utilization": 0.4}, {"node": "small", "workload": {
            "input_tokens": 5000, "concurrency": [1, 2], "num_prompts": 702}}, says="40,960 tokens, 5.62 GiB >"),
    "kv-too-small": Planted("kv-too-small", ERROR, {"gpu-memory-utilization": 0.4}, {"node": "small"},
                            says="64 requests a rank x 512 tokens = 32,768 >"),
    "cpu-kv-too-small": Planted("kv-too-small", ERROR, {}, {"node": "cpu", "server": {"env": {
        "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0"}}}, says="= 32,768 > 7,281"),
    "length-far": Planted("max-model-len-far", WARNING, {"max-model-len": None}, says="40,960 / 512 = 80 times"),
    "ranks-over": Planted("gpus-too-few", ERROR, {"tensor-parallel-size": 2}, says="1 ranks x 2 x 1 = 2 > 1 GPUs"),
    "servers-over-cores": Planted("cores-too-few", ERROR, {"api-server-count": 4}, {"node": "narrow"},
                                  says="4 + 1 + 1 client = 6 > 4 cores"),
    "dp-servers-over-cores": Planted("cores-too-few", ERROR, {"data-parallel-size": 8}, {
        "node": "eight", "arms": [{"name": "base", "cpus": 8}]}, says="8 + 8 = 16 > 8 cores"),
    "pinned-over-node": Planted("cores-too-few", ERROR, {}, {"arms": [{"name": "base", "cpus": 32}]},
                                says="32 > 16 cores"),
    "steps-miscounted": Planted("api-servers-steps", WARNING, {"api-server-count": 2}),
    "one-server-for-long-prompts": Planted("front-end-narrow", WARNING, {"max-model-len": 131072}, {
        "node": "eight", "workload": {"input_tokens": 75000, "concurrency": [160], "num_prompts": 800},
        "model": "mxfp4-moe"}, says="160 x 75,000 / (337,500 x 1) = 36 s"),
    "patched-under-main": Planted("wrapped-server", WARNING, {"api-server-count": 4}, {"engine": "wrapped"}),
    "engine-gives-up": Planted("ready-timeout", WARNING, {"api-server-count": 2}, {"limits": {"ready_s": 3600}},
                               says="600 s < limits.ready_s = 3600 s"),
    "cold-boot-is-warm": Planted("startup-plan", WARNING, {}, {"server": {"env": {"VLLM_ENABLE_STARTUP_PLAN": "1"}}}),
    "client-saturated": Planted("client-rate", WARNING, {"max-num-seqs": 512}, {
        "node": "eight", "client": "vllm-bench", "workload": {"concurrency": [512], "num_prompts": 2048}},
        says="x 20 us ="),
    "file-begun-again": Planted("prompts-repeat", ERROR, {}, {"workload": {
        "kind": "file", "path": "prompts.jsonl", "repeat": True, "input_tokens": None, "output_tokens": None}}),
    "starts-collide": Planted("prompts-repeat", WARNING, {}, {"client": "vllm-bench"},
                              says="5,024 prompts / 32,768 ids = 15.3 % > 1 %"),
    "budget-unwritten": Planted("speculation-budget", ERROR, {"max-cudagraph-capture-size": 512}, {"arms": [
        {"name": "base"}, {"name": "drafting", "args": {"speculative-config": SPEC3}}]}),
    "recipe-of-source-000": Planted("partial-wave", ERROR, {}, {"workload": {
        "concurrency": [32], "num_prompts": 100}}, says="100 / 32 = 3.125 waves: 1 - 3.125 / 4 = 21.9 % too low"),
    "less-than-a-wave": Planted("partial-wave", ERROR, {}, {"workload": {"concurrency": [64], "num_prompts": 16}},
                                says="16 / 64 = 0.25 waves: 1 - 0.25 / 1 = 75.0 % too low"),
    "two-waves": Planted("waves-few", WARNING, {}, {"workload": {"concurrency": [64], "num_prompts": 128}},
                         says="128 / 64 = 2 waves"),
    "no-p90": Planted("percentiles-few", WARNING, {}, {"workload": {"concurrency": [8], "num_prompts": 32}},
                      says="p90 needs 64: 32 at 8"),
    "blocks": Planted("order-blocked", WARNING, {}, {"arms": [{"name": "a"}, {"name": "b", "args": {"seed": 1}}],
                                                     "schedule": {"order": "blocked", "sessions_per_arm": 3}}),
    "one-boot": Planted("boots-few", NOTE, {}, {"arms": [{"name": "a"}, {"name": "b", "args": {"seed": 1}}],
                                                "schedule": {"sessions_per_arm": 1}}, says="1 < 3 boots"),
    "override-of-nothing": Planted("override-unused", WARNING, {}, {"preflight": {"allow": {
        "partial-wave": "the recipe's own number"}}}),
}  # fmt: skip


def found(root: Path, content: dict[str, Any], boots_seen: tuple[boots.Boot, ...] = ()) -> list[Finding]:
    project(root, planted=content)
    return gate.findings(load_booking(root, "planted"), root, boots_seen)


def test_there_are_mistakes_enough_and_every_rule_has_one():
    assert len(PLANTED) >= 25
    assert {planted.rule for planted in PLANTED.values()} == set(RULES) - {"memory-phases"}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found_and_no_other_error(tmp_path, name):
    planted = PLANTED[name]
    findings = found(tmp_path, booking(planted.args, planted.changes))
    mine = [item for item in findings if item.rule == planted.rule]
    assert [item.severity for item in mine] == [planted.severity], [(item.rule, item.evidence) for item in findings]
    assert planted.says in mine[0].arithmetic, mine[0].arithmetic
    assert mine[0].remedy and mine[0].evidence and mine[0].source == RULES[planted.rule].source
    assert {item.rule for item in findings if item.severity == ERROR} <= {planted.rule}
    assert len({item.finding_id for item in findings}) == len(findings)


def test_a_sound_booking_has_notes_only(tmp_path):
    assert {item.severity for item in found(tmp_path, booking())} == {NOTE}


@pytest.mark.parametrize("path", sorted((ROOT / "config/bookings").glob("*.yaml")), ids=lambda path: path.stem)
def test_no_error_stands_against_a_shipped_booking(path):
    shipped = load_booking(ROOT, path.stem)
    wanted = asked.of_booking(shipped, ROOT)
    declared = wanted.node["cores"]
    findings = check(wanted, [], Value(float(declared or 2), "two cores, as the demo asks for"))
    assert not [item for item in findings if item.stops]
    assert not [item for item in findings if item.rule == "override-unused"]


def test_the_shipped_booking_that_tests_a_small_capture_says_so():
    shipped = asked.of_booking(load_booking(ROOT, "h200-capture"), ROOT)
    (stopped,) = [item for item in check(replace(shipped, allow={}), [], SIXTEEN) if item.stops]
    assert (stopped.rule, stopped.arm) == ("capture-too-small", "capture-64")
    assert "64 x (1 + 3) = 256 > 64 tokens" in stopped.arithmetic and "above 16 in flight" in stopped.arithmetic
    (let,) = [item for item in check(shipped, [], SIXTEEN) if item.severity == ERROR]
    assert let.allowed == "this is what the booking tests" and not let.stops


# Defaults against what logs of such servers say (docs/engines.md 4.1).


@pytest.mark.parametrize(("seqs", "drafts", "piecewise", "full"), [
    (16, 0, 32, 16), (64, 0, 128, 64), (32, 3, 256, 128), (32, 15, 512, 512),
])  # fmt: skip
def test_the_default_capture_is_that_of_four_logs(tmp_path, seqs, drafts, piecewise, full):
    spec = {"speculative-config": f'{{"method": "mtp", "num_speculative_tokens": {drafts}}}'} if drafts else {}
    project(tmp_path, planted=booking({"max-num-seqs": seqs, **spec}))
    wanted = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path)
    (arm,) = wanted.arms
    largest = defaults.capture(arm, wanted)
    assert largest.value == piecewise and not largest.written
    assert defaults.full_decode(arm, capture.layout(arm.args), piecewise, seqs) == full


@pytest.mark.parametrize(("asked_for", "captured"), [(1, 1), (3, 2), (7, 4), (8, 8), (100, 96), (250, 248), (256, 256),
                                                     (300, 288), (512, 512)])  # fmt: skip
def test_a_size_between_two_of_the_grid_is_cut_down(asked_for, captured):
    assert defaults.on_grid(asked_for, 8192) == captured
    assert defaults.on_grid(asked_for, 5) == (5 if asked_for >= 5 else captured)


@pytest.mark.parametrize(("node", "engine", "seqs"), [
    ("box", "vllm-0.26.0", 1024), ("small", "vllm-0.26.0", 256), ("cpu", "vllm-0.26.0", 128), ("box", "nameless", None),
])  # fmt: skip
def test_the_default_of_sequences_depends_on_the_gpu_and_is_not_guessed(tmp_path, node, engine, seqs):
    project(tmp_path, planted=booking({"max-num-seqs": None}, {"node": node, "engine": engine}))
    wanted = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path)
    assert defaults.sequences(wanted.arms[0], wanted).value == seqs


@pytest.mark.parametrize(("text", "number"), [
    ("0.26.0", (0, 26)), ("0.32.1rc1", (0, 32)), ("0.1.dev20904+g179dd0fa9", None), ("0.11.0+cpu", (0, 11)),
    (None, None), ("main", None),
])  # fmt: skip
def test_a_development_build_says_nothing_of_its_defaults(text, number):
    assert defaults.release(text) == number


@pytest.mark.parametrize(("engine", "share"), [("vllm-0.26.0", 0.92), ("vllm-0.11.0", 0.9), ("vllm-0.15.0", None)])
def test_the_default_share_of_memory_changed(engine, share):
    arm = asked.ServerAsked("a", "arms[0]", engine, "vllm", engine[5:], "its name", (), {}, {}, None, None)
    assert defaults.gpu_share(arm).value == share


def test_a_locked_environment_tells_its_version_and_an_image_its_tag():
    demo = asked.of_booking(load_booking(ROOT, "demo-cpu"), ROOT)
    assert demo.arms[0].version == "0.32.0" and demo.arms[0].version_from.endswith(".lock")
    assert asked._IN_NAME.search("vllm/vllm-openai:v0.20.1")[1] == "0.20.1"  # type: ignore[index]
    assert asked._IN_NAME.search("vllm/vllm-openai:deepseekv41-flash-0909") is None


@pytest.mark.parametrize(("value", "number"), [(8, 8), ("8", 8), ("8k", 8000), ("8K", 8192), ("1.5k", 1500), (-1, -1),
                                               ("auto", None), (True, None), (2.5, None), (None, None)])  # fmt: skip
def test_numbers_are_read_as_the_engine_reads_them(value, number):
    assert flags.whole(value) == number


def test_flags_have_one_spelling():
    assert flags.named({"max_num_seqs": 4, "dp": 2, "speculative-config.num_speculative_tokens": 3}) == {
        "max-num-seqs": 4, "data-parallel-size": 2, "speculative-config.num_speculative_tokens": 3}  # fmt: skip


# Memory against the log of a boot.


def recorded() -> boots.Boot:
    return gather.of_log(ROOT / "recordings/h200-qwen3moe/base.server.log.gz")


def recorded_arm() -> tuple[asked.Asked, asked.ServerAsked]:
    wanted = asked.of_booking(load_booking(ROOT, "h200-recorded"), ROOT)
    return wanted, wanted.arms[0]


def test_memory_by_phase_is_what_the_log_of_the_recorded_boot_prints():
    wanted, arm = recorded_arm()
    measured = boots.like(arm, wanted, [recorded()])
    assert measured is not None and measured.differing == ()
    memory = gpu_memory.of(arm, wanted, measured)
    assert memory is not None
    assert memory.kv == pytest.approx(70.9, abs=0.01) and memory.unmeasured == ()
    assert memory.after == pytest.approx(139.8 - 55.97 - 0.24 - 70.9, abs=0.02)


def test_weights_by_description_are_those_that_were_loaded():
    wanted, arm = recorded_arm()
    told = gpu_memory.of(arm, wanted, None)
    assert told is not None and told.weights.value == pytest.approx(55.97, rel=0.002)
    assert set(told.unmeasured) == {"activation peak", "memory outside PyTorch", "estimate of the graphs", "capture"}


def test_a_boot_of_other_flags_is_named_and_one_of_another_layout_is_not_taken():
    wanted, arm = recorded_arm()
    other = replace(recorded(), args={**(recorded().args or {}), "max-num-seqs": 64})
    measured = boots.like(arm, wanted, [other])
    assert measured is not None and measured.differing == ("max-num-seqs",) and "max-num-seqs" in measured.said
    same = boots.like(arm, wanted, [recorded(), other])
    assert same is not None and same.differing == ()
    two = replace(recorded(), args={**(recorded().args or {}), "tensor-parallel-size": 2})
    assert boots.like(arm, wanted, [two]) is None
    assert boots.like(arm, wanted, [replace(recorded(), model="another")]) is None


def test_a_boot_that_got_as_far_as_its_kv_cache_is_taken_before_a_later_one_that_failed():
    wanted, arm = recorded_arm()
    failed = replace(recorded(), name="later", facts={**recorded().facts, "kv_cache_tokens": None})
    measured = boots.like(arm, wanted, [recorded(), failed])
    assert measured is not None and measured.boot.name == "base.server.log.gz"


def test_what_a_boot_of_other_flags_measured_makes_no_error(tmp_path):
    project(tmp_path, planted=booking({"gpu-memory-utilization": 0.1}))
    wanted = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path)
    facts = {**recorded().facts, "weights_gib": 7.0, "activation_gib": 20.0}
    same = dict(wanted.arms[0].args)
    for args, severity in ((same, ERROR), ({**same, "max-num-batched-tokens": 65536}, WARNING)):
        over = [item for item in check(wanted, [boots.Boot("earlier", None, None, None, args, facts)], SIXTEEN)
                if item.rule == "gpu-memory-over"]  # fmt: skip
        assert [item.severity for item in over] == [severity]


def test_a_capture_that_an_earlier_boot_measured_counts(tmp_path):
    facts = {**recorded().facts, "weights_gib": 7.0, "capture_gib": 9.6, "gpu_memory_gib": 139.8}
    project(tmp_path, planted=booking({"kv-cache-memory-bytes": 136_000_000_000}))
    wanted = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path)
    boot = boots.Boot("earlier", None, None, None, dict(wanted.arms[0].args), facts)
    errors = [item for item in check(wanted, [boot], SIXTEEN) if item.stops]
    assert [item.rule for item in errors] == ["gpu-memory-over"]
    assert "capture 9.60 + activations 0.87 = 10.47 GiB" in errors[0].arithmetic


def test_source_000s_memory_is_that_of_its_log(tmp_path):
    """0.92 x 267.69 - 51.22 - 27.7 = 167.35 GiB, and 49 GiB free after it: golden rows budget_092, kv_boot,
    free_after_kv."""
    expected = {row["id"]: float(row["recomputed"]) for row in golden()}
    project(tmp_path, planted=booking({"gpu-memory-utilization": 0.92, **DP8}, EIGHT))
    wanted = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path)
    facts = {"weights_gib": 45.11, "non_torch_gib": 6.11, "activation_gib": 27.7, "graph_estimate_gib": 0.0}
    measured = boots.Measured(boots.Boot("20260911-222321", None, None, None, None, facts), ())
    memory = gpu_memory.of(wanted.arms[0], wanted, measured)
    assert memory is not None
    assert memory.kv == pytest.approx(expected["kv_boot"], abs=0.01)
    assert memory.after == pytest.approx(expected["free_after_kv"], abs=0.01)


def golden() -> list[dict[str, str]]:
    with (ROOT / "tests/golden/golden.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_predicted_loss_of_a_partial_wave_is_what_source_000_measured():
    measured = 1 - 1451.5 / 1849.48
    assert runs.partial_loss(100, 32) == pytest.approx(0.21875) and abs(0.21875 - measured) < 0.005
    assert runs.partial_loss(128, 32) == 0


def test_sglang_reserves_what_its_source_says(tmp_path):
    project(tmp_path, planted=booking({"cuda-graph-max-bs": 64, "chunked-prefill-size": 8192}, {"engine": "sglang"}))
    (arm,) = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path).arms
    assert sglang.reserve_gib(arm) == pytest.approx((512 + 1.5 * 8192 + 2 * 64) / 1024)
    eagle = replace(arm, args={**arm.args, "speculative-algorithm": "EAGLE3"})
    assert sglang.reserve_gib(eagle) == pytest.approx((512 + 1.5 * 8192 + 2 * 64 + 2048) / 1024)


@pytest.mark.parametrize(("args", "env", "counted"), [
    ({}, {}, (1, 1, 0)),
    ({}, {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}, (1, 0, 0)),
    ({"tensor-parallel-size": 4}, {}, (1, 1, 4)),
    ({"data-parallel-size": 8}, {}, (8, 8, 0)),
    ({"data-parallel-size": 8, "api-server-count": 1}, {}, (1, 8, 0)),
    ({"data-parallel-size": 8}, {"VLLM_USE_RUST_FRONTEND": "1"}, (1, 8, 0)),
    ({"distributed-executor-backend": "mp"}, {}, (1, 1, 1)),
])  # fmt: skip
def test_processes_of_a_server(args, env, counted):
    arm = asked.ServerAsked("a", "arms[0]", "e", "vllm", "0.26.0", "", (), args, env, None, None)
    assert cores.processes(arm) == cores.Processes(*counted)


# What does not apply, and what is not known.


def test_rules_of_gpus_do_not_apply_to_a_cpu(tmp_path):
    content = booking({"max-num-seqs": 600, "gpu-memory-utilization": None, "tensor-parallel-size": 2}, {
        "node": "cpu", "server": {"env": {"VLLM_CPU_KVCACHE_SPACE": "40"}}})  # fmt: skip
    of_gpus = {"capture-too-small", "gpu-memory-over", "memory-phases", "memory-share-unwritten", "gpus-too-few"}
    assert not of_gpus & {item.rule for item in found(tmp_path, content)}


def test_a_kv_cache_that_drawn_lengths_may_fit_into_is_a_warning(tmp_path):
    drawn = {"distribution": "uniform", "min": 2, "max": 256}
    content = booking({"gpu-memory-utilization": 0.4}, {"node": "small", "workload": {"output_tokens": drawn}})
    (small,) = [item for item in found(tmp_path, content) if item.rule == "kv-too-small"]
    assert small.severity == WARNING and "fewer may be enough" in small.evidence


def test_an_eager_server_has_no_graphs(tmp_path):
    eager = {"speculative-config": SPEC3, "max-cudagraph-capture-size": 64, "max-num-batched-tokens": 8192}
    for off in ({"enforce-eager": True}, {"compilation-config": '{"cudagraph_mode": "NONE"}'}):
        assert "capture-too-small" not in {item.rule for item in found(tmp_path, booking({**eager, **off}))}


def test_what_is_not_known_is_said_and_not_guessed(tmp_path):
    content = booking({"max-num-seqs": None, "gpu-memory-utilization": None, "max-model-len": None}, {
        "engine": "nameless", "model": "path-only"})  # fmt: skip
    findings = found(tmp_path, content)
    assert not [item for item in findings if item.severity == ERROR]
    unknown = {item.rule: item.evidence for item in findings if "Not checked" in item.evidence}
    assert set(unknown) == {"capture-too-small", "max-model-len-far", "kv-too-small", "client-rate"}
    assert "version of engine nameless is not known" in unknown["capture-too-small"]


def test_a_newer_autotuner_sees_prefill(tmp_path):
    args = {"max-cudagraph-capture-size": 64, "max-num-batched-tokens": 8192, "gpu-memory-utilization": 0.85}
    findings = found(tmp_path, booking(args, {**EIGHT, "engine": "vllm-0.32.0"}))
    assert "autotune-range" not in {item.rule for item in findings}
    (unknown,) = [item for item in found(tmp_path, booking(args, {**EIGHT, "engine": "nameless"}))
                  if item.rule == "autotune-range"]  # fmt: skip
    assert unknown.severity == NOTE and "version of engine nameless is not known" in unknown.evidence


def test_a_session_asks_without_loading_what_it_does_not_need():
    code = "import sys; from benchbook.preflight import gate; print(sorted({'pandas', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_arms_alike_are_told_once(tmp_path):
    arms = [{"name": "a"}, {"name": "b", "args": {"seed": 1}}]
    content = booking({"max-cudagraph-capture-size": 32}, {"arms": arms, "schedule": {"sessions_per_arm": 3}})
    (small,) = [item for item in found(tmp_path, content) if item.rule == "capture-too-small"]
    assert small.arm == "a, b" and small.finding_id == "capture-too-small/a+b"


# Overrides.


def test_an_override_lets_an_error_stand_and_the_reason_is_printed(tmp_path, capsys, monkeypatch):
    planted = PLANTED["capture-in-sequences"]
    allow = {"preflight": {"allow": {"capture-too-small": "that is the test"}}}
    project(tmp_path, planted=booking(planted.args, allow))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["preflight", "planted"])
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert "ALLOWED  capture-too-small (base)" in printed and "Allowed by the booking file: that is the test" in printed


@pytest.mark.parametrize(("allow", "said"), [
    ({"capture-to-small": "a reason"}, "did you mean capture-too-small?"), ({"partial-wave": " "}, "gives no reason"),
    ({"partial-wave": ""}, "is empty"), ({"partial-wave": True}, "is a boolean"),
])  # fmt: skip
def test_an_override_of_no_rule_or_without_a_reason_is_refused(tmp_path, allow, said):
    project(tmp_path, planted=booking({}, {"preflight": {"allow": allow}}))
    with pytest.raises(ConfigError, match=re.escape(said)):
        load_booking(tmp_path, "planted")


# The command and the gate.


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["preflight", *words])
    return int(ended.value.code or 0)


def test_the_command_exits_by_what_it_found(tmp_path, capsys, monkeypatch):
    project(tmp_path, sound=booking(), planted=booking({"max-cudagraph-capture-size": 32}))
    (tmp_path / "config/bookings/broken.yaml").write_text("title: [", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run("sound") == 0 and "sound: " in capsys.readouterr().out
    assert run("planted") == 1
    printed = capsys.readouterr().out
    assert printed.startswith("ERROR    capture-too-small (base), at server.args.max-cudagraph-capture-size\n")
    assert "\n         [engines.md 4.1]\n" in printed and "1 error" in printed.splitlines()[-1]
    assert run("broken") == 2 and run("absent") == 2 and run("config/nodes/box.yaml") == 2
    monkeypatch.chdir(tmp_path / "config")
    assert run(str(tmp_path / "config/bookings/planted.yaml")) == 1


def test_json_has_every_field_and_the_source(tmp_path, capsys, monkeypatch):
    project(tmp_path, planted=booking({"max-cudagraph-capture-size": 32}))
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert run("planted", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["booking"] == "planted" and told["stops"] is True
    first = told["findings"][0]
    assert set(first) == {"rule", "severity", "arm", "place", "evidence", "arithmetic", "remedy", "allowed", "source"}
    assert first["source"] == "engines.md 4.1"


def test_a_log_is_taken_and_what_is_none_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert run("h200-recorded", "--log", "recordings/h200-qwen3moe/base.server.log.gz") == 0
    assert "- 55.97 - 0.87 - 0.24 - 0.64 = 70.90 GiB" in capsys.readouterr().out
    (tmp_path / "x.log").write_text("nothing of a server\n", encoding="utf-8")
    with pytest.raises(TextError, match="says nothing of a vLLM server's start"):
        gather.of_log(tmp_path / "x.log")


def test_earlier_boots_of_the_same_model_engine_and_node_are_found(tmp_path):
    project(tmp_path, planted=booking())
    planted = load_booking(tmp_path, "planted")
    wanted = asked.of_booking(planted, tmp_path)
    log = (ROOT / "tests/logs/own-vllm-0.32-cpu-ok-api2.log").read_text(encoding="utf-8")
    for number, (node, broken) in enumerate((("box", False), ("cpu", False), ("box", True))):
        folder = tmp_path / f"results/other/raw/s1-base-0123456789ab/20260911-23054{number}"
        folder.mkdir(parents=True)
        spec = {"booking": "other", "model": {"name": "dense"}, "engine": {"name": "vllm-0.26.0"},
                "node": {"name": node}, "server": {"args": {"max-num-seqs": 64}}}  # fmt: skip
        (folder / "spec.json").write_text("{" if broken else json.dumps(spec), encoding="utf-8")
        (folder / "server.log").write_text(log, encoding="utf-8")
    (boot,) = gather.earlier(tmp_path, wanted)
    assert boot.name == "other 20260911-230540" and boot.facts == asdict(vllm_log.boot_facts(log))


def test_the_gate_writes_what_it_found_and_refuses_what_stands(tmp_path):
    findings = found(tmp_path, booking({"max-cudagraph-capture-size": 32}))
    path = tmp_path / "results/planted/preflight.json"
    gate.write(path, "planted", findings)
    before = path.stat().st_mtime_ns
    gate.write(path, "planted", findings)
    assert path.stat().st_mtime_ns == before and json.loads(path.read_text())["stops"]
    with pytest.raises(PreflightError, match=r"(?s)stopped by capture-too-small.*64 x \(1 \+ 0\) = 64 > 32.*allow"):
        gate.refuse("planted", findings)
    gate.refuse("planted", [replace(item, allowed="why") for item in findings])


def test_what_a_booking_asks_for_travels_as_json(tmp_path):
    for name in ("sound", *list(PLANTED)[:12]):
        planted = PLANTED.get(name, Planted("", ""))
        project(tmp_path, planted=booking(planted.args, planted.changes))
        wanted = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path)
        again = asked.from_json(json.loads(json.dumps(wanted.to_json())))
        assert again == wanted and check(again, [], SIXTEEN) == check(wanted, [], SIXTEEN)


def test_cores_are_those_of_the_node_file_or_of_this_machine(tmp_path, monkeypatch):
    project(tmp_path, planted=booking({}, {"node": "cpu"}))
    wanted = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path)
    assert gather.cores(wanted).value == 2
    undeclared = replace(wanted, node={**wanted.node, "cores": None})
    monkeypatch.setattr(gather.os, "sched_getaffinity", lambda _: set(range(12)))
    monkeypatch.setattr(cgroup, "cpu_quota_cores", lambda: None)
    assert gather.cores(undeclared).value == 12
    monkeypatch.setattr(cgroup, "cpu_quota_cores", lambda: 1.5)
    assert gather.cores(undeclared).value == 1.5
    elsewhere = replace(undeclared, node={**undeclared.node, "gpus": 9999})
    assert gather.cores(elsewhere).value is None


def test_the_cpu_quota_is_the_smallest_on_the_way_up(tmp_path, monkeypatch):
    place = tmp_path / "a/b"
    place.mkdir(parents=True)
    (place / "cpu.max").write_text("max 100000\n")
    (tmp_path / "a/cpu.max").write_text("150000 100000\n")
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    monkeypatch.setattr(cgroup.Path, "read_text", _membership(cgroup.Path.read_text, "0::/a/b\n"))
    assert cgroup.cpu_quota_cores() == 1.5
    (tmp_path / "a/cpu.max").write_text("max 100000\n")
    assert cgroup.cpu_quota_cores() is None


def _membership(real, text):
    return lambda path, *args, **named: text if str(path) == "/proc/self/cgroup" else real(path, *args, **named)


# The table of a report.


def sessions_of(*arms: str, cores: int | None = 12) -> pd.DataFrame:
    rows = [{"session_id": f"20260911-23054{place}", "arm": arm, "cores": cores} for place, arm in enumerate(arms)]
    return pd.DataFrame(rows).astype({"cores": "Int64"})


def test_the_table_is_of_configuration_and_raw_files_and_of_no_machine(tmp_path, monkeypatch):
    content = booking({"api-server-count": 16, "max-cudagraph-capture-size": 32}, {
        "preflight": {"allow": {"capture-too-small": "that is the test"}}})  # fmt: skip
    project(tmp_path, planted=content)
    wanted = asked.of_booking(load_booking(tmp_path, "planted"), tmp_path)
    wanted = replace(wanted, node={**wanted.node, "cores": None})
    facts = {**dict.fromkeys(asdict(recorded()).get("facts", {})), "weights_gib": 7.25, "kv_cache_tokens": 800_000}
    seen = []
    for machine in (1, 64):
        monkeypatch.setattr(gather.os, "sched_getaffinity", lambda _, machine=machine: set(range(machine)))
        seen.append(table.table(wanted, sessions_of("base"), [{"session": "20260911-230540", "facts": facts}]))
    pd.testing.assert_frame_equal(*seen)
    rows = seen[0].set_index("rule")
    assert "16 + 1 + 1 client = 18 > 12 cores" in rows.loc["cores-too-few", "arithmetic"]
    assert rows.loc["capture-too-small", "allowed"] == "that is the test"
    assert "weights 7.25 GiB as loaded by 20260911-230540" in rows.loc["memory-phases", "evidence"]
    unknown = table.table(wanted, sessions_of("base", cores=None), [])
    assert "no session tells" in unknown.set_index("rule").loc["cores-too-few", "evidence"]


def test_the_report_prints_findings_and_the_reasons_of_overrides():
    html = report.render(reportinput.make())
    part = html[html.index('id="preflight"') :]
    part = part[: part.index("Settings of the method")]
    assert "One error stands because the booking file says so." in part
    assert 'id="table-preflight-allowed"' in part and 'id="table-preflight"' in part
    assert 'data-address="preflight:capture-too-small/baseline:allowed"' in part
    assert "64 x (1 + 3) = 256 &gt; 64" in part and "engines.md 4.1" in part


def test_specifications_are_not_written_for_a_booking_that_is_stopped(tmp_path, monkeypatch, capsys):
    project(tmp_path, planted=booking({"max-cudagraph-capture-size": 32}), sound=booking())
    monkeypatch.chdir(tmp_path)
    for name, code, written in (("planted", 1, 0), ("sound", 0, 2)):
        with pytest.raises(SystemExit) as ended:
            main(["spec", name, "--out", "specs"])
        assert ended.value.code == code
        assert len(list(tmp_path.glob("specs/*.json"))) == written
    assert "stopped by capture-too-small" in capsys.readouterr().err


# Documents and stores.

ENGINES, METHOD = (
    (ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in ("engines", "method")
)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_cites_a_section_that_exists_and_names_it(rule):
    document, _, number = RULES[rule].source.partition(" ")
    heading = {"engines.md": rf"^### {re.escape(number)} ", "method.md": rf"^## {re.escape(number)}\. "}[document]
    text = {"engines.md": ENGINES, "method.md": METHOD}[document]
    found = re.search(heading + r".*?(?=^##)", text, re.M | re.S)
    assert found, RULES[rule].source
    if document == "engines.md":
        assert re.search(rf"\b{rule}\b", found[0]), f"{RULES[rule].source} does not name {rule}"


def test_every_citation_of_engines_md_exists():
    sections = set(re.findall(r"^##+ (\d+(?:\.\d+)?)[. ]", ENGINES, re.M))
    cited = {}
    for folder in ("workflow", "scripts", "tests/unit", "config"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".yaml", ".smk", ".md", ".j2"):
                for numbers in re.findall(r"engines\.md (\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)",
                                          path.read_text(encoding="utf-8")):  # fmt: skip
                    cited |= dict.fromkeys(re.findall(r"\d+(?:\.\d+)?", numbers), path.name)
    assert {"1", "2", "3", "4.1"} <= set(cited)
    assert {number: place for number, place in cited.items() if number not in sections} == {}


def test_a_rule_of_the_node_file_does_not_name_stores_anew(tmp_path):
    from benchbook.config import spec

    project(tmp_path, planted=booking())
    before = [spec.store_name(value) for value in spec.session_specs(load_booking(tmp_path, "planted"), tmp_path)]
    path = tmp_path / "config/nodes/box.yaml"
    told = yaml.safe_load(path.read_text())
    for name in ("gpu_memory_gib", "cores", "host_memory_gib", "power_limit_w"):
        del told[name]
    path.write_text(yaml.safe_dump(told))
    overridden = booking({}, {"preflight": {"allow": {"partial-wave": "why"}}})
    (tmp_path / "config/bookings/planted.yaml").write_text(yaml.safe_dump(overridden))
    after = [spec.store_name(value) for value in spec.session_specs(load_booking(tmp_path, "planted"), tmp_path)]
    assert after == before


def test_severities_come_in_order(tmp_path):
    findings = found(tmp_path, booking({"max-cudagraph-capture-size": 32, "gpu-memory-utilization": None}))
    order = [item.severity for item in findings]
    assert order == sorted(order, key=[ERROR, WARNING, NOTE].index) and set(order) == {ERROR, WARNING, NOTE}
