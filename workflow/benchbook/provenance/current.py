"""Whether what a report takes in is current: made from the files as they are now, by the code as it is now.

Snakemake compares times first. Files that were copied in with new times look current whatever made them, and a rerun
that was forced for one file leaves its neighbours as they were; a sidecar knows better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchbook.errors import StaleError
from benchbook.measure.store import sha256
from benchbook.provenance.code import closure, combined, fingerprint


def check(sidecars: Iterable[Mapping[str, Any]], root: Path) -> None:
    """StaleError for the first output whose inputs or code, as its sidecar has them, are others by now.

    Paths in sidecars start from `root`. What is furthest upstream is to come first, so that the cause is named.
    """
    for told in sidecars:
        why = _why_stale(told, root)
        if why:
            raise StaleError(
                f"{told['output']['path']} is stale: {why}. Make it again: "
                f"snakemake --cores 2 --forcerun {told['rule']} -- report"
            )


def _why_stale(told: Mapping[str, Any], root: Path) -> str:
    for path, digest in told["inputs"].items():
        file = root / path
        if not file.exists():
            return f"{path}, which it was made from, is gone"
        if _digest(file) != digest:
            return f"{path} is another file than the one it was made from"
    if _code(root / told["script"], root) != told["code_fingerprint"]:
        return f"{told['script']}, or a module behind it, was changed since"
    return ""


@cache
def _digest(file: Path) -> str:
    return sha256(file)


@cache
def _code(script: Path, root: Path) -> str:
    return combined(fingerprint(closure(script), root)) if script.exists() else ""
