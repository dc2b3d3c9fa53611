"""What only the node knows of the requests that a session is to send: the model's vocabulary, where a file lies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.errors import SessionError, StoreError
from benchbook.measure.client.workloads import token_range
from benchbook.measure.store import read_json, sha256


def resolved(spec: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The workload of a specification with its token ids, null where the booking could not know them, and with the path
    of its file from `root`.

    SessionError when the file is not the one that the specification was written for.
    """
    value = dict(spec["workload"])
    if "token_ids" in value and value["token_ids"] is None:
        value["token_ids"] = list(token_range(_vocabulary(spec["model"], root)))
    if value["kind"] == "file":
        path = root / value["path"]
        if not path.is_file() or sha256(path) != spec["prompts_sha256"]:
            raise SessionError(
                f"{path} is not the file of prompts that the specification was written for. Put that one there, or "
                "write the specification again with `benchbook spec`."
            )
        value["path"] = str(path)
    return value


def _vocabulary(model: Mapping[str, Any], root: Path) -> int | None:
    """Size of the vocabulary by the model's config.json; None for a model that is not a folder, or does not say."""
    if not model["local"]:
        return None
    try:
        size = read_json(root / model["path"] / "config.json")["vocab_size"]
    except (StoreError, KeyError, TypeError):
        return None
    return size if isinstance(size, int) else None
