"""Why a vLLM server failed: real failures of this project, and each class of engines.md 2 by its own words."""

from __future__ import annotations

import pytest
from benchbook.engines import facts, vllm_failure
from benchbook.engines.failures import REMEDIES, with_evidence
from benchbook.engines.log_lines import records
from enginelogs import SIDECARS, recorded, sidecar, text_of

LOGS = [path for path in SIDECARS if sidecar(path)["kind"] not in ("bench", "metrics")]
BOOT = [
    "(APIServer pid=1) INFO 06-01 10:00:00 [a.py:1] vLLM API server version 0.26.0",
    "(EngineCore pid=2) INFO 06-01 10:00:05 [c.py:1] Initializing a V1 LLM engine (v0.26.0) with config: x",
    "(EngineCore pid=2) INFO 06-01 10:00:06 [m.py:1] Starting to load model m...",
    "(EngineCore pid=2) INFO 06-01 10:00:16 [m.py:1] Model loading took 10.0 GiB memory and 9.500000 seconds",
    "(EngineCore pid=2) INFO 06-01 10:00:36 [m.py:1] torch.compile took 20.00 s in total",
    "(EngineCore pid=2) INFO 06-01 10:00:40 [w.py:1] Available KV cache memory: 70.5 GiB",
    "(EngineCore pid=2) INFO 06-01 10:00:40 [k.py:1] GPU KV cache size: 1,234 tokens",
    "(EngineCore pid=2) INFO 06-01 10:00:50 [m.py:1] Graph capturing finished in 9 secs, took 0.50 GiB",
    "(EngineCore pid=2) INFO 06-01 10:00:51 [c.py:1] init engine (profile, create kv cache, warmup model) took 35.0 s",
    "(APIServer pid=1) INFO:     Application startup complete.",
]
LAST_WORDS = [
    "(APIServer pid=1) Traceback (most recent call last):",
    '(APIServer pid=1)   File "/site-packages/vllm/v1/engine/utils.py", line 1, in wait_for_engine_startup',
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
]


def traceback(error: str, *functions: str, process: str = "EngineCore") -> list[str]:
    head = f"({process} pid=2) ERROR 06-01 10:00:45 [core.py:1510] "
    return [head + "Traceback (most recent call last):",
            *(f'{head}  File "/site-packages/vllm/x.py", line 1, in {name}' for name in functions),
            head + error]  # fmt: skip


def find(lines, failed=False):
    return vllm_failure.find(records("\n".join(lines)), failed)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_real_failure_is_named_with_its_root_cause(path):
    expected = sidecar(path).get("failure")
    found = facts.read(text_of(path), exit_code=expected["exit_code"] if expected else None)["failure"]
    if expected is None:
        assert found is None
        return
    assert {key: found[key] for key in ("class", "phase", "reported_by", "exit_code")} == {
        key: expected[key] for key in ("class", "phase", "reported_by", "exit_code")
    }
    assert found["root_cause"].startswith(expected["root_cause"].removesuffix("…"))
    assert found["remedy"] == REMEDIES[expected["class"]]


@pytest.mark.parametrize(("name", "failure_class", "phase", "said_by"), [
    ("h200-boot-nokv", "no_kv_memory", "kv_allocation", "EngineCore"),
    ("h200-boot-badflag", "bad_flag", "arguments", "CLI"),
])  # fmt: skip
def test_boots_that_failed_on_a_gpu(name, failure_class, phase, said_by):
    found = facts.read(recorded(name))["failure"]
    assert (found["class"], found["phase"], found["reported_by"]) == (failure_class, phase, said_by)
    assert found["exit_code"] is None, "nobody told it"
    assert facts.read(recorded(name), exit_code=2)["failure"]["exit_code"] == 2


