"""The server's process: launch in a process group of its own, wait until it is ready and ours, take it down."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from benchbook.measure import processes, web


class Server:
    """One boot of a server.

    `log` receives standard output and error whole. `served_name` is unique to the session: a server that answers
    /v1/models with it is this one and no other that happens to listen on the port.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path, port: int, served_name: str):
        self.port = port
        self.served_name = served_name
        self._log = open(log, "wb")
        self._process = processes.start(
            command, environment, self._log, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT
        )
        self.kernel_session = self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def serving(self) -> bool:
        """Whether it is alive and says so itself; an API server can outlive its engine and fail every request."""
        try:
            return self.alive() and web.get(self.port, "/health")[0] == 200
        except web.UNREACHABLE:
            return False

    def ending(self) -> str:
        """How the server ended, in words."""
        code = self._process.poll()
        if code is None:
            return "stopped answering /health"
        if code < 0:
            known = {number.value: number.name for number in signal.Signals}
            return f"ended by signal {-code} ({known.get(-code, 'no name')})"
        return f"exited with {code}"

    def _descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self._process.pid).children(recursive=True)
        except psutil.Error:
            return []

    def exit_code(self) -> int | None:
        return self._process.poll()

    def wait_ready(self, deadline_s: float, tick: Callable[[float], None]) -> str | None:
        """Wait until /health says 200 and /v1/models names us; None when ready, else why not, in words.

        `tick` is called about twice a second with the seconds waited.
        """
        started = time.monotonic()
        while True:
            waited = time.monotonic() - started
            if not self.alive():
                return f"the server {self.ending()} after {waited:.0f} s, before it was ready"
            if self._answers():
                return None
            if waited > deadline_s:
                return f"the server was not ready within {deadline_s:.0f} s (limits.ready_s)"
            tick(waited)
            time.sleep(0.25)

    def _answers(self) -> bool:
        return self.serving() and self.served_name in web.model_ids(self.port) and self.alive()

    def stop(self, patience_s: float, hurry: Callable[[], bool]) -> bool:
        """Take the whole process tree down; True when nothing is left of it. `hurry` as in processes.end.

        Descendants that made themselves a kernel session of their own are asked for before their parents are gone.
        """
        descendants = self._descendants()
        gone = processes.end([self.kernel_session], patience_s, hurry=hurry)
        for process in descendants:
            with contextlib.suppress(psutil.Error):
                process.kill()
        gone &= not psutil.wait_procs(descendants, timeout=3)[1]
        try:
            self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            gone = False
        if not self._log.closed:
            os.fsync(self._log.fileno())
            self._log.close()
        return gone
