"""Flags whose value the engine cannot read: it would end at the boot (docs/engines.md 4.19)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from benchbook.preflight import flags
from benchbook.preflight.asked import VLLM, ServerAsked
from benchbook.preflight.finding import ERROR, Finding

_WHOLE = ("max-num-seqs", "max-num-batched-tokens", "tensor-parallel-size", "pipeline-parallel-size",
          "data-parallel-size", "api-server-count", "max-cudagraph-capture-size", "block-size", "kv-cache-memory-bytes",
          "seed")  # fmt: skip
_LENGTH = "max-model-len"  # also "auto", or -1
_SHARE = "gpu-memory-utilization"
_JSON = ("speculative-config", "compilation-config")


def findings(arm: ServerAsked) -> Iterator[Finding]:
    if arm.kind != VLLM:
        return
    for name, value in arm.args.items():
        if (wanted := _wanted(name, value)) is not None:
            yield Finding(
                "flag-unreadable", ERROR, arm.name, arm.key(name),
                f"--{name} is {value!r}, and the engine takes {wanted} there: it ends at the boot.", "",
                f"Give {name} {wanted}.",
            )  # fmt: skip
    for name, text in arm.env.items():
        if "\0" in f"{name}{text}" or "=" in name or not name:
            yield Finding(
                "flag-unreadable", ERROR, arm.name, f"{arm.place}.env",
                f"The environment variable {name!r} is {text!r}, which no process can be given.", "",
                "Take out the NUL character or the = sign.",
            )  # fmt: skip


def _wanted(name: str, value: Any) -> str | None:
    """What a flag takes, where `value` is none of it."""
    if name in _WHOLE and flags.whole(value) is None:
        return "a whole number"
    if name == _LENGTH and flags.whole(value) is None and value != "auto":
        return "a whole number or auto"
    if name == _SHARE and not 0 < (flags.number(value) or 0) <= 1:
        return "a share above 0, 1 at the most"
    if name in _JSON and isinstance(value, str) and not _is_json(value):
        return "JSON"
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
