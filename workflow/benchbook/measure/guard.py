"""The dead man's switch: a small process that ends a session's server and client when the session itself is gone.

The session holds the other end of this process's standard input and writes `watch KERNEL_SESSION_ID` for each process
tree it starts and `done` once all are down. If the pipe closes without `done`, however the session ended (kill -9,
the kernel's out-of-memory killer), the trees are ended here. It runs in a kernel session of its own, so that a Ctrl-C
meant for the pipeline does not reach it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from benchbook.measure import processes

PATIENCE_S = 4.0


class Guard:
    """Context manager around the guard process: `watch` each tree, leave the context when all are down."""

    def __enter__(self) -> Guard:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        return self

    def watch(self, kernel_session: int) -> None:
        self._say(f"watch {kernel_session}")

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            with contextlib.suppress(OSError):  # the guard itself may be gone; the trees are down already
                self._say("done")
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()


def main() -> None:
    watched: list[int] = []
    for line in sys.stdin:
        word, _, argument = line.strip().partition(" ")
        if word == "done":
            return
        if word == "watch":
            watched.append(int(argument))
    processes.end(watched, PATIENCE_S)


if __name__ == "__main__":
    main()
