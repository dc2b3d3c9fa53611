"""SGLang: graphs count requests, and the static share is weights and KV cache together (docs/engines.md 4.3, 4.8)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchbook.claims.memory import GIB, budget_gib, outside_budget_gib
from benchbook.preflight import flags
from benchbook.preflight.asked import SGLANG, Asked, ServerAsked
from benchbook.preflight.boots import Measured
from benchbook.preflight.finding import ERROR, NOTE, Finding
from benchbook.preflight.weights import weights_gib

# The newest first: the flag's name changed in 0.5.16, and the old one is gone in 0.5.23.
_GRAPH_FLAGS = ("cuda-graph-max-bs-decode", "cuda-graph-max-bs")
_PREFILL_DEFAULT = 8192


def findings(arm: ServerAsked, asked: Asked, measured: Measured | None) -> Iterator[Finding]:
    if arm.kind != SGLANG or not asked.has_gpus:
        return
    if not flags.is_on(arm.args, "disable-cuda-graph"):
        yield from _capture(arm, asked)
    yield from _memory(arm, asked, measured)


def _graphs(arm: ServerAsked) -> tuple[str, int | None]:
    name = next((flag for flag in _GRAPH_FLAGS if flag in arm.args), _GRAPH_FLAGS[0])
    return name, flags.whole(arm.args.get(name))


def _ranks(arm: ServerAsked) -> int:
    return flags.whole(arm.args.get("data-parallel-size", arm.args.get("dp-size"))) or 1


def _capture(arm: ServerAsked, asked: Asked) -> Iterator[Finding]:
    name, largest = _graphs(arm)
    if largest is None:
        yield Finding("sglang-capture-too-small", NOTE, arm.name, arm.key(name),
                      "Not checked: the size of SGLang's largest graph is not written down.", "",
                      f"Write down {name}, in requests.")  # fmt: skip
        return
    running = flags.whole(arm.args.get("max-running-requests"))
    share = math.ceil(asked.concurrency_max / _ranks(arm))
    need = share if running is None else min(share, running)
    if need <= largest:
        return
    limit = "" if running is None else f", {running:,})"
    leaves = [level.concurrency for level in asked.levels if math.ceil(level.concurrency / _ranks(arm)) > largest]
    yield Finding(
        "sglang-capture-too-small", ERROR, arm.name, arm.key(name),
        f"{name} = {largest:,} requests; the sweep goes to {asked.concurrency_max:,} in flight. Beyond the "
        "largest graph SGLang runs eagerly, and what that allocates may not fit (source 004 died of it).",
        f"{'min(' if running is not None else ''}{asked.concurrency_max:,} / {_ranks(arm)}{limit} = {need:,} > "
        f"{largest:,} requests: the sweep leaves the graphs above {largest * _ranks(arm):,}, at concurrency "
        f"{', '.join(f'{level:,}' for level in leaves)}",
        f"Set {name}: {need}, and leave memory for the larger graphs (mem-fraction-static).",
    )  # fmt: skip


def _memory(arm: ServerAsked, asked: Asked, measured: Measured | None) -> Iterator[Finding]:
    share, total = flags.number(arm.args.get("mem-fraction-static")), asked.node["gpu_memory_gib"]
    if share is None or total is None:
        return
    place = arm.key("mem-fraction-static")
    weights = weights_gib(arm, asked, measured)
    if weights.value is not None and weights.value > budget_gib(share, total):
        yield Finding(
            "sglang-memory-over", ERROR, arm.name, place,
            f"mem-fraction-static = {share:g} holds weights and KV cache together; {weights.how}.",
            f"{share:g} x {total:g} = {budget_gib(share, total):.1f} GiB < {weights.value:.1f} GiB of weights",
            "Raise mem-fraction-static, or spread the model over more GPUs.",
        )  # fmt: skip
        return
    reserve = reserve_gib(arm)
    left = outside_budget_gib(share, total)
    if reserve is not None and left < reserve:
        yield Finding(
            "sglang-memory-over", ERROR, arm.name, place,
            f"mem-fraction-static = {share:g} of {total:g} GiB leaves less than SGLang itself reserves for "
            "activations and graphs (by the rule of 0.5.3).",
            f"(1 - {share:g}) x {total:g} = {left:.1f} GiB < {reserve:.1f} GiB",
            f"Set mem-fraction-static: {math.floor(100 * (1 - reserve / total)) / 100:g} or less.",
        )  # fmt: skip


def reserve_gib(arm: ServerAsked) -> float | None:
    """512 MiB + 1.5 MiB a token of a prefill chunk + 2 MiB a request of the largest graph, + 2 GiB with EAGLE; None
    where the graph's size is not written down."""
    _, largest = _graphs(arm)
    if largest is None:
        return None
    chunk = flags.whole(arm.args.get("chunked-prefill-size")) or _PREFILL_DEFAULT
    eagle = 2048 if "EAGLE" in str(arm.args.get("speculative-algorithm", "")).upper() else 0
    return (512 + 1.5 * max(chunk, 0) + 2 * largest + eagle) * 2**20 / GIB
