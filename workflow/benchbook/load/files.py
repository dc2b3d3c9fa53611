"""What a load leaves in its folder: the result, and its requests and chunks as tables."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.errors import LoadError

RESULT, REQUESTS, CHUNKS = "result.json", "requests.parquet", "chunks.parquet"


def refuse_to_overwrite(folder: Path) -> None:
    """LoadError when the folder holds a result already, or cannot be written: to be asked before anything is sent."""
    for name in (RESULT, REQUESTS, CHUNKS):
        if (folder / name).exists():
            raise LoadError(f"{folder / name} exists already, and nothing measured is overwritten; name another --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise LoadError(f"{folder} cannot be written ({error.strerror or error}); name another --out.") from error


def write(folder: Path, value: Mapping[str, Any]) -> None:
    """Write a run's result, and tables `requests` and `chunks` of it (schema.py); pandas is large, and loaded last."""
    (folder / RESULT).write_text(json.dumps(value), encoding="utf-8")
    from benchbook.derive import requests

    told = value["benchbook_client"]
    spec = {"slot": "", "arm": "", "workload": {"output_tokens": None}}
    record = {"run": folder.name, "concurrency": value["max_concurrency"] or value["num_prompts"], "repeat": 1,
              "t_start_s": told["t_start_s"], "m_start_s": told["m_start_s"]}  # fmt: skip
    requests.table(requests.rows("", spec, record, value)).to_parquet(folder / REQUESTS)
    requests.chunks("", spec, record, value).to_parquet(folder / CHUNKS)


def without_lists(value: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what has an entry for each request."""
    return {name: item for name, item in value.items() if not isinstance(item, list) and name != "benchbook"}
