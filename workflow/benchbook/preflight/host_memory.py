"""The host's memory at boot: what ranks pin in it, and the checkpoint that is read through it (docs/engines.md 4.7)."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.claims.memory import GIB
from benchbook.claims.model_bytes import GB
from benchbook.engines.vllm_layout import layout
from benchbook.preflight import flags
from benchbook.preflight.asked import Asked, ServerAsked
from benchbook.preflight.finding import ERROR, WARNING, Finding


def findings(arm: ServerAsked, asked: Asked) -> Iterator[Finding]:
    """Nothing where the node's memory is not given and nothing is pinned in it."""
    has = asked.node["host_memory_gib"]
    pinned = _pinned_gib(arm, asked)
    total = sum(pinned.values())
    if has is None:
        if total:
            yield Finding("host-memory-over", WARNING, arm.name, "node", f"{_told(pinned)}; node {asked.node['name']} "
                          "does not say how much memory it has.", f"{total:.1f} GiB are pinned",
                          f"Give host_memory_gib in config/nodes/{asked.node['name']}.yaml.")  # fmt: skip
        return
    read = _checkpoint_gib(arm, asked)
    if total + read <= has:
        return
    yield Finding(
        "host-memory-over", ERROR if total else WARNING, arm.name, "node",
        f"{_told(pinned)}; a checkpoint of {read:.1f} GiB is read through the page cache; the node has {has:g} "
        "GiB. " + ("A worker that the kernel kills leaves no traceback (source 000)." if total
           else "The page cache gives way, and loading is as slow as the disk."),
        f"{total:.1f} + {read:.1f} = {total + read:.1f} GiB > {has:g} GiB",
        "Hire more memory, pin less, or keep the tables on the GPU where it has room.",
    )  # fmt: skip


def _pinned_gib(arm: ServerAsked, asked: Asked) -> dict[str, float]:
    """What the ranks of the node hold in the host's memory for good, GiB by what asks for it."""
    laid = layout(arm.args)
    found = {
        "sizes.pinned_gb": float(asked.model["sizes"].get("pinned_gb", 0.0)) * GB / GIB,
        "cpu-offload-gb": (flags.number(arm.args.get("cpu-offload-gb")) or 0.0) * laid.gpus,
        "kv-offloading-size": flags.number(arm.args.get("kv-offloading-size")) or 0.0,
    }
    return {name: gib for name, gib in found.items() if gib}


def _checkpoint_gib(arm: ServerAsked, asked: Asked) -> float:
    if arm.args.get("load-format") == "dummy":
        return 0.0
    sizes = asked.model["sizes"]
    return float(sum(sizes.get(name, 0.0) for name in ("dense_gb", "routed_gb", "pinned_gb"))) * GB / GIB


def _told(pinned: dict[str, float]) -> str:
    return "; ".join(f"{name} pins {gib:.1f} GiB" for name, gib in pinned.items()) or "nothing is pinned"
