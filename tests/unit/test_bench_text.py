"""The printed result of a benchmark, as vLLM and SGLang print it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchbook.engines import bench_text

LOGS = Path(__file__).parents[1] / "logs"
OLD = """\
============ Serving Benchmark Result ============
Successful requests:                     7
Maximum request concurrency:             16
Benchmark duration (s):                  1.50
Total input tokens:                      1,024
Total Token throughput (tok/s):          12.00
---------------Inter-token Latency----------------
Mean ITL (ms):                           7.25
P50 ITL (ms):                            6.00
"""
SGLANG = """\
============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Max request concurrency:                 4
Successful requests:                     8
Total input tokens:                      100
Total input text tokens:                 99
Total generated tokens:                  64
Total generated tokens (retokenized):    63
Accept length:                           2.50
---------------Time to First Token----------------
Mean TTFT (ms):                          5.00
==================================================
Mean TPOT (ms):                          99.00
"""


def test_every_request_failed():
    path = LOGS / "own-vllm-0.32-bench-all-failed.txt"
    expected = json.loads(path.with_suffix(".json").read_text())["expect"]
    found = bench_text.parse(path.read_text(encoding="utf-8"))
    assert {key: value for key, value in found.items() if value is not None} == expected
    assert bench_text.all_failed(found)


def test_what_a_format_does_not_print_is_none():
    found = bench_text.parse(OLD)
    assert found["failed"] is None and found["otps"] is None and found["accept"] is None
    assert (found["ok"], found["conc"], found["in"], found["dur"], found["itl"]) == (7, 16, 1024, 1.5, 7.25)
    assert not bench_text.all_failed(found)


def test_sglang_words_and_the_end_of_the_block():
    found = bench_text.parse(SGLANG)
    assert (found["conc"], found["in"], found["out"], found["accept"]) == (4, 100, 64, 2.5)
    assert found["tpot"] is None, "a line after the closing rule was read"


@pytest.mark.parametrize("text", ["", "Successful requests: 5", "\x00\r\n=" * 50])
def test_no_block_is_none(text):
    assert bench_text.parse(text) is None
    assert bench_text.printed(text) is None


def test_a_block_out_of_a_container():
    stamped = "".join(f"2026-11-30T18:51:13.904531234Z {line}\n" for line in OLD.splitlines())
    assert bench_text.parse(stamped) == bench_text.parse(OLD)


def test_a_carriage_return_ends_a_line():
    assert bench_text.parse(OLD.replace("\n", "\r\n")) == bench_text.parse(OLD)
