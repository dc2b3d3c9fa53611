"""The provenance sidecar `X.prov.json` beside every table and figure X: what it was made from, by which code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchbook.errors import StoreError
from benchbook.measure.store import sha256

SCHEMA = 1
Sidecar = dict[str, Any]


def path_of(output: Path) -> Path:
    return output.with_name(output.name + ".prov.json")


def read(output: Path) -> dict[str, Any]:
    """The sidecar of `output`; StoreError when it has none."""
    path = path_of(output)
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{output} has no readable {path.name}: delete both and run snakemake again.") from error
    return value


def check(output: Path) -> None:
    """StoreError when `output` has a sidecar and is not the file that it was written beside."""
    if path_of(output).exists() and read(output)["output"]["sha256"] != sha256(output):
        raise StoreError(f"{output} was changed after its rule wrote it. Delete it and run snakemake again.")


def write(
    output: Path, *, rule: str, script: str, params: Mapping[str, Any], inputs: Iterable[Path],
    code: Mapping[str, str], code_fingerprint: str, run_ids: Iterable[str],
) -> None:  # fmt: skip
    """Write the sidecar of the finished file `output`. Nothing in it depends on when or where it is written."""
    value = {
        "schema": SCHEMA,
        "rule": rule,
        "script": script,
        "params": dict(params),
        "run_ids": sorted(set(run_ids)),
        "inputs": {str(path): sha256(path) for path in inputs},
        "output": {"path": str(output), "sha256": sha256(output)},
        "code": dict(code),
        "code_fingerprint": code_fingerprint,
    }
    path_of(output).write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
