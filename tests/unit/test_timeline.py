"""The boot by phase, against durations that the log states by itself."""

from __future__ import annotations

import pytest
from benchbook.engines.log_lines import records
from benchbook.engines.timeline import timeline
from enginelogs import SIDECARS, recorded, sidecar, text_of


def spent(found):
    total = {}
    for phase in found.phases:
        total[phase["phase"]] = total.get(phase["phase"], 0) + phase["duration_s"]
    return total


def test_a_gpu_boot_adds_up_and_agrees_with_what_the_engine_says():
    found = timeline(records(recorded("h200-qwen3moe")), "vllm")
    total = spent(found)
    assert found.boot_total_s == 189
    assert sum(total.values()) == pytest.approx(found.boot_total_s, rel=0.05)
    assert total.get("other", 0) == 0
    assert total["graph_capture"] == 22 and total["compile"] == pytest.approx(32.71, abs=1)
    inside = {"compile", "profiling", "graph_profile", "kv_allocation", "kernel_warmup", "graph_capture", "engine_rest"}
    assert sum(total.get(phase, 0) for phase in inside) == pytest.approx(147.16, rel=0.05), "init engine took 147.16 s"


@pytest.mark.parametrize("path", [path for path in SIDECARS if sidecar(path)["kind"] == "boot_ok"],
                         ids=lambda path: path.stem)  # fmt: skip
def test_phases_follow_each_other_and_add_up(path):
    found = timeline(records(text_of(path)), "vllm")
    assert sum(spent(found).values()) == pytest.approx(found.boot_total_s, rel=0.05) and found.boot_total_s > 0
    at = 0.0
    for phase in found.phases:
        assert phase["start_s"] == pytest.approx(at, abs=0.002) and phase["duration_s"] > 0
        at = phase["start_s"] + phase["duration_s"]


def boot(*lines):
    return timeline(records("\n".join(f"INFO {time} [x.py:1] {text}" for time, text in lines)), "vllm")


def test_a_download_is_told_from_the_weights():
    found = boot(("06-01 10:00:00", "vLLM API server version 0.26.0"), ("06-01 10:00:10", "Starting to load model m"),
                 ("06-01 10:10:10", "Loading weights took 20.00 seconds"),
                 ("06-01 10:10:11", "Model loading took 30.50 GiB memory and 601.0 seconds"))  # fmt: skip
    assert [(phase["phase"], phase["duration_s"]) for phase in found.phases] == [
        ("device_init", 10), ("model_load", 580), ("load_weights", 20), ("model_load", 1),
    ]  # fmt: skip
    assert found.boot_total_s is None, "it was never ready"


def test_time_that_no_line_explains_is_kept_as_other():
    found = boot(("06-01 10:00:00", "a"), ("06-01 10:00:50", "Model loading took 1.0 GiB and 10.0 seconds"),
                 ("06-01 10:01:40", "b"))  # fmt: skip
    assert spent(found) == {"other": 90, "model_load": 10}


def test_a_boot_over_new_year():
    found = boot(("12-31 23:59:50", "vLLM API server version 0.26.0"), ("01-01 00:00:10", "Starting to load model m"),
                 ("01-01 00:00:20", "Application startup complete."))  # fmt: skip
    assert found.boot_total_s == 30


def test_processes_that_log_out_of_order_lose_no_time():
    found = boot(("06-01 10:00:00", "a"), ("06-01 10:00:30", "Available KV cache memory: 1.0 GiB"),
                 ("06-01 10:00:20", "Starting to load model m"),
                 ("06-01 10:00:40", "Application startup complete."))  # fmt: skip
    assert sum(spent(found).values()) == found.boot_total_s == 40


def test_a_log_without_stamps_has_no_timeline():
    assert timeline(records("Application startup complete."), "vllm").phases == []
