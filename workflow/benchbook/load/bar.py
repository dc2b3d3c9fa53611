"""Progress of a run on a terminal: one line that is written over; elsewhere a line every ten seconds."""

from __future__ import annotations

import time
from typing import TextIO

from benchbook.measure.client.tally import Progress

WIDTH = 24
LINE_EVERY_S = 10.0
REDRAW_EVERY_S = 0.2


class Bar:
    """Called with a Progress as often as one likes; `close` shows the last one and ends the line."""

    def __init__(self, requests: int, out: TextIO) -> None:
        self._requests, self._out = requests, out
        self._terminal = out.isatty()
        self._began_s = self._told_s = time.monotonic()
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self._last, now_s = progress, time.monotonic()
        if now_s - self._told_s >= (REDRAW_EVERY_S if self._terminal else LINE_EVERY_S):
            self._told_s = now_s
            self._write(progress, now_s - self._began_s)

    def close(self) -> None:
        if self._terminal:
            if self._last is not None:
                self._write(self._last, time.monotonic() - self._began_s)
            self._out.write("\n")
            self._out.flush()

    def _write(self, progress: Progress, elapsed_s: float) -> None:
        line = text(progress, self._requests, elapsed_s)
        self._out.write(f"\r\x1b[K{line}" if self._terminal else f"{line}\n")
        self._out.flush()


def text(progress: Progress, requests: int, elapsed_s: float) -> str:
    """One line: bar, requests over and failed, chunks a second so far, and what is left at this pace."""
    share = progress.finished / requests if requests else 1.0
    filled = round(share * WIDTH)
    line = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {progress.finished} of {requests} requests"
    if progress.failed:
        line += f", {progress.failed} failed"
    if elapsed_s > 0 and progress.chunks:
        line += f", {progress.chunks / elapsed_s:,.0f} reads/s"
    line += f", {elapsed_s:.0f} s"
    if 0 < progress.finished < requests:
        line += f", about {elapsed_s * (1 - share) / share:.0f} s left"
    return line
