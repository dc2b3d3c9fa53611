"""Processes of a session: found by their kernel session id, never by name."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any


def start(
    command: Sequence[str], environment: Mapping[str, str], log: IO[bytes], **streams: Any
) -> subprocess.Popen[bytes]:
    """Start `command` in a kernel session of its own, with Popen's `streams`; the process's number is the session's.

    OSError when it cannot be started; `log` is closed then.
    """
    try:
        return subprocess.Popen(command, env=dict(environment), start_new_session=True, **streams)
    except OSError:
        log.close()
        raise


def members(session_ids: Iterable[int]) -> list[int]:
    """Process ids that belong to one of the kernel sessions `session_ids`; a zombie is gone already.

    A server started in a session of its own keeps its children in it even when its first process has died
    (engines.md 2: after SIGKILL of the API server the engine's processes live on).
    """
    wanted = set(session_ids)
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) in wanted and fields[0] not in "ZX":
            found.append(int(entry))
    return found


def identity(leader: int) -> dict[str, Any]:
    """What a later start needs to know a process tree again: kernel session, its leader's start, the system's boot."""
    return {"kernel_session": leader, "started_ticks": _started_ticks(leader), "boot_id": _boot_id()}


def left_of(tree: Mapping[str, Any]) -> list[int]:
    """Living processes of a tree that `identity` described; none when its number belongs to somebody else by now.

    By the kernel session and not by environment or name: vLLM's processes overwrite both with their titles.
    """
    leader = tree["kernel_session"]
    if tree["boot_id"] != _boot_id() or _started_ticks(leader) not in (None, tree["started_ticks"]):
        return []
    return members([leader])


def _started_ticks(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return None


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def end(
    session_ids: Iterable[int], patience_s: float, kill_wait_s: float = 5.0, hurry: Callable[[], bool] = bool
) -> bool:
    """Ask every process of these kernel sessions to stop, kill what is left after `patience_s`; True when none is.

    `hurry` is asked meanwhile: True ends the patience at once.
    """
    wanted = list(session_ids)
    for signal_number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, kill_wait_s)):
        left = members(wanted)
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal_number)
        if wait_until_gone(wanted, wait_s, hurry if signal_number == signal.SIGTERM else bool):
            return True
    return not members(wanted)


def wait_until_gone(session_ids: Iterable[int], timeout_s: float, hurry: Callable[[], bool] = bool) -> bool:
    wanted = list(session_ids)
    deadline = time.monotonic() + timeout_s
    while members(wanted):
        if time.monotonic() > deadline or hurry():
            return False
        time.sleep(0.05)
    return True
