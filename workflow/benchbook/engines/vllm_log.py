"""What a vLLM server's log says of its start, and of its end when it failed (engines.md 1 and 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_PREFIX = re.compile(r"^\((?P<process>[\w-]+) pid=\d+\) ")
_RECORD = re.compile(r"^(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[^\]]*\] )?")
_VERSION = re.compile(r"(?:vLLM API server version|LLM engine \(v|█  version )\s*([0-9][\w.+\-]*)")
_LOAD = re.compile(r"Model loading took ([\d.]+) GiB(?: memory)? and ([\d.]+) seconds")
_COMPILE = re.compile(r"torch\.compile (?:took|takes) ([\d.]+) s in total")
_INIT = re.compile(r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+) s")
_KV_TOKENS = re.compile(r"KV cache size: ([\d,]+) tokens")


@dataclass(frozen=True)
class BootFacts:
    """Facts of one boot; None where the log does not say. `load_s` is the slowest rank's."""

    version: str | None
    load_s: float | None
    compile_s: float | None
    init_s: float | None
    kv_cache_tokens: int | None


@dataclass(frozen=True)
class Failure:
    """Class of engines.md 2, the process that reported it (None: none did), the line that names the cause, a remedy."""

    failure_class: str
    reported_by: str | None
    root_cause: str | None
    remedy: str


def lines(text: str) -> list[str]:
    """The log's lines without terminal codes; a carriage return ends a line as well (progress bars)."""
    return [line for line in re.split(r"[\r\n]+", _ANSI.sub("", text)) if line.strip()]


def boot_facts(text: str) -> BootFacts:
    log = "\n".join(lines(text))
    loads = [float(match[2]) for match in _LOAD.finditer(log)]
    compiles = [float(match[1]) for match in _COMPILE.finditer(log)]
    version, init = _VERSION.search(log), _INIT.search(log)
    kv_tokens = [int(match[1].replace(",", "")) for match in _KV_TOKENS.finditer(log)]
    return BootFacts(
        version=version[1] if version else None,
        load_s=max(loads) if loads else None,
        compile_s=sum(compiles) if compiles else None,
        init_s=float(init[1]) if init else None,
        kv_cache_tokens=kv_tokens[-1] if kv_tokens else None,
    )


_CLASSES: tuple[tuple[str, str, str], ...] = (
    ("bad_flag", r"^vllm: error: .*|^usage: .*error: .*", "Correct the flag named there in the arm's arguments."),
    ("port_in_use", r"OSError: \[Errno 98\].*", "Free the port, or leave server.port out to have a free one chosen."),
    (
        "model_not_found",
        r"\S*(?:HFValidationError|LocalEntryNotFoundError|RepositoryNotFoundError): .*|OSError: Can't load .*"
        r"|\S*(?:ValueError|OSError).*(?:config\.json|not a valid model identifier|Repo id must).*",
        "Name an existing model directory, or a model that this node can reach, in config/models/.",
    ),
    ("no_kv_memory", r"ValueError: No available memory for the cache blocks.*",
     "Raise gpu-memory-utilization, or lower max-model-len or max-num-batched-tokens."),
    ("kv_below_one_request", r"ValueError: To serve at least one request.*",
     "Lower max-model-len to the estimate in that line, or raise gpu-memory-utilization."),
    ("memory_taken", r"ValueError: (?:Free|Available) memory on (?:device|node).*",
     "Lower gpu-memory-utilization, or end what else holds memory on the device."),
    ("gpu_oom", r"\S*(?:CUDA|HIP) out of memory.*",
     "Lower gpu-memory-utilization, max-num-seqs or the capture size, or use more GPUs."),
    ("ready_timeout", r"TimeoutError: Timed out waiting for engine core.*",
     "Raise VLLM_ENGINE_READY_TIMEOUT_S and limits.ready_s."),
    ("worker_killed", r"Worker proc \S+ died unexpectedly \(exit code: -\d+\).*",
     "Look for the kernel's out-of-memory killer (memory events) or for who ended the worker."),
    ("engine_killed", r"RuntimeError: Engine core process \S+ died.*|Engine core proc \S+ died.*",
     "Look for the kernel's out-of-memory killer (memory events) or for who ended the engine process."),
)  # fmt: skip
_UNKNOWN_REMEDY = "Read the session's server.log from its first ERROR line on."
_LAST_LINE_OF_TRACEBACK = re.compile(r"^[\w.]+(?:Error|Exception|Exit|Interrupt)\b.*")


def failure(text: str) -> Failure:
    """Why the server failed: the first line of a known class, else the last line of the first traceback.

    The first, because everything after it (EngineDeadError, broken pipes) is its consequence (engines.md 2).
    """
    told = list(_reported(text))
    for name, pattern, remedy in _CLASSES:
        wanted = re.compile(pattern)
        for process, message in told:
            if found := wanted.search(message):
                return Failure(name, process, found[0].strip(), remedy)
    for process, message in told:
        if _LAST_LINE_OF_TRACEBACK.match(message):
            return Failure("other", process, message.strip(), _UNKNOWN_REMEDY)
    return Failure("silent", None, None, "The log names no cause: look at the kernel's log and at the memory events.")


def _reported(text: str) -> Iterator[tuple[str | None, str]]:
    """Reporting process and message of each line, without prefix and log record head.

    A line without a prefix (0.32 prints tracebacks so) is laid to the process that logged last before it.
    """
    process = None
    for line in lines(text):
        if prefix := _PREFIX.match(line):
            process, line = prefix["process"], line[prefix.end() :]
        yield process, _RECORD.sub("", line)
