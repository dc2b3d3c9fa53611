"""What vLLM takes where a booking says nothing, by version and GPU (docs/engines.md 4.1 and 4.6).

Known for vLLM 0.20 to 0.33; of other versions a default is said to be unknown and not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benchbook.engines.vllm_layout import Layout, layout
from benchbook.preflight import flags
from benchbook.preflight.asked import Asked, ServerAsked
from benchbook.preflight.value import Value

FIRST_KNOWN, LAST_KNOWN = (0, 20), (0, 33)
CAPTURE_LIMIT, CAPTURE_LIMIT_SM100 = 512, 1024
LARGE_GPU_GIB, HUGE_GPU_GIB = 70, 160
_SM100 = re.compile(r"\bG?B[23]00\b", re.IGNORECASE)


def release(version: str | None) -> tuple[int, int] | None:
    """Major and minor number; None for a development build, which says nothing of what it holds."""
    found = re.match(r"(\d+)\.(\d+)(?!\.?dev)", version or "")
    number = (int(found[1]), int(found[2])) if found else None
    return number if number is not None and number >= (0, 8) else None


def is_known(arm: ServerAsked) -> bool:
    """Whether the defaults here are those of the arm's version."""
    number = release(arm.version)
    return number is not None and FIRST_KNOWN <= number <= LAST_KNOWN


def _untold(arm: ServerAsked) -> str:
    if arm.version is None:
        return f"{arm.version_from}, and with it this default"
    return f"this default of vLLM {arm.version} is not known here"


def gpu_share(arm: ServerAsked) -> Value[float]:
    """gpu-memory-utilization."""
    written = flags.number(arm.args.get("gpu-memory-utilization"))
    if written is not None:
        return Value(written, f"gpu-memory-utilization = {written:g}", True)
    number = release(arm.version)
    if number is not None and number <= (0, 11):
        return Value(0.9, f"gpu-memory-utilization is not written down: 0.9 in vLLM {arm.version}")
    if is_known(arm):
        return Value(0.92, f"gpu-memory-utilization is not written down: 0.92 in vLLM {arm.version}")
    return Value(None, f"gpu-memory-utilization is not written down, and {_untold(arm)} (0.9 or 0.92)")


def sequences(arm: ServerAsked, asked: Asked) -> Value[int]:
    """max-num-seqs, of one rank."""
    written = flags.whole(arm.args.get("max-num-seqs"))
    if written is not None:
        return Value(written, f"max-num-seqs = {written:,}", True)
    if not is_known(arm):
        return Value(None, f"max-num-seqs is not written down, and {_untold(arm)}")
    if not asked.has_gpus:
        laid = layout(arm.args)
        return Value(128 * laid.tensor * laid.pipeline, "max-num-seqs is not written down: 128 on a CPU")
    memory = asked.node["gpu_memory_gib"]
    if memory is None:
        return Value(None, "max-num-seqs is not written down, and its default depends on the GPU's memory: give "
                           f"gpu_memory_gib in config/nodes/{asked.node['name']}.yaml")  # fmt: skip
    large = memory >= LARGE_GPU_GIB and not _is_a(asked, "a100")
    found = (1024 if large else 256) * _mode(arm)
    kind = "GPUs of 70 GiB and more that are no A100" if large else "GPUs of less than 70 GiB, and A100"
    return Value(found, f"max-num-seqs is not written down: {found:,} on {kind}")


def batched_tokens(arm: ServerAsked, asked: Asked) -> Value[int]:
    """max-num-batched-tokens: the tokens of one step, and of a prefill chunk."""
    written = flags.whole(arm.args.get("max-num-batched-tokens"))
    if written is not None:
        return Value(written, f"max-num-batched-tokens = {written:,}", True)
    if not is_known(arm):
        return Value(None, f"max-num-batched-tokens is not written down, and {_untold(arm)}")
    memory = asked.node["gpu_memory_gib"]
    if not asked.has_gpus or memory is None:
        return Value(None, "max-num-batched-tokens is not written down, and its default depends on the GPU's memory")
    number = release(arm.version)
    huge = memory >= HUGE_GPU_GIB and number is not None and number >= (0, 32)
    large = memory >= LARGE_GPU_GIB and not _is_a(asked, "a100")
    found = (16384 if huge else 8192 if large else 2048) * _mode(arm)
    return Value(found, f"max-num-batched-tokens is not written down: {found:,} on such a GPU")


def model_length(arm: ServerAsked, asked: Asked) -> Value[int]:
    """max-model-len; None also where the engine is asked to fit it."""
    told = arm.args.get("max-model-len")
    written = flags.whole(told)
    if written is not None and written > 0:
        return Value(written, f"max-model-len = {written:,}", True)
    if told is not None:
        return Value(None, f"max-model-len = {told} has the engine fit it")
    own = (asked.model["config"] or {}).get("max_position_embeddings")
    if isinstance(own, int):
        return Value(own, f"max-model-len is not written down: the model's {own:,}")
    return Value(None, "max-model-len is not written down, and the model's own is not known here")


