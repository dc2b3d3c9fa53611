"""Lines of a server's log that say it is still compiling, tuning, capturing or building kernels.

Such a line within a warmup reading means that the reading timed this work too (method.md 2): vLLM 0.22+ says so itself
("Triton kernel JIT compilation during inference", vllm/utils/jit_monitor.py), SGLang and FlashInfer by their own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchbook.engines.log_lines import Record, records

_WORK = re.compile(
    r"JIT compilation during inference"
    r"|torch\.compile (?:took|takes) |Dynamo bytecode transform time|Compiling a graph for |Cache the graph of "
    r"|Directly load the compiled graph|saved AOT compiled function|torch\._dynamo hit (?:config\.)?\w*recompile_limit"
    r"|AUTOTUNE \w+\(|AUTOTUNE benchmarking takes|\[Auto[Tt]uner\]: (?:Autotuning process|Tuning )"
    r"|Capturing (?:CUDA|cuda|NPU|CPU) graphs|Graph capturing finished|Capturing (?:batches|num tokens) \("
    r"|Capture (?:[a-z]+ )*(?:cuda|CUDA|npu|cpu) graph (?:begin|end)"
    r"|DeepGEMM JIT|Deep ?GEMM warmup|TileLang (?:begins|completes) to compile|Compiling CuTe-DSL kernel"
    r"|(?:Loading|Finished loading|Building|Compiling) JIT ops?\b"
)
_NOT_STARTED = re.compile(r"^\[Auto[Tt]uner\]: Tuning .*\b0%\|")


def late_work(text: str) -> list[tuple[str | None, str]]:
    """Time ("MM-DD HH:MM:SS"; None: the line has none) and message of each such line of a log or of a slice of one.

    Lines that only mention the subject (a monitor that starts, a cache folder, an option switched off) do not count.
    """
    return among(records(text))


def among(log: Iterable[Record]) -> list[tuple[str | None, str]]:
    """The same of records that are read already."""
    return [
        (record.time, record.text.strip())
        for record in log
        if _WORK.search(record.text) and not _NOT_STARTED.match(record.text)
    ]
