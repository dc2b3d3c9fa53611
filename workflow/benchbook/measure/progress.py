"""What a person who waits sees: which session, run n of N, seconds so far, expected end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TextIO


class Told:
    """A text stream that writes to several; one that is gone (a closed terminal) does not disturb the others."""

    def __init__(self, *streams: TextIO):
        self._streams = list(streams)

    def write(self, text: str) -> int:
        for stream in list(self._streams):
            try:
                stream.write(text)
                stream.flush()
            except (OSError, ValueError):
                self._streams.remove(stream)
        return len(text)

    def flush(self) -> None:
        """Every write is flushed already."""


class Progress:
    """Prints one line per event, with the session's place in the booking before it.

    The expected end counts what is left of this session at the pace of the runs so far, and the sessions after it at
    this session's own length; before the first run ended nothing is promised.
    """

    def __init__(self, spec: Mapping[str, Any], runs: int, out: Told):
        self._out = out
        self._runs = runs
        self._sessions_after = spec["positions"] - spec["position"]
        self._head = f"[session {spec['position']}/{spec['positions']} {spec['arm']}]"
        self._started = time.monotonic()
        self._first_run: float | None = None
        self._said_booting = 0.0

    def say(self, text: str) -> None:
        self._out.write(f"{self._head} {text}\n")

    def booting(self, waited_s: float) -> None:
        if waited_s - self._said_booting >= 10:
            self._said_booting = waited_s
            self.say(f"booting, {waited_s:.0f} s so far")

    def measuring(self) -> None:
        """The first warmup begins."""
        self._first_run = time.monotonic()

    def run_done(self, number: int, text: str) -> None:
        now = time.monotonic()
        line = f"run {number} of {self._runs}, {text}; {now - self._started:.0f} s so far"
        if self._first_run is not None and number:
            left = (now - self._first_run) / number * (self._runs - number)
            whole = now - self._started + left
            end = time.localtime(time.time() + left + self._sessions_after * whole)
            line += f", measuring ends about {time.strftime('%H:%M:%S', end)}"
        self.say(line)
