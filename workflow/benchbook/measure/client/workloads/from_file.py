"""Workload `file`: prompts from a file of one's own, each given out once.

    {"kind": "file", "path": P, "output_tokens": L or null, "seed_order": S, "repeat": false}

Forms of the file: see `entries`. Its prompts come in an order that `seed_order` (default 0) alone decides, the same for
every arm and session; a run takes those from `offset` on. `output_tokens` (L as in `lengths`) goes before what the file
says; null, or left out, leaves it to the file. With `repeat` the file begins again when it has run out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchbook.errors import WorkloadError
from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.workloads import entries
from benchbook.measure.client.workloads.draw import draws, shuffled
from benchbook.measure.client.workloads.form import seed as seed_of
from benchbook.measure.client.workloads.lengths import lengths


def prompts(workload: Mapping[str, Any], count: int, seed: int, offset: int) -> list[Prompt]:
    """Entries `offset` to `offset + count` of the order. Raises WorkloadError where the file has too few."""
    found = _usable(workload)
    if offset + count > len(found) and not workload.get("repeat", False):
        raise WorkloadError(
            f"{workload['path']} has {len(found)} different prompts; {offset} were given out before and {count} more "
            "are asked for: give it more prompts, make the runs smaller, or set `repeat: true`"
        )
    order = shuffled(draws("file order", seed_of(workload, "seed_order")), range(len(found)))
    taken = [found[order[place % len(found)]] for place in range(offset, offset + count)]
    if workload.get("output_tokens") is None:
        asked = [tokens for entry in taken if (tokens := entry.output_tokens) is not None]
    else:
        drawn = lengths(workload["output_tokens"], draws("file output", seed), "output_tokens")
        asked = [next(drawn) for _ in taken]
    return [
        Prompt(entry.kind, (entry.value,), output_tokens, entry.tokens, entry.tools)
        for entry, output_tokens in zip(taken, asked, strict=True)
    ]


def count_in(workload: Mapping[str, Any]) -> int:
    """How many different prompts the file has. Raises WorkloadError where it cannot be read."""
    return len(_usable(workload))


def _usable(workload: Mapping[str, Any]) -> tuple[entries.Entry, ...]:
    if not isinstance(workload["path"], str) or not workload["path"]:
        raise WorkloadError(f"workload file: path is the path of a file, not {workload['path']!r}")
    path = Path(workload["path"])
    found = _read(path, *_state(path))
    if workload.get("output_tokens") is None and any(entry.output_tokens is None for entry in found):
        without = sum(entry.output_tokens is None for entry in found)
        raise WorkloadError(
            f"{path}: {without} of {len(found)} prompts do not say how many tokens to ask for; give output_tokens in "
            "the workload or with each prompt"
        )
    return found


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read ({error.strerror or error}); give a file of prompts") from None
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=1)
def _read(path: Path, size: int, changed_ns: int) -> tuple[entries.Entry, ...]:
    """A session takes run after run from one file; it is read again only when it has changed."""
    return entries.read(path)
