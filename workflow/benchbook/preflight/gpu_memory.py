"""A GPU's memory phase by phase: weights, activation peak, KV cache, autotuning, capture (docs/engines.md 4.5, 4.6).

vLLM sizes the KV cache from a snapshot that has seen neither the workspaces of autotuning nor the real capture; both
come after it and have to fit into what the share of memory leaves. Figures that no boot measured stay unknown: then a
sum is a lower bound, and what it finds too large is too large all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchbook.claims.memory import GIB, budget_gib, free_gib
from benchbook.preflight import defaults, flags
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.boots import Measured
from benchbook.preflight.finding import ERROR, NOTE, WARNING, Finding
from benchbook.preflight.value import Value
from benchbook.preflight.weights import weights_gib

TIGHT_GIB, TIGHT_PART = 2.0, 0.05  # the smaller of the two: GiB, and of the memory
HIGH_SHARE = 0.9  # source 000's autotuning failed at 0.92 of 268 GiB and fitted at 0.78
_FP4 = ("mxfp4", "nvfp4", "modelopt_fp4", "gpt_oss_mxfp4")


@dataclass(frozen=True)
class Memory:
    """GiB of one GPU; None: not known. `kv`: what is left for the KV cache, or asked for in bytes (`kv_given`); an
    upper bound where `unmeasured` names parts that are not taken off. `after`: free once the KV cache is there."""

    total: float
    share: Value[float]
    weights: Value[float]
    activation: float | None
    non_torch: float | None
    graph_estimate: float | None
    capture: float | None
    kv_given: bool
    kv: float | None
    after: float | None
    unmeasured: tuple[str, ...]


def of(arm: ServerAsked, asked: Asked, measured: Measured | None) -> Memory | None:
    """The memory of one GPU of an arm; None where the GPU's memory is not known, or there is no GPU."""
    total = asked.node["gpu_memory_gib"]
    if total is None and measured is not None:
        total = measured.get("gpu_memory_gib")
    if total is None or not asked.has_gpus:
        return None

    def said(name: str) -> float | None:
        return None if measured is None else measured.get(name)

    share, weights = defaults.gpu_share(arm), weights_gib(arm, asked, measured)
    activation, non_torch, capture = said("activation_gib"), said("non_torch_gib"), said("capture_gib")
    estimates = defaults.estimates_graphs(arm).value is not False and defaults.graphs_wanted(arm)
    estimate = said("graph_estimate_gib") if estimates else 0.0
    given = flags.whole(arm.args.get("kv-cache-memory-bytes"))
    kv = None
    if given is not None:
        kv = given / GIB
    elif share.value is not None and weights.value is not None:
        taken = (weights.value, activation or 0.0, non_torch or 0.0, estimate or 0.0)
        kv = free_gib(budget_gib(share.value, total), *taken)
    after = None
    if kv is not None and weights.value is not None:
        after = free_gib(total, weights.value, non_torch or 0.0, max(kv, 0.0))
    parts = {"activation peak": activation, "memory outside PyTorch": non_torch, "estimate of the graphs": estimate,
             "capture": capture if defaults.graphs_wanted(arm) else 0.0}  # fmt: skip
    missing = tuple(name for name, value in parts.items() if value is None)
    return Memory(total, share, weights, activation, non_torch, estimate, capture, given is not None, kv, after,
                  missing)  # fmt: skip


def findings(arm: ServerAsked, asked: Asked, measured: Measured | None) -> Iterator[Finding]:
    if arm.kind != VLLM or not asked.has_gpus:
        return
    if (unwritten := _unwritten(arm)) is not None:
        yield unwritten
    if (estimate_off := _estimate_off(arm)) is not None:
        yield estimate_off
    memory = of(arm, asked, measured)
    if memory is None:
        yield Finding("memory-phases", NOTE, arm.name, arm.key("gpu-memory-utilization"),
                      f"Not worked out: node {asked.node['name']} does not say how much memory a GPU has.", "",
                      f"Give gpu_memory_gib in config/nodes/{asked.node['name']}.yaml.")  # fmt: skip
        return
    yield _phases(arm, memory, measured)
    over = _over(arm, memory, measured)
    if over is not None:
        yield over
    elif (workspace := _workspace(arm, asked, memory)) is not None:
        yield workspace


def _unwritten(arm: ServerAsked) -> Finding | None:
    share = defaults.gpu_share(arm)
    if share.written or "kv-cache-memory-bytes" in arm.args:
        return None
    return Finding("memory-share-unwritten", WARNING, arm.name, arm.key("gpu-memory-utilization"),
                   f"{share.how}. The default has changed between versions, and the KV cache with it.", "",
                   f"Write down gpu-memory-utilization: {share.value or 0.9:g}.")  # fmt: skip


def _estimate_off(arm: ServerAsked) -> Finding | None:
    estimates = defaults.estimates_graphs(arm)
    if not (estimates.written and estimates.value is False):
        return None
    return Finding("graph-estimate-off", WARNING, arm.name, f"{arm.place}.env",
                   f"{estimates.how}: the KV cache is sized as if the graphs took no memory.", "",
                   "Leave the variable out, or lower gpu-memory-utilization by what the capture takes.")  # fmt: skip


def _gib(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f} GiB"


