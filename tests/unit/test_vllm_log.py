"""Facts and failures of server logs made for this project."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from benchbook.engines import vllm, vllm_log

LOGS = Path(__file__).parents[1] / "logs"
FAILED = sorted(path for path in LOGS.glob("*fail*.log"))


@pytest.mark.parametrize("path", FAILED, ids=lambda path: path.stem)
def test_a_failure_is_classed_by_its_root_cause(path):
    expected = json.loads(path.with_suffix(".json").read_text())["failure"]
    found = vllm_log.failure(path.read_text(encoding="utf-8"))
    assert found.failure_class == expected["class"]
    if "multiapi" not in path.stem or expected["class"] != "ready_timeout":
        # Two API servers log at once there and the traceback carries no name: who said it cannot be read off.
        assert found.reported_by == expected["reported_by"]
    assert found.root_cause.startswith(expected["root_cause"].removesuffix("…"))
    assert found.remedy


def test_there_are_logs_to_class():
    assert len(FAILED) >= 6


def test_facts_of_a_gpu_boot():
    text = gzip.decompress((LOGS.parent / "recorded" / "h200-qwen3moe.server.log.gz").read_bytes()).decode()
    found = vllm_log.boot_facts(text)
    assert found.version == "0.26.0"
    assert found.load_s and found.init_s and found.compile_s and found.kv_cache_tokens


def test_nothing_found_is_none():
    assert set(vars(vllm_log.boot_facts("")).values()) == {None}
    assert vllm_log.failure("").failure_class == "silent"


def test_flags():
    assert vllm.flags({"a": True, "b": False, "c": None, "d": 1, "e": ["x", "y"], "f": 0}) == [
        "--a", "--d", "1", "--e", "x", "y", "--f", "0",
    ]  # fmt: skip
