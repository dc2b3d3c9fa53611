"""What earlier boots measured of memory and graphs, and which of them an arm may be judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbook.engines.vllm_layout import layout
from benchbook.preflight import flags
from benchbook.preflight.asked import Asked, ServerAsked

_SIZING = ("quantization", "dtype", "kv-cache-dtype", "load-format", "cpu-offload-gb", "speculative-config")
_NO_MATTER = {"model", "model-tag", "served-model-name", "host", "port", "load-format", "api-server-count", "tokenizer",
              "seed", "tool-call-parser", "reasoning-parser", "enable-auto-tool-choice"}  # fmt: skip


@dataclass(frozen=True)
class Boot:
    """One boot that came up, or got as far as its figures. `name`: its session or file. `model`, `engine`, `node`: what
    it was of; None for a log that was named by hand. `args`: its flags, one spelling; None where its log does not say.
    `facts`: fields of engines.vllm_log.BootFacts."""

    name: str
    model: str | None
    engine: str | None
    node: str | None
    args: Mapping[str, Any] | None
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """The boot that an arm is judged by. `differing`: flags in which they differ; empty: the same server."""

    boot: Boot
    differing: tuple[str, ...]

    def get(self, name: str) -> float | None:
        value = self.boot.facts.get(name)
        return None if value is None else float(value)

    @property
    def said(self) -> str:
        """Where its figures are from, in words."""
        other = f", which had another {', '.join(self.differing)}" if self.differing else ""
        return f"{self.boot.name}{other}"


def like(arm: ServerAsked, asked: Asked, boots: Sequence[Boot]) -> Measured | None:
    """The latest boot of the same model, engine and node that is laid out and stored as `arm` is, None without one.

    One that got as far as its KV cache goes before others, then one of the same flags.
    """
    fitting = [boot for boot in boots if _fits(arm, asked, boot)]
    if not fitting:
        return None
    found = [Measured(boot, _differing(arm, boot)) for boot in fitting]
    return min(reversed(found), key=lambda measured: (measured.get("kv_cache_tokens") is None,
                                                      len(measured.differing)))  # fmt: skip


def _fits(arm: ServerAsked, asked: Asked, boot: Boot) -> bool:
    same = ((boot.model, asked.model["name"]), (boot.engine, arm.engine), (boot.node, asked.node["name"]))
    if any(theirs is not None and theirs != ours for theirs, ours in same):
        return False
    if boot.args is None:
        return True
    mine, theirs = layout(arm.args), layout(boot.args)
    laid = ("ranks", "tensor", "pipeline", "expert")
    return (all(getattr(mine, name) == getattr(theirs, name) for name in laid)
            and all(str(arm.args.get(name)) == str(boot.args.get(name)) for name in _SIZING[:3])
            and _drafts(arm.args) == _drafts(boot.args))  # fmt: skip


def _drafts(args: Mapping[str, Any]) -> bool:
    return bool(flags.section(args, "speculative-config"))


def _differing(arm: ServerAsked, boot: Boot) -> tuple[str, ...]:
    if boot.args is None:
        return ("arguments, as far as its log tells",)
    names = sorted((set(arm.args) | set(boot.args)) - _NO_MATTER)
    return tuple(name for name in names if not _alike(arm.args.get(name), boot.args.get(name)))


def _alike(mine: Any, theirs: Any) -> bool:
    if mine == theirs or str(mine) == str(theirs):
        return True
    ours, others = flags.number(mine), flags.number(theirs)
    return (ours is not None and ours == others) or (
        isinstance(mine, str) and isinstance(theirs, Mapping) and flags.section({"x": mine}, "x") == dict(theirs)
    )
