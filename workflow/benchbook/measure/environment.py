"""What a session ran on: packages, Python, kernel, CPU, memory, GPUs and driver; and whose it was."""

from __future__ import annotations

import getpass
import json
import os
import platform
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from benchbook.measure import cgroup
from benchbook.measure.gpu import Gpus

_ASK = (
    "import importlib.metadata as m, json, platform, sys;"
    "print(json.dumps({'python': platform.python_version(), 'executable': sys.executable,"
    " 'packages': {d.metadata['Name']: d.version for d in m.distributions()}}))"
)


def interpreter(python: str | None, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Python version and installed packages of an engine's interpreter; None for a command prefix, or if it fails."""
    if python is None:
        return None
    try:
        answer = subprocess.run(
            [python, "-c", _ASK], env=dict(environment), capture_output=True, text=True, timeout=60, check=True,
            start_new_session=True,
        )
        described: dict[str, Any] = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    described["packages"] = dict(sorted(described["packages"].items(), key=lambda item: item[0].lower()))
    return described


def node(cuda_visible: str | None = None, cuda_order: str | None = None) -> dict[str, Any]:
    """Kernel, CPU, usable cores, cgroup CPU quota (cores), memory (bytes), GPUs.

    `cuda_visible` and `cuda_order`: the server's CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, None when unset.
    """
    gpus = Gpus(cuda_visible, cuda_order)
    try:
        return {
            "kernel": platform.release(),
            "system": platform.system(),
            "machine": platform.machine(),
            "cpu_model": _cpu_model(),
            "cores": len(os.sched_getaffinity(0)),
            "cores_online": os.cpu_count(),
            "cpu_quota_cores": cgroup.cpu_quota_cores(),
            "memory_bytes": psutil.virtual_memory().total,
            "load_1min": os.getloadavg()[0],
            "pipeline_python": platform.python_version(),
            "gpu": gpus.describe(),
        }
    finally:
        gpus.close()


def identity() -> dict[str, str | None]:
    """User, host and home, which masking.py covers wherever they stand before anything of the session is published."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = None
    return {"user": user, "host": socket.gethostname(), "home": str(Path.home())}


def _cpu_model() -> str | None:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return None
