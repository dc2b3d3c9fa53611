from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchbook import rawdata
from benchbook.measure import processes, session
from benchbook.measure.progress import Told
from benchbook.measure.store import read_json


@pytest.fixture(autouse=True)
def own_node_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for a booking that is being measured on this machine."""
    monkeypatch.setattr(session, "NODE_LOCK", tmp_path / "node.lock")


@pytest.fixture
def measured(tmp_path: Path) -> Callable[[dict[str, Any]], tuple[dict[str, Any], list[rawdata.RawSession]]]:
    """Measure a specification into a fresh store; its manifest and sessions, after checking that nothing is left."""
    store = tmp_path / "store"

    def run(spec: dict[str, Any]) -> tuple[dict[str, Any], list[rawdata.RawSession]]:
        manifest = session.measure(spec, store, tmp_path, Told(io.StringIO()))
        trees = [read_json(path) for path in store.glob("*/processes/*.json")]
        assert [pid for tree in trees for pid in processes.left_of(tree)] == []
        return manifest, rawdata.sessions(manifest, store)

    return run
