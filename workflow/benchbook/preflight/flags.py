"""A server's flags by one spelling each, numbers and JSON read as the engine reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SHORT = {"dp": "data-parallel-size", "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size",
          "ep": "enable-expert-parallel", "sc": "speculative-config", "cc": "compilation-config",
          "O": "compilation-config", "asc": "api-server-count"}  # fmt: skip
_TIMES = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


def named(args: Mapping[str, Any]) -> dict[str, Any]:
    """The flags of a command line by their long names, with dashes; what stands after a dot keeps its spelling."""
    found = {}
    for name, value in args.items():
        head, dot, tail = name.lstrip("-").partition(".")
        head = head.replace("_", "-")
        found[_SHORT.get(head, head) + dot + tail] = value
    return found


def whole(value: Any) -> int | None:
    """A whole number as the engine reads it, also 8k (8,000) and 8K (8,192); None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return int(value) if value == int(value) else None
    text = str(value).strip().replace("_", "")
    times = _TIMES.get(text[-1:], 1)
    text = text[:-1] if times > 1 else text
    try:
        number = float(text) * times
        return int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None


def number(value: Any) -> float | None:
    """A number, or None."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def is_on(args: Mapping[str, Any], name: str) -> bool:
    """Whether a bare flag is given."""
    value = args.get(name)
    return value.lower() in ("", "true", "1") if isinstance(value, str) else bool(value)


def section(args: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A flag that takes JSON, with what is given by dotted flags put in; empty where nothing is, or it is no JSON."""
    told = args.get(name)
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except ValueError:
            told = None
    found = dict(told) if isinstance(told, Mapping) else {}
    for flag, value in args.items():
        head, _, tail = flag.partition(".")
        if head == name and tail:
            found[tail.replace("-", "_")] = value
    return found
