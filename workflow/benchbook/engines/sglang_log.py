"""What an SGLang server's log says of its start and its decoding (engines.md 1); None where the log does not say.

Patterns hold for SGLang 0.5.3 to 0.5.23; names and shapes are those that `benchbook facts --json` prints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from benchbook.engines.log_lines import NUMBER, WHOLE, Record

_ARGS = re.compile(r"server_args=((?:ServerArgs\(|\{).*)")
_LOAD = re.compile(
    rf"Load weight end\.(?: elapsed={NUMBER} s,)? type=(\w+),.*avail mem={NUMBER} GB, mem usage={NUMBER} GB"
)
_KV = re.compile(rf"KV Cache is allocated\..*#tokens: {WHOLE}")
_CAPTURE_OLD = re.compile(
    rf"Capture (draft |draft extend |piecewise )?(?:cuda|CUDA|npu|cpu) graph end\. Time elapsed: {NUMBER} s\. "
    rf"mem usage={NUMBER} GB"
)
_CAPTURE_NEW = re.compile(
    rf"Capture ((?:target|draft) (?:decode|verify|prefill|extend)\w*) (?:CUDA|cuda) graph end\..*?elapsed={NUMBER} s, "
    rf"mem usage={NUMBER} GB"
)
_TOTALS = re.compile(r"max_total_num_tokens=\d+, .*")
_TOTAL = re.compile(rf"\b(\w{{1,40}})={NUMBER}")
_TOTAL_NAMES = ("max_total_num_tokens", "chunked_prefill_size", "max_prefill_tokens", "max_running_requests",
                "context_len", "available_gpu_mem")  # fmt: skip
_READY = re.compile(r"The server is fired up and ready to roll!")
_DECODE = re.compile(
    rf"Decode batch\b.*#running-req: {WHOLE},.*gen throughput \(token/s\): {NUMBER}, #queue-req: {WHOLE}"
)
_ACCEPT = re.compile(rf"accept len: {NUMBER}")
_GRAPH = re.compile(r"(?:cuda|cpu|npu) graph: (True|False)")
_CAPTURE_FAILED = re.compile(r"Capture (?:[a-z]+ )*(?:cuda|CUDA|npu|cpu) graph failed: (.*)")
_EXCEPTION = re.compile(r"Scheduler hit an exception")
_WARMUP_FAILED = re.compile(r"Initialization failed\. warmup error")
_STARTED = re.compile(r"Uvicorn running on (\S+)")


def facts(log: Sequence[Record]) -> dict[str, Any]:
    """Every fact of a log's records; each key is there, None where the log does not say.

    Lists have one value a line (each rank prints its own): load [model class, s or None, GB], kv_tokens per pool,
    capture [what, s, GB] ("target", "draft extend", "target prefill"), decode [running requests, tokens/s, queued
    requests, accepted tokens a step or None]. The first decode line after an idle time averages over that time.
    graph_off counts decode lines that say that the batch ran without a graph. totals is the first scheduler's.
    """
    totals = next((found for record in log if (found := _TOTALS.search(record.text))), None)
    decode = [(record.text, found) for record in log if (found := _DECODE.search(record.text))]
    return {
        "args": _first(log, _ARGS),
        "load": [
            [found[2], float(found[1]) if found[1] else None, float(found[4])]
            for record in log
            if (found := _LOAD.search(record.text))
        ] or None,
        "kv_tokens": [int(found[1]) for record in log if (found := _KV.search(record.text))] or None,
        "capture": [capture for record in log if (capture := _capture(record.text))] or None,
        "totals": _totals(totals[0]) if totals else None,
        "starts": [found[1] for record in log if (found := _STARTED.search(record.text))] or None,
        "ready": sum(1 for record in log if _READY.search(record.text)) or None,
        "decode": [
            [int(found[1]), float(found[2]), int(found[3]),
             float(accept[1]) if (accept := _ACCEPT.search(text)) else None]
            for text, found in decode
        ] or None,
        "graph_off": sum(1 for text, _ in decode if (graph := _GRAPH.search(text)) and graph[1] == "False")
        if decode else None,
        "capture_failed": _first(log, _CAPTURE_FAILED),
        "scheduler_exceptions": sum(1 for record in log if _EXCEPTION.search(record.text)) or None,
        "warmup_failed": True if any(_WARMUP_FAILED.search(record.text) for record in log) else None,
    }  # fmt: skip


def _first(log: Sequence[Record], pattern: re.Pattern[str]) -> str | None:
    return next((found[1] for record in log if (found := pattern.search(record.text))), None)


def _capture(text: str) -> list[Any] | None:
    if found := _CAPTURE_OLD.search(text):
        return [(found[1] or "target").strip(), float(found[2]), float(found[3])]
    if found := _CAPTURE_NEW.search(text):
        return [found[1], float(found[2]), float(found[3])]
    return None


def _totals(text: str) -> dict[str, int | float]:
    return {
        name: float(value) if "." in value else int(value)
        for name, value in _TOTAL.findall(text)
        if name in _TOTAL_NAMES
    }