@pytest.mark.parametrize(("error", "functions", "name", "phase"), [
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.", ("determine_available_memory", "forward"),
     "gpu_oom", "profiling"),
    ("torch._inductor.exc.InductorError: OutOfMemoryError: HIP out of memory. Tried to allocate 96.00 MiB.",
     ("_initialize_kv_caches", "profile_run"), "gpu_oom", "profiling"),
    ("RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.",
     ("compile_or_warm_up_model",), "gpu_oom", "compile"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.", ("_initialize_kv_caches", "capture_model"),
     "gpu_oom", "graph_capture"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.", ("init_worker", "load_model"), "gpu_oom",
     "model_load"),
    ("ValueError: Free memory on device cuda:0 (3.1/139.8 GiB) on startup is less than desired GPU memory utilization "
     "(0.92, 128.6 GiB).", ("init_device",), "gpu_memory_taken_by_others", "device_init"),
    ("ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, "
     "which is larger than the available KV cache memory (8.00 GiB). Based on the available memory, the estimated "
     "maximum model length is 65536.", ("_initialize_kv_caches",), "kv_below_one_request", "kv_allocation"),
    ("RuntimeError: Triton Error [CUDA]: device kernel image is invalid", ("profile_run",), "kernel_unsupported",
     "profiling"),
    ("RuntimeError: [FP4 gemm Runner] Failed to run", ("_initialize_kv_caches", "kernel_warmup"), "kernel_failed",
     "kernel_warmup"),
    ("RuntimeError: No CUDA GPUs are available", ("init_device",), "no_gpu", "device_init"),
    ("ModuleNotFoundError: No module named 'flashinfer'", ("load_model",), "import_failed", "model_load"),
    ("OSError: [Errno 28] No space left on device: '/dev/shm/x'", ("init_device",), "disk_full", "device_init"),
    ("KeyError: 'layers.0'", ("load_weights",), "other", "model_load"),
])  # fmt: skip
def test_each_class_by_its_words(error, functions, name, phase):
    noise = ["[rank0]:[W601 10:00:45 CUDAGuardImpl.h:126] Warning: CUDA warning: out of memory (function destroyEvent)"]
    after = traceback("RuntimeError: cancelled", "run_busy_loop") + noise + LAST_WORDS
    found = find(BOOT[:4] + traceback(error, *functions) + after)
    assert (found.failure_class, found.phase, found.reported_by) == (name, phase, "EngineCore")
    assert found.root_cause == error


def test_what_one_request_needs():
    line = traceback("ValueError: To serve at least one request with the model's max seq len (131,072), 16.00 GiB KV "
                     "cache is needed. the estimated maximum model length is 65536.")  # fmt: skip
    assert facts.read("\n".join(line))["kv_needed"] == {
        "max_model_len": 131072, "needed_gib": 16.0, "fits_tokens": 65536,
    }  # fmt: skip


def test_a_setting_that_pydantic_refuses_is_told_with_its_reason():
    found = find([
        BOOT[0], "(APIServer pid=1) Traceback (most recent call last):",
        '(APIServer pid=1)   File "/x.py", line 1, in create_model_config',
        "(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
        "(APIServer pid=1)   Value error, User-specified max_model_len (9) is greater than the derived one.",
    ])  # fmt: skip
    assert (found.failure_class, found.phase) == ("bad_config", "config")
    assert "max_model_len (9)" in found.root_cause


@pytest.mark.parametrize(("lines", "name", "phase", "said_by"), [
    ([
        *BOOT[:4], "(EngineCore pid=2) Traceback (most recent call last):",
        "(EngineCore pid=2) Exception: WorkerProc initialization failed due to an exception in a background process.",
        LAST_WORDS[0], LAST_WORDS[2].replace("{}", "{'EngineCore': 1}"),
    ], "worker_killed", "compile", "EngineCore"),
    (BOOT[:4] + LAST_WORDS, "engine_killed", "compile", "APIServer"),
    ([*BOOT, "(APIServer pid=1) ERROR 06-01 10:05:00 [c.py:1] Engine core proc EngineCore died unexpectedly, shutting "
      "down client."], "engine_killed", "serving", "APIServer"),
    ([*BOOT, "(EngineCore pid=2) ERROR 06-01 10:05:00 [m.py:1] Worker proc VllmWorker-1 died unexpectedly (exit code: "
      "-9), shutting down executor.", *traceback("RuntimeError: cancelled", "run_busy_loop")],
     "worker_killed", "serving", "EngineCore"),
])  # fmt: skip
def test_processes_that_were_killed(lines, name, phase, said_by):
    found = find(lines)
    assert (found.failure_class, found.phase, found.reported_by) == (name, phase, said_by)


