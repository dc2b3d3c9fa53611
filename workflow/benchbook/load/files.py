"""What a load leaves in its folder: the result, and its requests and chunks as tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.errors import LoadError

RESULT, REQUESTS, CHUNKS = "result.json", "requests.parquet", "chunks.parquet"


def refuse_to_overwrite(folder: Path) -> None:
    """LoadError when the folder holds a result already: nothing measured is ever overwritten."""
    for name in (RESULT, REQUESTS, CHUNKS):
        if (folder / name).exists():
            raise LoadError(f"{folder / name} exists already, and nothing measured is overwritten; name another --out.")


def write(folder: Path, value: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESULT).write_text(json.dumps(value), encoding="utf-8")


def without_lists(value: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what has an entry for each request."""
    return {name: item for name, item in value.items() if not isinstance(item, list) and name != "benchbook"}
