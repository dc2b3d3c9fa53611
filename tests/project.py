"""A copy of the project in a folder of its own, with a small booking, to run Snakemake in as a user would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--cores", "2"]
# One process for API server and engine: with the load client that makes two, which every machine has cores for.
ALONE = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
PAGE = ("reports/small/report.html", "results/small/acceptance.json")  # the report without its PDF, which takes longest


class Project:
    """The copy in `folder`. `booking` replaces keys of a small booking on the fake engine."""

    def __init__(self, folder: Path, engine_env: dict[str, str] | None = None, **booking: Any):
        self.folder = folder
        folder.mkdir(parents=True)
        shutil.copy(ROOT / "Snakefile", folder)
        (folder / "profiles").symlink_to("workflow/profiles")
        skip = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in ("workflow", "scripts", "config", "recordings", "reports/templates", "reports/style",
                     "reports/script"):  # fmt: skip
            shutil.copytree(ROOT / name, folder / name, ignore=skip)
        fake = {"kind": "vllm", "python": str(ROOT / "tests" / "fake" / "python"), "env": ALONE | (engine_env or {})}
        self.write("config/engines/fake.yaml", fake)
        self.write("config/config.yaml", {"booking": "small"})
        self.booking = {
            "title": "a small booking", "node": "local-cpu", "model": "tiny-llama", "engine": "fake",
            "arms": [{"name": "one"}, {"name": "two", "args": {"enforce-eager": True}}],
            "workload": {"input_tokens": 8, "output_tokens": 8, "concurrency": [1, 2], "waves": 4, "repeats": 2},
            "warmup": {"rule": "two-agree", "max_readings": 3, "two_agree": {"tolerance": 0.5}},
            "schedule": {"sessions_per_arm": 1},
            "limits": {"ready_s": 60, "teardown_s": 5},
            "telemetry": {"sample_hz": 10},
        } | booking  # fmt: skip
        self.write("config/bookings/small.yaml", self.booking)

    def write(self, name: str, value: Any) -> None:
        (self.folder / name).write_text(yaml.safe_dump(value), encoding="utf-8")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Snakemake in a process group of its own, output kept for `output`."""
        log = open(self.folder / "snakemake.out", "a", encoding="utf-8")
        return subprocess.Popen([*SNAKEMAKE, *arguments], cwd=self.folder, stdout=log, stderr=subprocess.STDOUT,
                                text=True, start_new_session=True)  # fmt: skip

    def run(self, *arguments: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*SNAKEMAKE, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=timeout_s)  # fmt: skip

    def output(self) -> str:
        return (self.folder / "snakemake.out").read_text(encoding="utf-8")

    def sessions(self) -> list[Path]:
        """Folders of all sessions, by store and age."""
        return sorted((self.folder / "results").glob("*/raw/*/*/"))

    def processes(self) -> list[str]:
        """Command lines of living processes that belong to this copy: by their environment or their arguments."""
        needle = str(self.folder).encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                command = (entry / "cmdline").read_bytes()
                cwd = os.readlink(entry / "cwd").encode()
                if command and (needle in command or needle in (entry / "environ").read_bytes() or cwd == needle):
                    found.append(command.replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found


def wait_for(condition: Callable[[], Any], timeout_s: float, what: str) -> float:
    """Seconds until `condition` held; fails the test after `timeout_s`."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < timeout_s, f"{what}: not within {timeout_s:.0f} s"
        time.sleep(0.1)
    return time.monotonic() - started
