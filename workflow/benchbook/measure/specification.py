"""The written specification of a session, and the hash of all in it that bears on the figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.errors import SessionError
from benchbook.measure.store import read_json

NATIVE, VLLM_BENCH = "native", "vllm-bench"  # the load clients that a specification may name
SPEC_SCHEMA = 2
DRAFT = "{draft_model}"  # in a server's flags, the directory of the specification's draft model
HASH_LENGTH = 12
UNHASHED = ("position", "positions", "limits", "hypotheses", "spec_hash")


def spec_hash(spec: Mapping[str, Any]) -> str:
    """Deadlines, the place's number and what is expected do not bear on the figures; everything else does."""
    return digest({name: value for name, value in spec.items() if name not in UNHASHED})


def digest(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]


def load(path: Path) -> dict[str, Any]:
    """The specification in `path`; SessionError when it is none, of another version, or was edited by hand."""
    spec = read_json(path)
    if not isinstance(spec, dict) or "plan" not in spec:
        raise SessionError(f"{path} is no session specification. Write one with `benchbook spec BOOKING --out DIR`.")
    if spec.get("schema") != SPEC_SCHEMA:
        raise SessionError(
            f"{path}: specification version {spec.get('schema')!r}, this Benchbook reads {SPEC_SCHEMA}. "
            "Write it again with the same Benchbook that measures."
        )
    if spec.get("spec_hash") != spec_hash(spec):
        raise SessionError(
            f"{path} was changed after it was written: its hash no longer fits. Change the booking file and write it "
            "again with `benchbook spec`."
        )
    return spec