def _phases(arm: ServerAsked, memory: Memory, measured: Measured | None) -> Finding:
    """What goes where, in the order of a boot; a note."""
    source = f"Measured figures are of {measured.said}." if measured else "No earlier boot of this server is known."
    exact = memory.kv is None or memory.kv_given or not memory.unmeasured
    kv = _gib(memory.kv) if exact else f"at most {_gib(memory.kv)}"
    steps = (f"GPU {memory.total:g} GiB; {memory.weights.how}; activation peak {_gib(memory.activation)}; outside "
             f"PyTorch {_gib(memory.non_torch)}; graphs estimated {_gib(memory.graph_estimate)}; KV cache {kv}; "
             f"autotuning not known; capture {_gib(memory.capture)}")  # fmt: skip
    remedy = "Nothing to do." if measured else "Boot once: benchbook preflight --log SERVER.log takes what it measured."
    return Finding("memory-phases", NOTE, arm.name, arm.key("gpu-memory-utilization"), f"{source} {steps}.",
                   _sum(memory), remedy)  # fmt: skip


def _sum(memory: Memory) -> str:
    if memory.kv is None or memory.weights.value is None:
        return ""
    if memory.kv_given:
        before = f"kv-cache-memory-bytes = {memory.kv:.2f} GiB, which no profiling checks"
    else:
        taken = [memory.weights.value, memory.activation, memory.non_torch, memory.graph_estimate]
        minus = " - ".join(f"{part:.2f}" for part in taken if part)
        share = memory.share.value or 0.0
        before = f"{share:g} x {memory.total:g} - {minus} = {memory.kv:.2f} GiB for the KV cache"
    return f"{before}; {_gib(memory.after)} free after it"


def _over(arm: ServerAsked, memory: Memory, measured: Measured | None) -> Finding | None:
    weights, kv, after = memory.weights.value, memory.kv, memory.after
    place = arm.key("kv-cache-memory-bytes" if memory.kv_given else "gpu-memory-utilization")
    if weights is None or kv is None or after is None:
        return None
    surely = measured is None or not measured.differing
    if not memory.kv_given and kv <= 0:
        budget = budget_gib(memory.share.value or 0.0, memory.total)
        return Finding(
            "gpu-memory-over", ERROR if surely or budget <= weights else WARNING, arm.name, place,
            f"{memory.share.how}; {memory.weights.how}. Nothing is left for a KV cache: the server will not "
            "start.",
            f"{memory.share.value:g} x {memory.total:g} = {budget:.2f} GiB, less what comes before the KV cache: "
            f"{kv:.2f} GiB",
            "Raise gpu-memory-utilization, or spread the model over more GPUs.",
        )  # fmt: skip
    capture, activation = memory.capture or 0.0, memory.activation or 0.0
    later = capture + activation
    if later > after or after <= 0:
        return Finding(
            "gpu-memory-over", ERROR if surely else WARNING, arm.name, place,
            f"{memory.weights.how}; the KV cache is sized before warm-up and capture, which have to fit into the "
            "rest.",
            f"{_sum(memory)}; capture {capture:.2f} + activations {activation:.2f} = {later:.2f} GiB",
            f"Lower {'kv-cache-memory-bytes' if memory.kv_given else 'gpu-memory-utilization'}.",
        )  # fmt: skip
    if after < min(TIGHT_GIB, TIGHT_PART * memory.total):
        return Finding(
            "gpu-memory-tight", WARNING, arm.name, place,
            f"{memory.weights.how}; not known: {', '.join(memory.unmeasured) or 'the workspaces of autotuning'}.",
            f"{_sum(memory)}, for activations, autotuning and capture",
            f"Lower {'kv-cache-memory-bytes' if memory.kv_given else 'gpu-memory-utilization'}, or boot once and "
            "give preflight its log.",
        )  # fmt: skip
    return None


def _workspace(arm: ServerAsked, asked: Asked, memory: Memory) -> Finding | None:
    share = memory.share.value
    if memory.kv_given or share is None or share < HIGH_SHARE or not is_fp4_moe(arm, asked):
        return None
    if "no-enable-flashinfer-autotune" in arm.args:
        return None
    return Finding(
        "autotune-workspace", WARNING, arm.name, arm.key("gpu-memory-utilization"),
        f"{memory.share.how}; FP4 experts are autotuned after the KV cache has taken its memory, with workspaces "
        "of tens of GiB that no profiling sees. Source 000 died of it at 0.92 of 267.69 GiB and started at 0.78.",
        f"(1 - {share:g}) x {memory.total:g} = {(1 - share) * memory.total:.1f} GiB outside the share"
        + (f", {memory.after:.1f} GiB free after the KV cache" if memory.after is not None else ""),
        "Lower gpu-memory-utilization where the KV cache is larger than the workload needs (0.78 there).",
    )  # fmt: skip


def is_fp4_moe(arm: ServerAsked, asked: Asked) -> bool:
    """Whether the model has routed experts in a 4-bit float format, as far as arguments and description tell."""
    config = asked.model["config"] or {}
    told = config.get("quantization_config")
    method = str(arm.args.get("quantization") or (told or {}).get("quant_method") or "").lower()
    sizes = asked.model["sizes"]
    named = (config.get(name) for name in ("num_experts", "num_local_experts", "n_routed_experts"))
    has_experts = bool(sizes.get("routed_gb") or sizes.get("experts") or any(named))
    return has_experts and (method in _FP4 or asked.model["expert_format"] in _FP4)
