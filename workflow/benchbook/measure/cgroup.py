"""This process's control group: its memory events, the only sure sign of a host out-of-memory kill (engines.md 2), and
its CPU quota."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def memory_events() -> dict[str, int] | None:
    """oom_kill (count), current and peak (bytes), each only where the kernel tells; None without a memory cgroup."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    folders = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    memory = next((path for names, path in folders.items() if "memory" in names.split(",")), None)
    if memory is not None:
        folder = ROOT / "memory" / memory.lstrip("/")
        return _read(folder, "memory.oom_control", "memory.usage_in_bytes", "memory.max_usage_in_bytes")
    if "" in folders:
        return _read(ROOT / folders[""].lstrip("/"), "memory.events", "memory.current", "memory.peak")
    return None


def cpu_quota_cores() -> float | None:
    """Cores' worth of CPU time that this process's control group and those above it allow; None without a limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    folders = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    first = next((path for names, path in folders.items() if "cpu" in names.split(",")), None)
    base = ROOT / "cpu" if first is not None else ROOT
    place = base / (first if first is not None else folders.get("", "/")).lstrip("/")
    quotas = [_quota(folder) for folder in (place, *place.parents) if folder.is_relative_to(base)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(folder: Path) -> float | None:
    """A folder's own quota: cpu.max of version 2, cpu.cfs_quota_us of version 1."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(quota) / int(period) if quota.strip() not in ("max", "-1") else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _read(folder: Path, events: str, current: str, peak: str) -> dict[str, int] | None:
    found = {}
    try:
        for line in (folder / events).read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                found["oom_kill"] = int(value)
    except (OSError, ValueError):
        pass
    for name, file in (("current", current), ("peak", peak)):
        try:
            found[name] = int((folder / file).read_text())
        except (OSError, ValueError):
            continue
    return found or None
