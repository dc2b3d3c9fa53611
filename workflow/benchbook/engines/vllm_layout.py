"""How vLLM's arguments lay a model out over GPUs and what a decode step of it works on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Layout:
    """`ranks`: data-parallel ranks that share the requests, each of `tensor` x `pipeline` GPUs. Routed experts are
    spread over the GPUs of all ranks: with `expert` whole ones, else a slice of each. `speculative`: drafts per step
    and sequence, None where the arguments ask for speculation and do not say how deep. `eager`: no graph is wanted.
    `sequences_max`: of one rank, None for the engine's default."""

    ranks: int = 1
    tensor: int = 1
    pipeline: int = 1
    expert: bool = False
    speculative: int | None = 0
    eager: bool = False
    sequences_max: int | None = None

    @property
    def gpus(self) -> int:
        return self.ranks * self.tensor * self.pipeline

    def sequences(self, concurrency: float) -> float:
        """Requests on one rank when all of `concurrency` are spread evenly: as planned, not as measured."""
        return concurrency / self.ranks

    @property
    def tokens_per_sequence(self) -> int | None:
        """Tokens of one sequence in a decode step: itself and its drafts."""
        return None if self.speculative is None else 1 + self.speculative


def sequences_in_graph(graph_tokens: int, drafts: int) -> int:
    """Sequences that a graph of so many tokens covers, each with its drafts: capture sizes count tokens."""
    return graph_tokens // (1 + drafts)


_SHORT = {"dp": "data-parallel-size", "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size",
          "ep": "enable-expert-parallel", "sc": "speculative-config", "O": "compilation-config"}  # fmt: skip


def layout(server_args: Mapping[str, Any]) -> Layout:
    """Of `vllm serve` arguments without their dashes, underscores allowed; vLLM's defaults where nothing is said, or
    what is said is no number (the server will have refused to start)."""
    args = {_SHORT.get(name, name).replace("_", "-"): value for name, value in server_args.items()}
    return Layout(
        ranks=_size(args, "data-parallel-size"),
        tensor=_size(args, "tensor-parallel-size"),
        pipeline=_size(args, "pipeline-parallel-size"),
        expert=_flag(args, "enable-expert-parallel"),
        speculative=_speculative(args),
        eager=_flag(args, "enforce-eager"),
        sequences_max=_whole(args.get("max-num-seqs")),
    )


def _size(args: Mapping[str, Any], name: str) -> int:
    return _whole(args.get(name)) or 1


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _flag(args: Mapping[str, Any], name: str) -> bool:
    value = args.get(name)
    return value.lower() in ("", "true", "1") if isinstance(value, str) else bool(value)


def _speculative(args: Mapping[str, Any]) -> int | None:
    told = args.get("speculative-config")
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except ValueError:
            return None
    if told is None:
        dotted = "speculative-config.num-speculative-tokens"
        old = args.get("num-speculative-tokens", args.get(dotted))
        return _whole(old) if old is not None else 0
    depth = told.get("num_speculative_tokens") if isinstance(told, Mapping) else None
    return _whole(depth)
