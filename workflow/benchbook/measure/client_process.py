"""A load client's process: started once a session, given one benchmark at a time.

Benchbook's own client runs in the session's interpreter, vllm-bench in an engine environment; both take a JSON object a
line and answer with one (engines/inside/vllm_bench.py, measure/client/serve.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbook.measure import processes

WORKFLOW = Path(__file__).resolve().parents[2]
READY_S = 180.0
AFTER_SERVER_DEATH_S = 10.0


def native_command() -> list[str]:
    """Benchbook's own client in this very interpreter; the current folder is not on its path."""
    return [sys.executable, "-P", "-m", "benchbook.measure.client.serve"]


def native_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """`inherited` with this package first on the path, however the session itself found it."""
    path = [str(WORKFLOW), inherited.get("PYTHONPATH")]
    return {**inherited, "PYTHONPATH": os.pathsep.join(folder for folder in path if folder)}


class ClientGone(Exception):
    """The client's process ended, or did not answer in time; the text says which."""


class Client:
    """Driver of one load client. `log` receives what it prints outside of runs, appended."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path):
        self._log = open(log, "ab")
        self._process = processes.start(
            command, environment, self._log, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log
        )
        self.kernel_session = self._process.pid
        self._unread = b""

    def wait_ready(self) -> float:
        """Wait for the imports; seconds they took. ClientGone when they fail."""
        return float(self._reply(READY_S, None)["import_s"])

    def run(
        self, request: Mapping[str, Any], log: Path, timeout_s: float, server_alive: Callable[[], bool]
    ) -> dict[str, Any]:
        """Run one benchmark and return the client's reply. ClientGone on a time-out or when the client died.

        `request` is what this kind of client is asked with; `log` receives what it prints during the run.

        When the server dies meanwhile the client gets AFTER_SERVER_DEATH_S more to see its requests fail.
        """
        assert self._process.stdin is not None
        line = json.dumps({**request, "log": str(log)}) + "\n"
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except OSError as error:
            raise ClientGone(f"the load client is gone ({error})") from error
        return self._reply(timeout_s, server_alive)

    def _reply(self, timeout_s: float, server_alive: Callable[[], bool] | None) -> dict[str, Any]:
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout_s
        server_dead = False
        while b"\n" not in self._unread:
            if select.select([self._process.stdout], [], [], 0.2)[0]:
                block = self._process.stdout.read1(65536)  # type: ignore[attr-defined]
                if not block:
                    raise ClientGone(f"the load client ended with {self._process.wait()}")
                self._unread += block
            if server_alive is not None and not server_dead and not server_alive():
                server_dead = True
                deadline = min(deadline, time.monotonic() + AFTER_SERVER_DEATH_S)
            if time.monotonic() > deadline:
                raise ClientGone(
                    "the load client was still waiting for answers after the server had died"
                    if server_dead else f"not finished within {timeout_s:.0f} s"
                )  # fmt: skip
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            reply: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise ClientGone(f"the load client answered with something else: {line[:100]!r}") from error
        return reply

    def stop(self) -> bool:
        """End the client; True when nothing is left of it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        if not processes.wait_until_gone([self.kernel_session], 2.0):
            processes.end([self.kernel_session], 2.0)
        gone = not processes.members([self.kernel_session])
        if gone:
            self._process.wait()
        self._log.close()
        return gone