def graphs_wanted(arm: ServerAsked) -> bool:
    """Whether the arm asks for graphs at all."""
    mode = str(flags.section(arm.args, "compilation-config").get("cudagraph_mode", ""))
    return not layout(arm.args).eager and mode.upper().removeprefix("CUDAGRAPHMODE.") != "NONE"


def capture_given(arm: ServerAsked) -> tuple[int | None, list[int] | None]:
    """The largest size and the list of sizes that the booking asks for; None for each that it does not."""
    compilation = flags.section(arm.args, "compilation-config")
    largest = arm.args.get("max-cudagraph-capture-size", compilation.get("max_cudagraph_capture_size"))
    sizes = arm.args.get("cudagraph-capture-sizes", compilation.get("cudagraph_capture_sizes"))
    return flags.whole(largest), _sizes(sizes)


def capture(arm: ServerAsked, asked: Asked) -> Value[int]:
    """Tokens of the largest graph that gets captured."""
    largest, sizes = capture_given(arm)
    limit = batched_tokens(arm, asked)
    if sizes:
        fitting = [size for size in sizes if limit.value is None or size <= limit.value]
        return Value(max(fitting, default=0), f"cudagraph-capture-sizes up to {max(sizes):,}", True)
    if largest is not None:
        found = on_grid(min(largest, limit.value or largest), limit.value)
        how = f"max-cudagraph-capture-size = {largest:,}"
        return Value(found, how if found == largest else f"{how}, of which {found:,} gets captured", True)
    taken = sequences(arm, asked)
    tokens = layout(arm.args).tokens_per_sequence
    if taken.value is None or tokens is None or not is_known(arm):
        why = taken.how if taken.value is None else _untold(arm) if tokens is not None else _depth_untold()
        return Value(None, f"max-cudagraph-capture-size is not written down; {why}")
    top = CAPTURE_LIMIT_SM100 if _is_sm100(arm, asked) else CAPTURE_LIMIT
    wanted = min(2 * taken.value * tokens, top)
    found = on_grid(min(wanted, limit.value or wanted), limit.value)
    return Value(found, f"max-cudagraph-capture-size is not written down: min(2 x {taken.value:,} x {tokens}, {top:,})"
                        + ("" if found == wanted else f", of which {found:,} gets captured"))  # fmt: skip


def on_grid(largest: int, batched: int | None) -> int:
    """The largest of vLLM's sizes (1, 2, 4, multiples of 8 to 256, of 16 above) that is at most `largest`; the tokens
    of a step are one of them where they fit."""
    if batched is not None and batched <= largest:
        return batched
    if largest < 8:
        return max((size for size in (1, 2, 4) if size <= largest), default=0)
    return largest // 8 * 8 if largest < 256 else largest // 16 * 16


def full_decode(arm: ServerAsked, laid: Layout, largest: int, taken: int) -> int:
    """Tokens of the largest FULL graph, which holds a step of nothing but decoding."""
    return min(largest, taken * (laid.tokens_per_sequence or 1))


def version_said(arm: ServerAsked) -> str:
    return f"vLLM {arm.version} (by {arm.version_from})" if arm.version else arm.version_from


def _sizes(told: Any) -> list[int] | None:
    if told is None:
        return None
    if isinstance(told, str):
        told = told.strip("[]").replace(",", " ").split()
    given = [told] if isinstance(told, int | float) else list(told)
    found = [size for size in (flags.whole(item) for item in given) if size is not None]
    return found or None


def _is_a(asked: Asked, gpu: str) -> bool:
    return any(gpu in str(asked.node[name]).lower() for name in ("name", "kind", "description"))


def _is_sm100(arm: ServerAsked, asked: Asked) -> bool:
    number = release(arm.version)
    text = " ".join(str(asked.node[name]) for name in ("name", "kind", "description"))
    return number is not None and number >= (0, 32) and bool(_SM100.search(text))


def _mode(arm: ServerAsked) -> int:
    return 2 if arm.args.get("performance-mode") == "throughput" else 1


def _depth_untold() -> str:
    return "how many tokens are drafted is not written down"


def estimates_graphs(arm: ServerAsked) -> Value[bool]:
    """Whether the engine takes the memory of graphs off before it sizes the KV cache."""
    told = _env(arm.env, "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS")
    if told is not None:
        return Value(told not in ("0", "false", ""), f"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS = {told}", True)
    return Value(True if is_known(arm) else None, "the default of vLLM 0.20 and later")


def _env(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name)
    return None if value is None else value.strip().lower()
