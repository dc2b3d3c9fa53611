"""Lines of a server's log that say it is still compiling, tuning, capturing or building kernels.

Such a line within a warmup reading means that the reading timed this work too (method.md 2): vLLM 0.22+ says so itself
("Triton kernel JIT compilation during inference", vllm/utils/jit_monitor.py), SGLang and FlashInfer by their own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchbook.engines.log_lines import Record, records, without_terminal_codes

# How such a line begins, letter by letter, and a pattern for how it goes on. A log without one of the beginnings has no
# such line: most have none, and are not taken apart.
_WORK_BEGINS = {
    "JIT compilation during inference": "",
    "torch.compile t": "(?:ook|akes) ",
    "Dynamo bytecode transform time": "",
    "Compiling a graph for ": "",
    "Cache the graph of ": "",
    "Directly load the compiled graph": "",
    "saved AOT compiled function": "",
    "torch._dynamo hit ": r"(?:config\.)?\w*recompile_limit",
    "AUTOTUNE ": r"(?:\w+\(|benchmarking takes)",
    "[AutoTuner]: ": "(?:Autotuning process|Tuning )",
    "[Autotuner]: ": "(?:Autotuning process|Tuning )",
    "Capturing ": r"(?:(?:CUDA|cuda|NPU|CPU) graphs|(?:batches|num tokens) \()",
    "Graph capturing finished": "",
    "Capture ": "(?:[a-z]+ )*(?:cuda|CUDA|npu|cpu) graph (?:begin|end)",
    "DeepGEMM JIT": "",
    "DeepGEMM warmup": "",
    "Deep GEMM warmup": "",
    "TileLang ": "(?:begins|completes) to compile",
    "Compiling CuTe-DSL kernel": "",
    **dict.fromkeys((f"{verb} JIT op" for verb in ("Loading", "Finished loading", "Building", "Compiling")), r"s?\b"),
}
_WORK = re.compile("|".join(re.escape(begin) + rest for begin, rest in _WORK_BEGINS.items()))
_NOT_STARTED = re.compile(r"^\[Auto[Tt]uner\]: Tuning .*\b0%\|")


def late_work(text: str) -> list[tuple[str | None, str]]:
    """Time ("MM-DD HH:MM:SS"; None: the line has none) and message of each such line of a log or of a slice of one.

    Lines that only mention the subject (a monitor that starts, a cache folder, an option switched off) do not count.
    """
    clean = without_terminal_codes(text)
    return among(records(text)) if any(begin in clean for begin in _WORK_BEGINS) else []


def among(log: Iterable[Record]) -> list[tuple[str | None, str]]:
    """The same of records that are read already."""
    return [
        (record.time, record.text.strip())
        for record in log
        if _WORK.search(record.text) and not _NOT_STARTED.match(record.text)
    ]
