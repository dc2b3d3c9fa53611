"""Stop the session when the pipeline is told to stop.

Snakemake waits for its running jobs when it gets SIGTERM, or SIGINT by itself and not from a terminal: a session would
go on measuring for as long as it takes. The kernel ends the session's processes when Snakemake is killed outright
(measure/interrupt.py, measure/guard.py); this covers the signals that Snakemake handles.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from benchbook.errors import SessionError

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

_lock: int | None = None


def stop_sessions_with_the_pipeline(results: Path) -> None:
    """Pass SIGINT and SIGTERM of this process on to its session jobs as SIGTERM, then handle them as before.

    Also takes the kernel lock on `results`: one pipeline per booking at a time. Unlike Snakemake's own lock it ends
    with the process, so that nothing has to be unlocked after a kill.
    """
    _take_lock(results)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _passing_on(signal.getsignal(number)))


def _take_lock(results: Path) -> None:
    global _lock
    results.mkdir(parents=True, exist_ok=True)
    _lock = os.open(results / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise SessionError(f"another snakemake works on {results}: wait for it, or stop it first.") from error


def _passing_on(before: Handler) -> Callable[[int, FrameType | None], None]:
    def handle(number: int, frame: FrameType | None) -> None:
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                if "session.py" in " ".join(child.cmdline()):
                    child.terminate()
        if callable(before):
            before(number, frame)

    return handle
