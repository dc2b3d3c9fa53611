"""Why a server failed: classes, what to do about each, and what the log alone cannot know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

REMEDIES: dict[str, str] = {
    "bad_flag": "Correct the flag named there in the arm's arguments; the version's own `--help` lists what it takes.",
    "bad_config": "Correct the setting that the line names; it contradicts the model or another setting.",
    "port_in_use": "Free the port, or leave server.port out to have a free one chosen.",
    "no_command": "Correct the engine's command or interpreter.",
    "import_failed": "Install what the line names into the engine's environment, as its lock file asks for it.",
    "model_not_found": "Name an existing model directory (an absolute path that exists here), or a hub id that this "
    "node can reach, in config/models/.",
    "model_refused": "Accept the model's licence and give this node a token that may read it, or use a local copy.",
    "no_gpu": "Check that the node shows its GPUs (nvidia-smi) to this user or container, and that the driver is new "
    "enough for this engine's CUDA.",
    "gpu_memory_taken_by_others": "End what else holds memory on that GPU (nvidia-smi lists it; left-over EngineCore "
    "and Worker processes of an earlier server are common), or lower gpu-memory-utilization below free/total.",
    "no_kv_memory": "Raise gpu-memory-utilization, or lower max-num-batched-tokens or max-num-seqs, or use more GPUs: "
    "weights and activations leave no memory for the KV cache.",
    "kv_below_one_request": "Lower max-model-len to the estimate in that line, or raise gpu-memory-utilization.",
    "gpu_oom": "Lower gpu-memory-utilization (SGLang: mem-fraction-static), max-num-seqs, max-num-batched-tokens or "
    "the largest captured graph, or use more GPUs; and see that nothing else uses the GPU.",
    "kernel_unsupported": "Use an engine build (or an attention, MoE or quantization backend) made for this GPU's "
    "compute capability.",
    "kernel_failed": "Choose another backend for that kernel, or switch its autotuning off, and report the line to the "
    "engine with GPU, driver and version.",
    "peer_lost": "Look at the log of the other node or rank: it ended first, and this one only lost its connection.",
    "disk_full": "Free space on the disk, or in /dev/shm (containers: a larger --shm-size), that the line names.",
    "too_many_files": "Raise the limit of open files: ulimit -n 65536 before the start.",
    "ready_timeout": "Find what took so long in the timeline (download, compilation), or raise "
    "VLLM_ENGINE_READY_TIMEOUT_S and limits.ready_s.",
    "not_ready": "Raise limits.ready_s, or see where the log stops.",
    "warmup_request_failed": "Correct the error in the root cause: the server answered health checks, but its own "
    "first request failed. SGLang then kills its own processes (exit code -9), which is no host out-of-memory kill.",
    "worker_killed": "Find who ended the worker: the kernel's out-of-memory killer (memory.events, dmesg), a signal, "
    "or a crash without a message.",
    "engine_killed": "Find who ended the engine process: the kernel's out-of-memory killer (memory.events, dmesg), a "
    "signal, or a crash without a message.",
    "host_oom_killed": "Give the node or container more memory, or lower what the start takes: fewer parallel compile "
    "jobs (MAX_JOBS), no swap of weights to the host, a smaller model.",
    "engine_init_failed": "Read the log of the rank that failed, above this line or in its own file: the cause stands "
    "there.",
    "silent_stop": "The log names no cause. Look for an out-of-memory kill (memory.events, dmesg) and for whoever "
    "ended the process, and see whether it is still running.",
    "all_requests_failed": "Read the first error of the client and the server's log of that minute: no request "
    "succeeded, although the benchmark exits 0.",
    "other": "Read the log from its first ERROR line on.",
}


@dataclass(frozen=True)
class Failure:
    """`failure_class` is a key of REMEDIES; `phase` of boot or "serving" (None: not known); `reported_by` the process
    that says it ("none": nobody does; None: the line carries no name); `root_cause` the line that names the cause
    (None: the log does not); `failed_rank` the rank that failed where another process names it."""

    failure_class: str
    phase: str | None
    reported_by: str | None
    root_cause: str | None
    failed_rank: str | None = None
    exit_code: int | None = None
    last_line: str | None = None
    last_line_age_s: float | None = None
    oom_kills: int | None = None

    @property
    def remedy(self) -> str:
        if self.failure_class == "host_oom_killed" and self.oom_kills:
            return f"The control group counted {self.oom_kills} out-of-memory kills. {REMEDIES[self.failure_class]}"
        return REMEDIES[self.failure_class]

    def as_json(self) -> dict[str, Any]:
        return {
            "class": self.failure_class, "phase": self.phase, "reported_by": self.reported_by,
            "root_cause": self.root_cause, "remedy": self.remedy, "exit_code": self.exit_code,
            "failed_rank": self.failed_rank, "oom_kills": self.oom_kills, "last_line": self.last_line,
            "last_line_age_s": self.last_line_age_s,
        }  # fmt: skip


UNEXPLAINED = ("silent_stop", "worker_killed", "engine_killed")
ASKED_TO_END = (0, -2, -15, 130, 143)


def with_evidence(
    failure: Failure, *, exit_code: int | None = None, oom_kills: int | None = None, last_line: str | None = None,
    last_line_age_s: float | None = None,
) -> Failure:  # fmt: skip
    """The failure with what was seen outside the log.

    `oom_kills`: rise of `oom_kill` in the control group's memory.events during the session. It alone turns a death
    without a reason into `host_oom_killed`: exit code -9 or 137 proves nothing, SGLang kills its own processes so.
    """
    if oom_kills and failure.failure_class in UNEXPLAINED:
        failure = replace(failure, failure_class="host_oom_killed")
    return replace(
        failure, exit_code=exit_code, oom_kills=oom_kills, last_line=last_line, last_line_age_s=last_line_age_s
    )
