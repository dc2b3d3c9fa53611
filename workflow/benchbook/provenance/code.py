"""The code that a rule's script depends on, found from its imports, and its fingerprint.

Snakemake compares `script:` files by time and does not see imported modules at all, so a rule lists its script and
every module of the package that it imports, directly or not, as inputs: an edit reruns exactly what depends on it.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def closure(script: Path) -> list[Path]:
    """`script` first, then each module of the package it reaches, packages' __init__ included, sorted by path."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        for module in _imported(waiting.pop()):
            if module not in found:
                found.add(module)
                waiting.append(module)
    return [script, *sorted(found - {script})]


def run_what_is_fingerprinted() -> None:
    """Have `python` in the scripts' shells be this interpreter, and have it import this very package.

    Rules call `python -P`: without -P scripts/ would be on sys.path, where statistics.py hides the standard library's.
    """
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in found if path)


def fingerprint(files: Iterable[Path], root: Path) -> dict[str, str]:
    """sha256 of each file by its path below `root` (as it is when it lies elsewhere)."""
    return {
        str(path.resolve().relative_to(root.resolve()) if path.resolve().is_relative_to(root.resolve()) else path):
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }  # fmt: skip


def combined(hashes: dict[str, str]) -> str:
    """One hash over many files: their paths and contents, in the order of their paths."""
    text = "\n".join(f"{digest}  {path}" for path, digest in sorted(hashes.items()))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _imported(file: Path) -> frozenset[Path]:
    """Modules of the package that `file` imports, wherever in it the import stands."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found |= _files(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= _files(node.module)
            for alias in node.names:
                found |= _files(f"{node.module}.{alias.name}")
    return frozenset(found)


def _files(dotted: str) -> set[Path]:
    """Files that `import dotted` runs: the packages' __init__ on the way and the module; none outside the package."""
    parts = dotted.split(".")
    if parts[0] != PACKAGE.name:
        return set()
    found = {PACKAGE / "__init__.py"}
    place = PACKAGE
    for part in parts[1:]:
        if (place / f"{part}.py").exists():
            found.add(place / f"{part}.py")
            break
        if not (place / part / "__init__.py").exists():
            break
        place = place / part
        found.add(place / "__init__.py")
    return found
