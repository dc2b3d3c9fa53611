"""The state of the code that wrote an archive: commit and changes, as git tells, and the packages beside it."""

from __future__ import annotations

import subprocess
from importlib.metadata import distributions
from pathlib import Path
from typing import Any


def revision(root: Path) -> dict[str, Any]:
    """commit ("" outside a repository or without git), dirty (None then), diff of the tracked files to that commit."""
    commit = _git(root, "rev-parse", "HEAD").strip()
    if not commit:
        return {"commit": "", "dirty": None, "diff": ""}
    diff = _git(root, "diff", "HEAD", "--no-color", "--no-ext-diff")
    return {"commit": commit, "dirty": bool(diff), "diff": diff}


def packages() -> list[str]:
    """name==version of every installed package."""
    found = {f"{item.metadata['Name']}=={item.version}" for item in distributions()}
    return sorted(found, key=str.lower)


def _git(root: Path, *words: str) -> str:
    try:
        answer = subprocess.run(["git", "-C", str(root), *words], capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.decode("utf-8", "surrogateescape")
