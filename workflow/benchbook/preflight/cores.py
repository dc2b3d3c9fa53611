"""Processes that want a core each, against the cores really there (docs/engines.md 4.12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchbook.engines.vllm_layout import layout
from benchbook.preflight import flags
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.finding import ERROR, NOTE, WARNING, Finding
from benchbook.preflight.value import Value


@dataclass(frozen=True)
class Processes:
    """Of one server: API servers, engine processes of their own, workers of their own."""

    api_servers: int
    engines: int
    workers: int

    @property
    def needed(self) -> int:
        return self.api_servers + self.engines


def api_servers(arm: ServerAsked) -> int:
    """API server processes: as many as data-parallel ranks unless written down; one with the Rust front end or a load
    balancer outside."""
    outside = ("data-parallel-external-lb", "data-parallel-rank")
    rust = str(arm.env.get("VLLM_USE_RUST_FRONTEND", "")).lower() in ("1", "true")
    if rust or any(name in arm.args for name in outside):
        return 1
    given = flags.whole(arm.args.get("api-server-count"))
    return given if given is not None else layout(arm.args).ranks


def processes(arm: ServerAsked) -> Processes:
    """Of a vLLM server. An engine of one rank and one GPU runs its worker inside itself."""
    laid = layout(arm.args)
    servers = api_servers(arm)
    inside = str(arm.env.get("VLLM_ENABLE_V1_MULTIPROCESSING", "1")) == "0" and servers == 1 and laid.ranks == 1
    alone = laid.tensor * laid.pipeline == 1 and arm.args.get("distributed-executor-backend") in (None, "uni")
    return Processes(servers, 0 if inside else laid.ranks, 0 if alone else laid.gpus)


def findings(arm: ServerAsked, asked: Asked, cores: Value[float]) -> Iterator[Finding]:
    """`cores`: those the whole booking has, or why they are not known."""
    if arm.kind != VLLM:
        return
    place = f"{arm.place}.cpus" if arm.cpus is not None else arm.key("api-server-count")
    if cores.value is None:
        yield Finding("cores-too-few", NOTE, arm.name, place, f"Not checked: {cores.how}.", "",
                      f"Give cores in config/nodes/{asked.node['name']}.yaml.")  # fmt: skip
        return
    has, wants = cores.value, processes(arm)
    if arm.cpus is not None and arm.cpus > has:
        yield Finding("cores-too-few", ERROR, arm.name, place, f"The server is pinned to more cores than there are: "
                      f"{cores.how}.", f"{arm.cpus} > {has:g} cores", f"Set cpus: {int(has)} or less.")  # fmt: skip
        return
    told = f"{_count(wants.api_servers, 'API server')}, {_count(wants.engines, 'engine process')}"
    if arm.cpus is not None and wants.needed > arm.cpus:
        yield Finding("cores-too-few", ERROR, arm.name, place, f"{told}; the server is pinned to {arm.cpus} cores.",
                      f"{wants.api_servers} + {wants.engines} = {wants.needed} > {arm.cpus} cores",
                      f"Set cpus: {wants.needed} or more, or fewer API servers.")  # fmt: skip
        return
    total = wants.needed + 1
    sums = f"{wants.api_servers} + {wants.engines} + 1 client = {total}"
    if total > has:
        yield Finding(
            "cores-too-few", ERROR, arm.name, place,
            f"{told} and a load client; {cores.how}. What shares a core waits for it, and the decode step with "
            "it.",
            f"{sums} > {has:g} cores",
            "Hire more cores, or set api-server-count lower.",
        )  # fmt: skip
    elif total + wants.workers > has:
        yield Finding(
            "cores-too-few", WARNING, arm.name, place,
            f"{told}, {_count(wants.workers, 'worker')} and a load client; {cores.how}. Workers poll, too.",
            f"{sums}, + {wants.workers} workers = {total + wants.workers} > {has:g} cores",
            "Hire a core for each worker as well.",
        )  # fmt: skip


def _count(number: int, noun: str) -> str:
    plural = "es" if noun.endswith("s") else "s"
    return f"{number or 'no'} {noun}{'' if number == 1 else plural}"
