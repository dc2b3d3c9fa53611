"""Wakes an event loop at given moments, to a tenth of a millisecond; a timer of uvloop keeps whole milliseconds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence


class Pacer:
    """Calls `each` in `loop` at every one of `moments` (time.perf_counter(), ascending), never before it; one call may
    serve several moments that lie close together. Sleeps in a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, moments: Sequence[float], each: Callable[[], None]) -> None:
        self._loop, self._moments, self._each = loop, moments, each
        self._over = threading.Event()
        self._reading_end, self._writing_end = os.pipe()
        os.set_blocking(self._writing_end, False)
        self._thread = threading.Thread(target=self._sleep_and_wake, daemon=True)

    def start(self) -> None:
        self._loop.add_reader(self._reading_end, self._wake)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._loop.remove_reader(self._reading_end)
        os.close(self._reading_end)
        os.close(self._writing_end)

    def _sleep_and_wake(self) -> None:
        for moment in self._moments:
            while (left_s := moment - time.perf_counter()) > 0:
                if self._over.wait(left_s):
                    return
            with contextlib.suppress(BlockingIOError):  # full: a wake is on its way
                os.write(self._writing_end, b".")

    def _wake(self) -> None:
        os.read(self._reading_end, 4096)
        self._each()
