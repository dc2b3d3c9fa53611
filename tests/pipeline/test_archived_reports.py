"""The reports of hired nodes that lie in this repository: each is still what its archive gives, by the code in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.recorded
ROOT = Path(__file__).parents[2]
KEPT = ("h200-capture", "h200-cpus", "h200-failures", "h200-sweep")


@pytest.mark.parametrize("booking", KEPT)
def test_a_kept_report_is_what_its_archive_gives(booking):
    told = subprocess.run(
        [sys.executable, "-m", "benchbook", "verify", f"reports/{booking}", "--archived-code", "--json"], cwd=ROOT,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    found = json.loads(told.stdout)
    assert told.returncode == 0 and found["ok"], found["findings"][:5]
    assert found["values"] > 1000 and found["members"] > 200 and found["source"].endswith(".zip")
    (archive,) = (ROOT / f"reports/{booking}").glob("*.zip")
    assert archive.stat().st_size < 8e6
