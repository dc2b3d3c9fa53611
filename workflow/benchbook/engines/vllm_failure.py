"""Why a vLLM server failed (engines.md 2): class, phase, who says it, and the line that names the cause.

The root cause is the end of the first traceback; what follows it (EngineDeadError, terminated ranks, broken pipes,
workers that end with exit code None) is its consequence, and a success line after it is no success.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchbook.engines.failures import Failure
from benchbook.engines.log_lines import Record
from benchbook.engines.tracebacks import Raised, raised

# What an exception's line says, the more special class first; the phase is fixed where the class has only one.
_SAYS: tuple[tuple[str, re.Pattern[str], str | None], ...] = tuple(
    (name, re.compile(pattern), phase)
    for name, pattern, phase in (
        ("port_in_use", r"OSError: \[Errno 98\]", "bind"),
        ("disk_full", r"OSError: \[Errno 28\]|No space left on device", None),
        ("too_many_files", r"OSError: \[Errno 24\]", None),
        ("model_refused", r"GatedRepoError|401 Client Error|403 Client Error", "config"),
        (
            "model_not_found",
            r"HFValidationError|LocalEntryNotFoundError|RepositoryNotFoundError|OSError: Can't load "
            r"|(?:ValueError|OSError|ValidationError).*(?:config\.json|not a valid model identifier|Repo id must"
            r"|is not a local folder|Invalid repository ID)",
            "config",
        ),
        ("no_kv_memory", r"No available memory for the cache blocks", "kv_allocation"),
        ("kv_below_one_request", r"To serve at least one request with the model"
         r"|max seq len \(\d+\) is larger than the maximum number of tokens that can be stored", "kv_allocation"),
        ("gpu_memory_taken_by_others", r"(?:Free|Available) memory on (?:device|node).* is less than desired",
         "device_init"),
        ("gpu_oom", r"(?:CUDA|HIP|XPU) out of memory", None),
        ("ready_timeout", r"TimeoutError: Timed out waiting for engine", "engine_handshake"),
        ("no_gpu", r"No CUDA GPUs are available|Failed to infer device type|driver version is insufficient"
         r"|driver on your system is too old|NVMLError_(?:LibraryNotFound|DriverNotLoaded)", None),
        ("kernel_unsupported", r"kernel image is (?:invalid|not available)|no kernel image is available"
         r"|unsupported toolchain|requires (?:compute|device) capability|only supported on .*(?:GPU|capability|sm_?\d)"
         r"|not (?:supported|compatible) (?:on|with) (?:this|your|the current) (?:GPU|device|platform)", None),
        ("peer_lost", r"(?i)(?:gloo|nccl|tcpstore|c10d|zmq).*(?:reset by peer|closed by peer|closed by remote|refused)"
         r"|ncclRemoteError", None),
        ("kernel_failed", r"(?:CUDA|HIP) error|Triton Error|gemm Runner"
         r"|(?i:cutlass|cublas|cudnn|flashinfer).*(?i:fail)", None),
        ("import_failed", r"(?:ModuleNotFound|Import)Error: ", None),
    )
)  # fmt: skip
_CONFIG_ERROR = re.compile(r"^(?:[\w.]+\.)?(?:Value|Validation|NotImplemented|Type|Key|Assertion)Error\b")
_CONSEQUENCE = re.compile(
    r"EngineDeadError|KeyboardInterrupt|SystemExit|BrokenPipeError|ConnectionResetError|CancelledError"
    r"|RuntimeError: cancelled|Engine core initialization failed|Frontend process failed"
    r"|WorkerProc initialization failed|Worker failed with error|EngineGenerateError|ZMQError|EOFError"
)
_BAD_FLAG = re.compile(r"^(?:vllm(?: \w+)?|\S+\.py): error: .*|^usage: .*error: .*")
_WORKER_DIED = re.compile(r"Worker proc \S+ died unexpectedly \(exit code: -?\d+\).*")
_CORE_DIED = re.compile(
    r"(?:RuntimeError: )?Engine core proc(?:ess)? \S+ died unexpectedly.*|engine core exited unexpectedly.*"
)
_CORE_DEAD = re.compile(r"EngineDeadError")
_WORKER_INIT = re.compile(r"WorkerProc initialization failed")
_FAILED_PROCS = re.compile(r"Failed (?:core|frontend) proc\(s\): (\{.*?\})")
_FATAL = re.compile(
    r"Engine core initialization failed|Failed (?:core|frontend) proc|EngineCore failed to start"
    r"|EngineCore encountered a fatal error|EngineDeadError|died unexpectedly|core exited unexpectedly"
    r"|Engine process failed to start"
)
_ENDED_ON_REQUEST = re.compile(r"^Shutting down|^Application shutdown complete|received signal|signal=SIG")
_FAILED_PROC = re.compile(r"'([\w-]+)': (?:-?\d+|None)")
_RANKED = re.compile(r"_(?:DP|TP|PP|EP)\d+")
# Function names of a traceback, the most telling first.
_FRAMES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (phase, re.compile(pattern))
    for phase, pattern in (
        ("graph_capture", r"^(?:capture_model|_capture_cudagraphs|capture_graph|profile_cudagraph_memory)$"),
        ("kernel_warmup", r"^(?:kernel_warmup|flashinfer_autotune|warmup_kernels|deep_gemm_warmup)$"),
        ("profiling", r"^(?:profile_run|determine_available_memory|determine_num_available_blocks)$"),
        ("kv_allocation", r"^(?:initialize_kv_cache\w*|get_kv_cache_configs?|_?check_enough_kv_cache_memory"
         r"|initialize_from_config|_initialize_kv_caches)$"),
        ("model_load", r"^(?:load_model|load_weights|get_model|initialize_model)$"),
        ("device_init", r"^(?:init_device|init_worker|init_worker_distributed_environment)$"),
        ("engine_handshake", r"^(?:wait_for_engine_startup|wait_for_ready|launch_core_engines)$"),
        ("bind", r"^(?:setup_server|create_server_socket)$"),
        ("config", r"^(?:create_engine_config|create_model_config|from_cli_args|create_speculative_config)$"),
        ("serving", r"^(?:run_busy_loop|run_engine_loop|execute_model|step_with_batch_queue)$"),
    )
)  # fmt: skip
# A line of the log and the phase that begins with it.
_STEPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), phase)
    for pattern, phase in (
        (r"version [0-9]|non-default args", "before_engine"),
        (r"Initializing a V\d LLM engine", "device_init"),
        (r"Starting to load model|Loading (?:model )?weights|Loading safetensors", "model_load"),
        (r"Model loading took", "compile"),
        (r"torch\.compile (?:took|takes)|Initial profiling", "profiling"),
        (r"Profiling CUDA graph memory", "graph_profile"),
        (r"Available KV cache memory", "kv_allocation"),
        (r"KV cache size: ", "kernel_warmup"),
        (r"Capturing CUDA graphs", "graph_capture"),
        (r"Graph capturing finished|CUDA graph pool memory", "warmup"),
        (r"init engine \(profile", "api_start"),
        (r"Application startup complete|Avg prompt throughput|HTTP/1\.\d\" 200", "serving"),
    )
)
_ORDER = ("process_start", *(phase for _, phase in _STEPS))
_DONE = ("warmup", "api_start", "serving")


def find(log: Sequence[Record], failed: bool = False) -> Failure | None:
    """The failure that the log tells; None for a log of a healthy server, or of an excerpt that got through its boot.

    `failed`: it is known that the server failed, so that a log that looks healthy is a silent stop.
    """
    exceptions = raised(log)
    reached = _reached(log)
    flag = next((record.text for record in log if _BAD_FLAG.match(record.text)), None)
    if flag is not None and reached[-1] in ("process_start", "before_engine"):
        return Failure("bad_flag", "arguments", "CLI", flag.strip())
    if not failed and not _fatal(log, exceptions, reached):
        if not reached or reached[-1] in _DONE:
            return None
        return Failure("silent_stop", reached[-1], "none", None)
    failure = _cause(log, exceptions, reached)
    return failure or Failure("silent_stop", reached[-1] if reached else "process_start", "none", None)


def _reached(log: Sequence[Record]) -> list[str]:
    """Phase in which each record was written, by the last step begun before it or with it."""
    phases: list[str] = []
    now = 0
    for record in log:
        for place, (pattern, _) in enumerate(_STEPS, start=1):
            if place > now and pattern.search(record.text):
                now = place
        phases.append(_ORDER[now])
    return phases


def _fatal(log: Sequence[Record], exceptions: Sequence[Raised], reached: Sequence[str]) -> bool:
    """Whether the log itself shows that the server failed.

    A server that serves fails with a fatal line only (a request's traceback is no failure), and not after it was asked
    to end; one that never got there fails with any exception that is no mere consequence of a stop.
    """
    for index, record in enumerate(log):
        if reached[index] == "serving" and _ENDED_ON_REQUEST.search(record.text):
            return False
        if _FATAL.search(record.text):
            return True
    booted = any("Application startup complete" in record.text for record in log)
    return not booted and any(not _CONSEQUENCE.search(exception.error) for exception in exceptions)


def _cause(log: Sequence[Record], exceptions: Sequence[Raised], reached: Sequence[str]) -> Failure | None:
    genuine = [exception for exception in exceptions if not _CONSEQUENCE.search(exception.error)]
    died = next(((index, record) for index, record in enumerate(log)
                 if _WORKER_DIED.search(record.text) or _CORE_DIED.search(record.text)), None)  # fmt: skip
    if died is not None and not any(exception.index < died[0] for exception in genuine):
        return _killed(*died, log, reached)
    for exception in genuine:
        for name, pattern, phase in _SAYS:
            if pattern.search(exception.error):
                where = phase or _phase(exception, reached)
                named = _failed_procs(log) if name == "ready_timeout" else []
                return Failure(name, where, named[0] if named else exception.process, exception.error)
    if genuine:
        first = genuine[0]
        phase = _phase(first, reached)
        name = "bad_config" if phase in ("config", "before_engine") and _CONFIG_ERROR.match(first.error) else "other"
        if phase in ("kernel_warmup", "profiling", "graph_capture") and "RuntimeError" in first.error:
            name = "kernel_failed"
        return Failure(name, phase, first.process, first.error)
    return _unexplained(log, exceptions, reached)


def _killed(index: int, record: Record, log: Sequence[Record], reached: Sequence[str]) -> Failure:
    """A process that ended without a word of its own: the line of whoever noticed."""
    if found := _WORKER_DIED.search(record.text):
        return Failure("worker_killed", reached[index], record.process, found[0].strip())
    for later in log[index:]:
        if (found := _CORE_DIED.search(later.text)) and found[0].startswith("RuntimeError"):
            return Failure("engine_killed", reached[index], later.process or record.process, found[0].strip())
    found = _CORE_DIED.search(record.text)
    return Failure("engine_killed", reached[index], record.process, found[0].strip() if found else None)


def _unexplained(log: Sequence[Record], exceptions: Sequence[Raised], reached: Sequence[str]) -> Failure | None:
    """A server that failed without a traceback that says why (engines.md 2: worker or core killed)."""
    failed = next(((index, record) for index, record in enumerate(log) if _FAILED_PROCS.search(record.text)), None)
    named = _failed_procs(log)
    worker = next((exception for exception in exceptions if _WORKER_INIT.search(exception.error)), None)
    if worker is not None and (not named or worker.process is None or worker.process in named):
        return Failure("worker_killed", reached[worker.index], worker.process, worker.error)
    dead = next((exception for exception in exceptions if _CORE_DEAD.search(exception.error)), None)
    if failed is None and dead is not None:
        return Failure("engine_killed", reached[dead.index], dead.process, dead.error)
    if failed is None:
        return None
    index, record = failed
    said_by = record.process or next((told.process for told in exceptions if told.index == index), None)
    if named:
        rank = next((name for name in named if _RANKED.search(name)), None)
        return Failure("engine_init_failed", None, said_by, None, failed_rank=rank)
    return Failure("engine_killed", reached[index], said_by, record.text.strip())


def _failed_procs(log: Sequence[Record]) -> list[str]:
    """Names of the processes in the first "Failed … proc(s)" line that lists any."""
    for record in log:
        if (found := _FAILED_PROCS.search(record.text)) and (names := _FAILED_PROC.findall(found[1])):
            return names
    return []


def _phase(exception: Raised, reached: Sequence[str]) -> str:
    """Phase by the functions of the traceback, else by how far the log had come."""
    for phase, pattern in _FRAMES:
        if any(pattern.match(frame) for frame in exception.frames):
            return phase
    return reached[exception.index]