def test_a_rank_that_failed_elsewhere():
    found = find([*BOOT[:2], LAST_WORDS[0], LAST_WORDS[2].replace("{}", "{'EngineCore_DP1': 1}")])
    assert (found.failure_class, found.phase, found.root_cause, found.failed_rank) == (
        "engine_init_failed", None, None, "EngineCore_DP1",
    )  # fmt: skip


@pytest.mark.parametrize(("known", "phase"), [
    (1, "before_engine"), (2, "device_init"), (3, "model_load"), (4, "compile"), (5, "profiling"), (6, "kv_allocation"),
    (7, "kernel_warmup"),
])  # fmt: skip
def test_a_log_that_just_stops(known, phase):
    found = find(BOOT[:known])
    assert (found.failure_class, found.phase, found.reported_by, found.root_cause) == (
        "silent_stop", phase, "none", None,
    )  # fmt: skip


@pytest.mark.parametrize("lines", [
    BOOT,
    BOOT[:9],  # cut after the engine's start: an excerpt, not a stop
    BOOT + traceback("ValueError: a request asked for too much", "generate", process="APIServer"),
    [*BOOT, "(APIServer pid=1) INFO:     Shutting down", *traceback("vllm.v1.engine.exceptions.EngineDeadError: x")],
    [*BOOT[:3], "Exception ignored in: <function x>", "Traceback (most recent call last):",
     '  File "/x.py", line 1, in __del__', "AttributeError: gone", *BOOT[3:]],
])  # fmt: skip
def test_a_healthy_log_has_no_failure(lines):
    assert find(lines) is None


def test_a_session_that_knows_of_a_failure_gets_one_from_a_healthy_log():
    assert find(BOOT, failed=True).failure_class == "silent_stop"
    assert find([], failed=True).phase == "process_start"


def test_success_after_the_failure_is_none():
    assert find(BOOT[:4] + traceback("ValueError: No available memory for the cache blocks.") + BOOT[4:]
                + LAST_WORDS).failure_class == "no_kv_memory"  # fmt: skip


def test_the_control_group_turns_an_unexplained_death_into_the_hosts():
    silent = find(BOOT[:5])
    killed = with_evidence(silent, exit_code=-9, oom_kills=1)
    assert (killed.failure_class, killed.phase, killed.root_cause) == ("host_oom_killed", "profiling", None)
    assert "1 out-of-memory kill" in killed.remedy
    assert with_evidence(silent, exit_code=-9).failure_class == "silent_stop", "-9 alone proves nothing"
    assert with_evidence(silent, exit_code=-9, oom_kills=0).failure_class == "silent_stop"
    explained = find(BOOT[:4] + traceback("ValueError: No available memory for the cache blocks."))
    assert with_evidence(explained, oom_kills=3).failure_class == "no_kv_memory"


def test_every_class_has_a_remedy():
    named = {name for name, _, _ in vllm_failure._SAYS} | {"worker_killed", "engine_killed", "engine_init_failed"}
    assert named <= set(REMEDIES) and all(len(remedy) > 20 for remedy in REMEDIES.values())


DEAD = traceback("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.", "output_handler",
                 process="APIServer")  # fmt: skip


@pytest.mark.parametrize("said", [
    ["(APIServer pid=1) WARNING 06-01 10:05:00 [core_client.py:1] MPClient: engine core exited unexpectedly;"],
    [],
])  # fmt: skip
def test_an_engine_killed_while_serving_with_one_api_server(said):
    """Nobody names a cause then: the API server only sees that its engine is gone."""
    found = find([*BOOT, *said, *DEAD, "INFO:     Shutting down"], failed=True)
    assert (found.failure_class, found.phase, found.reported_by) == ("engine_killed", "serving", "APIServer")
    assert found.root_cause.startswith("engine core exited" if said else "vllm.v1.engine.exceptions.EngineDeadError")
