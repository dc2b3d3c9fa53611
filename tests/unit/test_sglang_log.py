"""Facts and failures of SGLang logs; the lines follow SGLang's own templates, old wording and new."""

from __future__ import annotations

import pytest
from benchbook.engines import facts, sglang_log
from benchbook.engines.log_lines import records

BOOT = """\
[2026-03-09 11:00:00] server_args=ServerArgs(model_path='/models/m', tp_size=2)
[2026-03-09 11:00:09 TP0] Init torch distributed begin.
[2026-03-09 11:00:10 TP0] Init torch distributed ends. mem usage=0.00 GB
[2026-03-09 11:00:12 TP0] Load weight begin. avail mem=139.20 GB
[2026-03-09 11:01:12 TP1] Load weight end. type=AForCausalLM, dtype=torch.bfloat16, avail mem=118.10 GB, mem usage=20.5 GB.
[2026-03-09 11:01:12 TP0] Load weight end. elapsed=59.5 s, type=AForCausalLM, quant=fp8, avail mem=118.00 GB, mem usage=20.5 GB.
[2026-03-09 11:01:13 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 640000, K size: 27.25 GB, V size: 27.25 GB
[2026-03-09 11:01:13 TP0] Memory pool end. avail mem=63.50 GB
[2026-03-09 11:01:13 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=63.50 GB
[2026-03-09 11:01:48 TP0] Capture cuda graph end. Time elapsed: 35.5 s. mem usage=3.25 GB. avail mem=60.25 GB.
[2026-03-09 11:01:58 TP0] Capture draft extend cuda graph end. Time elapsed: 9.5 s. mem usage=0.75 GB. avail mem=59.50 GB.
[2026-03-09 11:02:01 TP0] Capture target prefill CUDA graph end. elapsed=3.00 s, mem usage=0.60 GB, avail mem=58.90 GB.
[2026-03-09 11:02:01 TP0] max_total_num_tokens=640000, chunked_prefill_size=-1, max_prefill_tokens=32768, max_running_requests=256, context_len=32768, available_gpu_mem=58.9 GB
[2026-03-09 11:02:02] INFO:     Application startup complete.
[2026-03-09 11:02:02] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)
"""  # noqa: E501
SERVING = """\
[2026-03-09 11:02:05] The server is fired up and ready to roll!
[2026-03-09 11:30:05 TP0] Decode batch, #running-req: 1, #token: 640, token usage: 0.5, accept len: 2.5, accept rate: 0.5, cuda graph: True, gen throughput (token/s): 0.10, #queue-req: 0,
[2026-03-09 11:30:09 TP0] Decode batch. #running-req: 64, #token: 512000, token usage: 0.75, cuda graph: False, gen throughput (token/s): 6100.25, #queue-req: 3
"""  # noqa: E501
TRACE = """\
[2026-03-09 11:01:30 TP1 EP1] Scheduler hit an exception: Traceback (most recent call last):
  File "/site-packages/sglang/srt/managers/scheduler.py", line 2959, in run_scheduler_process
    scheduler = Scheduler(
  File "/site-packages/sglang/srt/model_executor/model_runner.py", line 1, in {function}
    x()
{error}

[2026-03-09 11:01:31] Received sigquit from a child process. It usually means the child failed.
"""


def test_every_fact_of_a_boot():
    found = facts.read(BOOT + SERVING)
    assert (found["engine"], found["failure"], found["ready"]) == ("sglang", None, 1)
    assert found["load"] == [["AForCausalLM", None, 20.5], ["AForCausalLM", 59.5, 20.5]]
    assert found["kv_tokens"] == [640000]
    assert found["capture"] == [["target", 35.5, 3.25], ["draft extend", 9.5, 0.75], ["target prefill", 3.0, 0.6]]
    assert found["totals"] == {
        "max_total_num_tokens": 640000, "chunked_prefill_size": -1, "max_prefill_tokens": 32768,
        "max_running_requests": 256, "context_len": 32768, "available_gpu_mem": 58.9,
    }  # fmt: skip
    assert found["decode"] == [[1, 0.1, 0, 2.5], [64, 6100.25, 3, None]] and found["graph_off"] == 1
    assert found["args"].startswith("ServerArgs(model_path=")


def test_boot_by_phase():
    found = facts.read(BOOT + SERVING)
    assert found["boot_total_s"] == 125
    spent = {}
    for phase in found["timeline"]:
        spent[phase["phase"]] = spent.get(phase["phase"], 0) + phase["duration_s"]
    assert spent["load_weights"] == 60 and spent["graph_capture"] == 48 and spent["warmup_request"] == 3


def test_nothing_found_is_none():
    assert set(sglang_log.facts([]).values()) == {None}
    assert sglang_log.facts(records("server_args={'model_path': 'm'}"))["args"] == "{'model_path': 'm'}"


@pytest.mark.parametrize(("function", "error", "name", "phase"), [
    ("capture", "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1 GiB.", "gpu_oom",
     "graph_capture"),
    ("init_memory_pool", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
     "no_kv_memory", "kv_allocation"),
    ("event_loop_overlap", "RuntimeError: [gloo/transport/tcp/pair.cc:535] Read error: Connection reset by peer",
     "peer_lost", "serving"),
    ("load_model", "OSError: Can't load the configuration of 'm'.", "model_not_found", "config"),
    ("capture", "RuntimeError: something new", "kernel_failed", "graph_capture"),
])  # fmt: skip
def test_a_scheduler_that_fails(function, error, name, phase):
    text = BOOT.split("Memory pool end")[0] + "\n" + TRACE.format(function=function, error=error)
    found = facts.read(text)["failure"]
    assert (found["class"], found["phase"], found["reported_by"]) == (name, phase, "Scheduler TP1")
    assert found["root_cause"] == error and found["remedy"]


def test_the_first_request_of_its_own_fails():
    text = BOOT + """\
[2026-03-09 11:02:03] Error in request: shape
Traceback (most recent call last):
    tokenized = await self._tokenize_one_request(obj)
RuntimeError: shape
[2026-03-09 11:02:03] Initialization failed. warmup error: Traceback (most recent call last):
AssertionError: Internal server error: shape
"""
    found = facts.read(text, exit_code=-9)["failure"]
    assert (found["class"], found["phase"], found["reported_by"], found["root_cause"], found["exit_code"]) == (
        "warmup_request_failed", "warmup_request", "main process", "RuntimeError: shape", -9,
    )  # fmt: skip


def test_a_log_that_stops_in_the_capture():
    found = facts.read(BOOT.split("[2026-03-09 11:01:48")[0])["failure"]
    assert (found["class"], found["phase"], found["reported_by"]) == ("silent_stop", "graph_capture", "none")
