"""Build an engine's own virtual environment from its lock file, apart from the pipeline's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchbook.errors import SessionError
from benchbook.measure import environment, store

_SAY_EVERY_S = 15.0


def build(lock: Path, stamp: Path, log: Path) -> None:
    """Make the folder of `stamp` a virtual environment with exactly the packages of `lock`; write `stamp` last.

    pip takes its index settings from its own environment variables and files. A folder without the stamp is built
    anew. One builder at a time: two bookings may ask for the same environment. SessionError when pip fails, with its
    last words.
    """
    folder = stamp.parent
    with store.locked(folder.with_name(folder.name + ".lock"), sys.stderr, f"Waiting: {folder} is being built."):
        if not stamp.exists():
            _build(lock, stamp, log)


def _build(lock: Path, stamp: Path, log: Path) -> None:
    folder = stamp.parent
    shutil.rmtree(folder, ignore_errors=True)
    wanted = sum(1 for line in lock.read_text(encoding="utf-8").splitlines() if "==" in line)
    print(f"Engine environment {folder.name}: installing {wanted} packages.", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8") as file:
        code = _watch([str(python), "-m", "pip", "install", "--no-deps", "--no-input", "-r", str(lock)], file.fileno())
    if code != 0:
        last = [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("ERROR")]
        raise SessionError(
            f"engine environment {folder.name}: pip could not install {lock} ({last[-1] if last else f'exit {code}'}). "
            f"See {log}; for a package from another index set PIP_EXTRA_INDEX_URL (README, Engine environments)."
        )
    described = environment.interpreter(str(python), os.environ)
    stamp.write_text(json.dumps(described, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _watch(command: list[str], log: int) -> int:
    started = time.monotonic()
    said = started
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    while True:
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            if time.monotonic() - said >= _SAY_EVERY_S:
                said = time.monotonic()
                print(f"  still installing, {said - started:.0f} s so far", file=sys.stderr, flush=True)
        except BaseException:
            process.terminate()
            raise
