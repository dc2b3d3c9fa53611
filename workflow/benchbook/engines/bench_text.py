"""The result that `vllm bench serve` and SGLang's bench_serving print, old formats and new."""

from __future__ import annotations

import math
import re
from typing import Any

from benchbook.engines.log_lines import records

_HEADING = re.compile(r"^=+ Serving Benchmark Result =+")
_END = re.compile(r"^=+$")
_LABELLED = re.compile(r"^\s*([A-Za-z][^:]*?):\s+(-?(?:\d[\d,]*\.?\d*(?:[eE][+-]?\d+)?|inf|nan)|\S+)\s*$")
_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:[eE][+-]?\d+)?$")
# name: labels that were ever in use for it, in lower case
_LABELS: dict[str, tuple[str, ...]] = {
    "ok": ("successful requests",),
    "failed": ("failed requests",),
    "conc": ("maximum request concurrency", "max request concurrency"),
    "dur": ("benchmark duration (s)",),
    "in": ("total input tokens",),
    "out": ("total generated tokens",),
    "rps": ("request throughput (req/s)",),
    "otps": ("output token throughput (tok/s)",),
    "ttft": ("mean ttft (ms)",),
    "tpot": ("mean tpot (ms)",),
    "itl": ("mean itl (ms)",),
    "accept": ("acceptance length", "accept length"),
}
KEYS = tuple(_LABELS)
_WHOLE = ("ok", "failed", "conc", "in", "out")


def printed(text: str) -> dict[str, float] | None:
    """Every number of the first result block by its label in lower case ("median itl (ms)"); None without a block.

    A label that comes twice keeps its first value; what is no finite number ("inf") is left out.
    """
    block: dict[str, float] | None = None
    for line in (record.text for record in records(text)):
        if _HEADING.match(line):
            if block is not None:
                break
            block = {}
        elif block is not None:
            if _END.match(line.strip()):
                break
            if (found := _LABELLED.match(line)) and _NUMBER.match(found[2]):
                value = float(found[2].replace(",", ""))
                if math.isfinite(value):
                    block.setdefault(found[1].lower(), value)
    return block


def parse(text: str) -> dict[str, Any] | None:
    """The block's main figures; None where the text has no result block.

    Keys: ok, failed, conc (requests; int), dur (s), in, out (tokens; int), rps (requests/s), otps (output tokens/s),
    ttft, tpot, itl (means in ms), accept (tokens per step of speculative decoding). A figure that the format does not
    print is None: older vLLM and SGLang print no failed requests, and that is not zero.
    """
    block = printed(text)
    if block is None:
        return None
    found: dict[str, Any] = {
        key: next((block[label] for label in labels if label in block), None) for key, labels in _LABELS.items()
    }
    for key in _WHOLE:
        if found[key] is not None:
            found[key] = int(found[key])
    return found


def all_failed(result: dict[str, Any]) -> bool:
    """Whether `parse`'s result says that no request succeeded: the command itself still exits 0 then."""
    return result["ok"] == 0 and (result["failed"] or 0) > 0
