from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml
from benchbook.prepare import model
from project import ROOT
from real_engine import ENGINE

sys.path.insert(0, str(ROOT / "tests" / "session"))  # specs.py serves both


@pytest.fixture(scope="session")
def engine_python() -> Path:
    """The interpreter of the engine environment that `make test` built."""
    python = ENGINE / "bin" / "python"
    if not any(ENGINE.glob("built-*.json")):
        pytest.fail(f"{ENGINE} is not built: run `make test`, which builds it")
    return python


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = yaml.safe_load((ROOT / "config/models/tiny-llama.yaml").read_text())["config"]
    folder = tmp_path_factory.mktemp("model") / "tiny"
    model.write(config, folder)
    return folder
