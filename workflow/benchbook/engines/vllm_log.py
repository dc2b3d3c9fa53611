"""What a vLLM server's log says of its start: version, arguments, memory, KV cache, graph capture (engines.md 1).

Names and shapes are those that `benchbook facts --json` prints. Whatever the log does not say is None; the lines of
several ranks or engines, and of a draft model, give several values. Patterns hold for vLLM 0.8 to 0.33.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchbook.engines.log_lines import GROUPED, NUMBER, WHOLE, Record, records, seconds, without_answered

_VERSION = re.compile(r"(?:vLLM API server version|LLM engine \(v|█  version )\s*([0-9][\w.+\-]*)")
_ARGS = re.compile(r"non-default args: (\{.*)|^args: (Namespace\(.*)")
_LOAD = re.compile(rf"Model loading took {NUMBER} GiB(?: memory)? and {NUMBER} seconds")
_WEIGHTS = re.compile(rf"Loading weights took {NUMBER} seconds")
_COMPILE = re.compile(rf"torch\.compile (?:took|takes) {NUMBER} s in total")
_PROFILE_RUN = re.compile(rf"Initial profiling/warmup run took {NUMBER} s")
_GRAPH_PROFILE = re.compile(r"Profiling CUDA graph memory: (.+)")
_GRAPH_SIZES = re.compile(rf"\b(\w{{1,40}})={WHOLE} \(largest={WHOLE}\)")
_GRAPH_ESTIMATE = re.compile(rf"Estimated CUDA graph memory: {NUMBER} GiB")
_UTILIZATION = re.compile(rf"--gpu-memory-utilization={NUMBER} is equivalent to --gpu-memory-utilization={NUMBER}")
_KV_MEMORY = re.compile(rf"Available KV cache memory: {NUMBER} GiB")
_KV_TOKENS = re.compile(rf"KV cache size: {GROUPED} tokens")
_CONCURRENCY = re.compile(rf"Maximum concurrency for {GROUPED} tokens per request: {NUMBER}x")
_BAR = re.compile(rf"Capturing CUDA graphs \(([^)]*)\):\s+100%.*?{WHOLE}/\2\b")
_CAPTURE = re.compile(rf"Graph capturing finished in {WHOLE} secs, took {NUMBER} GiB")
_POOL = re.compile(rf"CUDA graph pool memory: {NUMBER} GiB \(actual\), {NUMBER} GiB \(estimated\)")
_CONFIG_GRAPHS = re.compile(rf"['\"]max_(?:cudagraph_)?capture_size['\"]: ?{WHOLE}")
_MEMORY = re.compile(
    rf"Free memory on device[^(]*\({NUMBER}/{NUMBER} GiB\) on startup\. Desired GPU memory utilization is "
    rf"\({NUMBER}, {NUMBER} GiB\)\. Actual usage is {NUMBER} GiB for (weight|consumed memory)[^,]*, "
    rf"{NUMBER} GiB for peak activation,(?: {NUMBER} GiB for non-torch memory,)? and {NUMBER} GiB for CUDAGraph"
)
_INIT = re.compile(
    rf"init engine \(profile, create kv cache, warmup model\) took {NUMBER} s(?:econds)?"
    rf"(?: \(compilation: {NUMBER} s)?"
)
_ASYNC = re.compile(r"Asynchronous scheduling is (enabled|disabled)")
_ATTENTION = re.compile(
    r"Using (\w+) attention backend out of|Using ([\w ]+?)(?: Attention)? backend on V1 engine|Using (\w+) backend\.$"
)
_MOE = re.compile(r"Using '?([\w ]+?)'? (\w+) MoE backend out of")
_AUTOTUNE = re.compile(r"\[Auto[Tt]uner\]: Autotuning process (starts|ends)")
_START = re.compile(r"Starting vLLM (?:API )?server(?: \d+)? on (\S+)")
_READY = re.compile(r"Application startup complete\.")
_KV_SHORT = re.compile(
    rf"To serve at least one request with the model'?s'? max seq len \({GROUPED}\), \(?{NUMBER} GiB KV cache is needed"
)
_KV_FITS = re.compile(rf"estimated maximum model length is {GROUPED}")
_NO_KV = re.compile(r"No available memory for the cache blocks")
_OOM = re.compile(rf"(CUDA|HIP) out of memory\. Tried to allocate {NUMBER} (\w+)")
_FREE_LOW = re.compile(
    rf"Free memory on device[^(]*\({NUMBER}/{NUMBER} GiB\) on startup is less than desired GPU memory utilization "
    rf"\({NUMBER}, {NUMBER} GiB\)"
)
_FAILED_PROCS = re.compile(r"Failed (?:core|frontend) proc\(s\): (\{.*?\})")
_WORKER_DIED = re.compile(r"Worker proc (\S+) died unexpectedly \(exit code: (\S+)\)")
_CORE_DIED = re.compile(r"Engine core process (\S+) died unexpectedly")
_STARTUP_PLAN = re.compile(r"startup plan", re.IGNORECASE)


@dataclass(frozen=True)
class BootFacts:
    """Figures of one boot; None where the log does not say.

    Times in s, memory in GiB. `load_s`, `weights_gib`, `capture_s`, `capture_gib`, `activation_gib` (its peak) and
    `non_torch_gib` are those of the rank with the largest; `kv_cache_tokens`, `kv_memory_gib` and `graph_estimate_gib`
    are the last engine's; `gpu_memory_gib` is the smallest GPU's; `graphs_piecewise` and `graphs_full` count the
    graphs of the real capture pass, not of the profiling pass before it. `graph_tokens_max`: tokens of the largest
    captured graph; None where nothing was captured, as with enforce-eager.
    """

    version: str | None
    load_s: float | None
    compile_s: float | None
    init_s: float | None
    kv_cache_tokens: int | None
    weights_gib: float | None
    kv_memory_gib: float | None
    capture_s: float | None
    capture_gib: float | None
    graphs_piecewise: int | None
    graphs_full: int | None
    graph_tokens_max: int | None
    gpu_memory_gib: float | None = None
    activation_gib: float | None = None
    non_torch_gib: float | None = None
    graph_estimate_gib: float | None = None


def boot_facts(text: str) -> BootFacts:
    """The figures that the tables of a booking keep."""
    found = facts(records(without_answered(text)))
    loads, captures, bars = found["load"] or [], found["capture"] or [], found["capture_bars"] or {}
    memory = found["memory"] or []
    weights_gib = max((load[0] for load in loads), default=None)
    return BootFacts(
        version=found["version"],
        load_s=max((load[1] for load in loads), default=None),
        compile_s=sum(found["compile_s"]) if found["compile_s"] else None,
        init_s=max((init[0] for init in found["engine_init"] or []), default=None),
        kv_cache_tokens=found["kv_tokens"][-1] if found["kv_tokens"] else None,
        weights_gib=weights_gib,
        kv_memory_gib=found["kv_available_gib"][-1] if found["kv_available_gib"] else None,
        capture_s=max((capture[0] for capture in captures), default=None),
        capture_gib=max((capture[1] for capture in captures), default=None),
        graphs_piecewise=bars.get("PIECEWISE"),
        graphs_full=bars.get("FULL"),
        graph_tokens_max=found["graph_tokens_max"],
        gpu_memory_gib=min((rank["total"] for rank in memory), default=None),
        activation_gib=max((rank["activation"] for rank in memory), default=None),
        non_torch_gib=max((gib for rank in memory if (gib := _non_torch(rank, weights_gib)) is not None), default=None),
        graph_estimate_gib=found["graph_estimate_gib"],
    )


def _non_torch(rank: dict[str, float], weights_gib: float | None) -> float | None:
    """Memory of a rank outside PyTorch, which 0.26.1 and later print as one with the weights."""
    if "consumed" in rank:
        return None if weights_gib is None else max(0.0, round(rank["consumed"] - weights_gib, 2))
    return rank.get("non_torch")


def facts(log: Sequence[Record]) -> dict[str, Any]:
    """Every fact of a log's records; each key is there, None where the log does not say.

    Lists have one value a line: load [GiB, s] per rank, weights_s/compile_s/profile_run_s per model, kv_available_gib
    per rank that says it, kv_tokens and max_concurrency [tokens a request, requests] per engine, capture [s, GiB] and
    pool [actual GiB, estimated GiB] per rank, engine_init [s, compilation s or None] per engine, memory a dict per rank
    (GiB; util is a share), oom [CUDA or HIP, amount, unit] per message. graph_profile holds [number, largest] by mode,
    capture_bars the number of graphs captured by mode. Of two capture passes only the second counts: vLLM's V2 runner
    captures once to estimate memory, before it knows the KV cache's size (v1/worker/gpu/cudagraph_utils.py).
    """
    capture, bars = _capture(log)
    return {
        "version": _first(log, _VERSION),
        "args": _arguments(log),
        "attn": _unique([found[1] or found[2] or found[3] for found in _all(log, _ATTENTION)]),
        "moe": _unique([f"{found[2]}:{found[1]}" for found in _all(log, _MOE)]),
        "async_scheduling": (found == "enabled") if (found := _first(log, _ASYNC)) else None,
        "load": _pairs(log, _LOAD),
        "weights_s": _floats(log, _WEIGHTS),
        "compile_s": _floats(log, _COMPILE),
        "profile_run_s": _floats(log, _PROFILE_RUN),
        "graph_profile": {
            mode: [int(number), int(largest)]
            for found in _all(log, _GRAPH_PROFILE)
            for mode, number, largest in _GRAPH_SIZES.findall(found[1])
        }
        or None,
        "graph_tokens_max": _graph_tokens_max(log) if capture or bars else None,
        "graph_estimate_gib": float(found) if (found := _first(log, _GRAPH_ESTIMATE)) else None,
        "utilization": pairs[0] if (pairs := _pairs(log, _UTILIZATION)) else None,
        "kv_available_gib": _floats(log, _KV_MEMORY),
        "kv_tokens": [_whole(found[1]) for found in _all(log, _KV_TOKENS)] or None,
        "max_concurrency": [[_whole(found[1]), float(found[2])] for found in _all(log, _CONCURRENCY)] or None,
        "autotune_s": _autotune(log),
        "capture_bars": bars or None,
        "capture": capture or None,
        "pool": _pairs(log, _POOL),
        "memory": [_memory(found) for found in _all(log, _MEMORY)] or None,
        "engine_init": [
            [float(found[1]), float(found[2]) if found[2] else None] for found in _all(log, _INIT)
        ] or None,
        "startup_plan": True if any(_STARTUP_PLAN.search(record.text) for record in log) else None,
        "starts": [found[1] for found in _all(log, _START)] or None,
        "ready": len(_all(log, _READY)) or None,
        "free_memory_low": [float(part) for part in low[0].groups()] if (low := _all(log, _FREE_LOW)) else None,
        "no_kv_memory": True if _all(log, _NO_KV) else None,
        "kv_needed": _kv_needed(log),
        "oom": [[found[1], float(found[2]), found[3]] for found in _all(log, _OOM)] or None,
        "failed_procs": _first(log, _FAILED_PROCS),
        "worker_died": list(died[0].groups()) if (died := _all(log, _WORKER_DIED)) else None,
        "core_died": _first(log, _CORE_DIED),
    }  # fmt: skip


def _all(log: Sequence[Record], pattern: re.Pattern[str]) -> list[re.Match[str]]:
    return [found for record in log if (found := pattern.search(record.text))]


def _first(log: Sequence[Record], pattern: re.Pattern[str]) -> str | None:
    return next((found[1] for record in log if (found := pattern.search(record.text))), None)


def _floats(log: Sequence[Record], pattern: re.Pattern[str]) -> list[float] | None:
    return [float(found[1]) for found in _all(log, pattern)] or None


def _pairs(log: Sequence[Record], pattern: re.Pattern[str]) -> list[list[float]] | None:
    return [[float(found[1]), float(found[2])] for found in _all(log, pattern)] or None


def _unique(values: list[str]) -> list[str] | None:
    return list(dict.fromkeys(values)) or None


def _whole(digits: str) -> int:
    return int(digits.replace(",", ""))


def _arguments(log: Sequence[Record]) -> dict[str, Any] | str | None:
    """The arguments as a dictionary; as they stand there when that is no Python literal (cut, or with objects)."""
    found = next(iter(_all(log, _ARGS)), None)
    if found is None:
        return None
    text = (found[1] or found[2]).strip()
    try:
        value = ast.literal_eval(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text
    return value if isinstance(value, dict) else text


def _memory(found: re.Match[str]) -> dict[str, float]:
    names = ("free", "total", "util", "want", found[6].split()[0], "", "activation", "non_torch", "graph")
    return {
        name: float(value) for name, value in zip(names, found.groups(), strict=True) if name and value is not None
    }


def _capture(log: Sequence[Record]) -> tuple[list[list[float]], dict[str, int]]:
    """Capture lines [s, GiB] and graphs by mode after the line that tells the KV cache's memory or size.

    A process that says its KV memory itself counts from there, any other from the log's first such line.
    """
    sized: dict[str | None, int] = {}
    first = -1
    for index, record in enumerate(log):
        own = _KV_MEMORY.search(record.text)
        if own:
            sized[record.process] = index
        if first < 0 and (own or _KV_TOKENS.search(record.text)):
            first = index
    captures: list[list[float]] = []
    bars: dict[str, int] = {}
    for index, record in enumerate(log):
        if index < sized.get(record.process, first):
            continue
        if took := _CAPTURE.search(record.text):
            captures.append([int(took[1]), float(took[2])])
        for found in _BAR.finditer(record.text):
            bars[found[1].rpartition(",")[2].strip()] = int(found[2])
    return captures, bars


def _graph_tokens_max(log: Sequence[Record]) -> int | None:
    """Largest size to capture, in tokens: the configuration's, or the largest that the estimate of memory names."""
    asked = [int(found[1]) for found in _all(log, _CONFIG_GRAPHS)]
    named = [int(largest) for found in _all(log, _GRAPH_PROFILE) for _, _, largest in _GRAPH_SIZES.findall(found[1])]
    return max(asked or named, default=0) or None


def _autotune(log: Sequence[Record]) -> float | None:
    """Seconds from the first start of FlashInfer's autotuner to its last end, by its own clock (whole seconds)."""
    marks = [(found[1], seconds(record.time)) for record in log
             if record.time and (found := _AUTOTUNE.search(record.text))]  # fmt: skip
    starts = [at for what, at in marks if what == "starts" and at is not None]
    ends = [at for what, at in marks if what == "ends" and at is not None]
    return max(ends) - min(starts) if starts and ends and max(ends) >= min(starts) else None


def _kv_needed(log: Sequence[Record]) -> dict[str, float | int | None] | None:
    """What one request needs and what would fit, where the KV cache is too small for one."""
    for record in log:
        if found := _KV_SHORT.search(record.text):
            fits = _KV_FITS.search(record.text)
            return {
                "max_model_len": _whole(found[1]), "needed_gib": float(found[2]),
                "fits_tokens": _whole(fits[1]) if fits else None,
            }  # fmt: skip
    return None
