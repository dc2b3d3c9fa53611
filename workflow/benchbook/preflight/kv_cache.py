"""KV cache needed against KV cache offered, and the longest sequence against the workload (docs/engines.md 4.10)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchbook.claims.memory import GIB
from benchbook.engines.vllm_layout import layout
from benchbook.preflight import defaults, flags, gpu_memory
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.boots import Measured
from benchbook.preflight.finding import ERROR, NOTE, WARNING, Finding
from benchbook.preflight.value import Value
from benchbook.preflight.weights import kv_bytes

FAR = 8  # times the longest request: source 000 gained 12 GiB of activations and 4.5 of graphs from 512 times to 2


def findings(arm: ServerAsked, asked: Asked, measured: Measured | None) -> Iterator[Finding]:
    if arm.kind != VLLM:
        return
    length = defaults.model_length(arm, asked)
    if (far := _far(arm, asked, length)) is not None:
        yield far
    yield from _room(arm, asked, measured, length)


def _far(arm: ServerAsked, asked: Asked, length: Value[int]) -> Finding | None:
    if asked.longest is None:
        return None
    place = arm.key("max-model-len")
    if length.value is None:
        return Finding("max-model-len-far", NOTE, arm.name, place, f"Not checked: {length.how}.", "",
                       f"Write down max-model-len: {_enough(asked.longest)}.")  # fmt: skip
    if length.value <= FAR * asked.longest:
        return None
    return Finding(
        "max-model-len-far", WARNING, arm.name, place,
        f"{length.how}; the longest request has {asked.longest:,} tokens. Activations, block tables and graphs "
        "are sized for the longest sequence.",
        f"{length.value:,} / {asked.longest:,} = {length.value / asked.longest:.0f} times, more than {FAR}",
        f"Set max-model-len: {_enough(asked.longest)}, unless the length is what the booking tests.",
    )  # fmt: skip


def _enough(longest: int) -> int:
    """The next power of two."""
    return 1 << (longest - 1).bit_length()


def _offered(arm: ServerAsked, asked: Asked, measured: Measured | None) -> tuple[Value[int], Value[float]]:
    """Tokens of KV cache of one rank, and bytes of a token on one of its GPUs."""
    if measured is not None and not measured.differing and (tokens := measured.get("kv_cache_tokens")) is not None:
        return Value(int(tokens), f"{int(tokens):,} tokens as {measured.said} printed"), kv_bytes(arm, asked, measured)
    each = kv_bytes(arm, asked, measured)
    if not asked.has_gpus:
        gib = flags.number(arm.env.get("VLLM_CPU_KVCACHE_SPACE"))
        least = ""
        how = f"VLLM_CPU_KVCACHE_SPACE = {gib:g} GiB" if gib else "VLLM_CPU_KVCACHE_SPACE is not written down"
    else:
        memory = gpu_memory.of(arm, asked, measured)
        gib = None if memory is None else memory.kv
        least = "at most " if memory is not None and memory.unmeasured and not memory.kv_given else ""
        how = "what the GPU has left is not known" if gib is None else f"{least}{gib:.2f} GiB a GPU"
    if gib is None or each.value is None:
        return Value(None, how if gib is None else each.how), each
    found = max(0, math.floor(gib * GIB / each.value))
    return Value(found, f"{how}, {each.how}: {least}{found:,} tokens"), each


def _room(arm: ServerAsked, asked: Asked, measured: Measured | None, length: Value[int]) -> Iterator[Finding]:
    offered, each = _offered(arm, asked, measured)
    place = arm.key("gpu-memory-utilization") if asked.has_gpus else f"{arm.place}.env.VLLM_CPU_KVCACHE_SPACE"
    if offered.value is None or asked.longest is None:
        why = offered.how if offered.value is None else "the lengths of requests are those of a file"
        yield Finding("kv-too-small", NOTE, arm.name, place, f"Not checked: {why}.", "",
                      "Give the model's sizes, or preflight the log of an earlier boot (--log).")  # fmt: skip
        return
    if offered.value <= 0:
        return  # gpu-memory-over says it
    if length.value is not None and length.value > offered.value:
        need = "" if each.value is None else f", {length.value * each.value / GIB:.2f} GiB"
        yield Finding(
            "kv-one-request", ERROR, arm.name, arm.key("max-model-len"),
            f"{length.how}; the KV cache has {offered.how}. vLLM does not start when one request of the longest "
            "length does not fit.",
            f"{length.value:,} tokens{need} > {offered.value:,} tokens",
            f"Set max-model-len: {min(_enough(asked.longest), offered.value)}, or offer more KV cache.",
        )  # fmt: skip
    laid, taken = layout(arm.args), defaults.sequences(arm, asked)
    share = math.ceil(asked.concurrency_max / laid.ranks)
    at_once = share if taken.value is None else min(share, taken.value)
    needed = at_once * asked.longest
    if needed > offered.value:
        fits = offered.value // asked.longest
        less = "" if asked.alike else " Lengths are drawn or prefixes shared: fewer may be enough."
        yield Finding(
            "kv-too-small", ERROR if asked.alike else WARNING, arm.name, place,
            f"The KV cache has {offered.how}. Requests beyond it wait or are preempted, and their step is "
            f"another.{less}",
            f"{at_once:,} requests a rank x {asked.longest:,} tokens = {needed:,} > {offered.value:,} tokens; "
            f"{fits:,} requests fit",
            f"Offer more KV cache, or sweep to {fits * laid.ranks:,} in flight at most.",
        )  # fmt: skip
