"""Why an SGLang server failed (engines.md 2): class, phase, who says it, and the line that names the cause."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchbook.engines.failures import Failure
from benchbook.engines.log_lines import Record
from benchbook.engines.tracebacks import Raised, raised

_SAYS: tuple[tuple[str, re.Pattern[str], str | None], ...] = tuple(
    (name, re.compile(pattern), phase)
    for name, pattern, phase in (
        ("port_in_use", r"\[Errno 98\]|address already in use", "bind"),
        ("disk_full", r"\[Errno 28\]|No space left on device", None),
        ("too_many_files", r"\[Errno 24\]", None),
        ("model_refused", r"GatedRepoError|401 Client Error|403 Client Error", "config"),
        ("model_not_found", r"HFValidationError|LocalEntryNotFoundError|RepositoryNotFoundError|OSError: Can't load "
         r"|is not a local folder|not a valid model identifier|Repo id must", "config"),
        ("no_kv_memory", r"Not enough memory\. Please try to increase --mem-fraction-static"
         r"|Not enough memory\. Please try", "kv_allocation"),
        ("gpu_oom", r"(?:CUDA|HIP|NPU) out of memory", None),
        ("no_gpu", r"No CUDA GPUs are available|driver version is insufficient|No accelerator", None),
        ("kernel_unsupported", r"kernel image is (?:invalid|not available)|no kernel image is available"
         r"|unsupported toolchain|requires (?:compute|device) capability", None),
        ("peer_lost", r"(?i)(?:gloo|nccl|tcpstore|c10d).*(?:reset by peer|closed by peer|closed by remote|refused)"
         r"|ncclRemoteError", None),
        ("kernel_failed", r"(?:CUDA|HIP|NPU) (?:function )?error|Triton Error"
         r"|(?i:cutlass|cublas|flashinfer).*(?i:fail)", None),
        ("import_failed", r"(?:ModuleNotFound|Import)Error: ", None),
    )
)  # fmt: skip
_CONSEQUENCE = re.compile(r"KeyboardInterrupt|SystemExit|BrokenPipeError|CancelledError|EOFError")
_BAD_FLAG = re.compile(r"^(?:sglang(?: \w+)?|launch_server\.py|\S+\.py): error: .*")
_FATAL = re.compile(
    r"Scheduler hit an exception|Received sigquit from a child process|Initialization failed\. warmup error"
    r"|Capture (?:[a-z]+ )*(?:cuda|CUDA|npu|cpu) graph failed|scheduler died during initialization"
    r"|DetokenizerManager hit an exception|TokenizerManager hit an exception|SIGQUIT received"
)
_DIED = re.compile(r"Rank \d+ scheduler died during initialization \(exit code: -?\d+\).*")
_WARMUP_FAILED = re.compile(r"Initialization failed\. warmup error")
_CAPTURE = re.compile(r"Capture (?:[a-z]+ )*(?:cuda|CUDA|npu|cpu) graph failed")
_FRAMES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (phase, re.compile(pattern))
    for phase, pattern in (
        ("graph_capture", r"^(?:init_device_graphs|init_cuda_graphs|capture|capture_one_batch_size)$"),
        ("kernel_warmup", r"^(?:kernel_warmup|_flashinfer_autotune|warmup_kernels)$"),
        ("kv_allocation", r"^(?:init_memory_pool|profile_max_num_token|_?init_pools?)$"),
        ("model_load", r"^(?:load_model|load_weights|load_weights_and_postprocess)$"),
        ("serving", r"^event_loop\w*$"),
        ("device_init", r"^init_torch_distributed$"),
        ("config", r"^(?:prepare_server_args|from_cli_args|__post_init__|check_server_args)$"),
    )
)
_STEPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), phase)
    for pattern, phase in (
        (r"server_args=", "before_engine"),
        (r"Init torch distributed begin", "device_init"),
        (r"Load weight begin", "model_load"),
        (r"Load weight end", "kv_allocation"),
        (r"Memory pool end", "kernel_warmup"),
        (r"Capture .*graph begin|Capture .*graph bs", "graph_capture"),
        (r"max_total_num_tokens=", "api_start"),
        (r"Application startup complete|Uvicorn running on", "warmup_request"),
        (r"fired up and ready to roll|Decode batch", "serving"),
    )
)
_ORDER = ("process_start", *(phase for _, phase in _STEPS))


def find(log: Sequence[Record], failed: bool = False) -> Failure | None:
    """The failure that the log tells; None for the log of a healthy server. `failed`: it is known that it failed."""
    exceptions = [exception for exception in raised(log) if not _CONSEQUENCE.search(exception.error)]
    reached = _reached(log)
    flag = next((record.text for record in log if _BAD_FLAG.match(record.text)), None)
    if flag is not None and reached[-1] in ("process_start", "before_engine"):
        return Failure("bad_flag", "arguments", "CLI", flag.strip())
    ready = bool(reached) and reached[-1] == "serving"
    fatal = any(_FATAL.search(record.text) for record in log)
    if not failed and not fatal and (ready or not exceptions):
        if not reached or ready:
            return None
        return Failure("silent_stop", reached[-1], "none", None)
    return _cause(log, exceptions, reached) or Failure(
        "silent_stop", reached[-1] if reached else "process_start", "none", None
    )


def _cause(log: Sequence[Record], exceptions: Sequence[Raised], reached: Sequence[str]) -> Failure | None:
    if any(_WARMUP_FAILED.search(record.text) for record in log):
        first = exceptions[0] if exceptions else None
        return Failure("warmup_request_failed", "warmup_request", _who(first), first.error if first else None)
    for exception in exceptions:
        for name, pattern, phase in _SAYS:
            if pattern.search(exception.error):
                return Failure(name, phase or _phase(exception, reached), _who(exception), exception.error)
    if exceptions:
        first = exceptions[0]
        phase = _phase(first, reached)
        name = "kernel_failed" if phase in ("graph_capture", "kernel_warmup") else "other"
        return Failure(name, phase, _who(first), first.error)
    for index, record in enumerate(log):
        if found := _DIED.search(record.text):
            return Failure("worker_killed", reached[index], "main process", found[0].strip())
    return None


def _who(exception: Raised | None) -> str:
    """SGLang's ranks are its schedulers; a line without a rank is the main process's, unless it tells of a capture."""
    if exception is None:
        return "main process"
    if exception.process:
        return f"Scheduler {exception.process}"
    if _CAPTURE.search(exception.error) or any(frame.startswith("event_loop") for frame in exception.frames):
        return "Scheduler"
    return "main process"


def _phase(exception: Raised, reached: Sequence[str]) -> str | None:
    if _CAPTURE.search(exception.error):
        return "graph_capture"
    for phase, pattern in _FRAMES:
        if any(pattern.match(frame) for frame in exception.frames):
            return phase
    return reached[exception.index]


def _reached(log: Sequence[Record]) -> list[str]:
    """Phase in which each record was written; a draft model makes the order start over, so the last step counts."""
    phases: list[str] = []
    now = "process_start"
    for record in log:
        for pattern, phase in _STEPS:
            if pattern.search(record.text) and (now != "serving"):
                now = phase
        phases.append(now)
    return phases
