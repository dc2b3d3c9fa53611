"""The client's watch over itself: how late its event loop runs, and how much waits unread in its sockets."""

from __future__ import annotations

import array
import asyncio
import fcntl
import random
import termios
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

PERIOD_S = 0.01
QUEUES_EVERY_S = 0.1

_now = time.perf_counter


@dataclass(frozen=True)
class Watched:
    """What one process saw of itself between its first request's sending and its last one's end.

    `lags_ms`: how much later than asked each sleep of 10 ms ended. `queued_bytes`: bytes that waited in all receive
    queues together, at moments drawn at random, ten a second on average. `cpu_s` in `span_s` seconds.
    """

    lags_ms: list[float]
    queued_bytes: list[int]
    cpu_s: float
    span_s: float


class Watch:
    """Ticks while the loop runs. `each_tick` is called at every tick, `descriptors` gives the sockets in use.

    The queues are looked at from a thread of their own: a timer of the loop fires on whole milliseconds, and against a
    server that steps in whole milliseconds it would see the same phase of the step again and again.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, descriptors: Callable[[], Iterable[int]], each_tick: Callable[[], None]
    ) -> None:
        self._loop, self._descriptors, self._each_tick = loop, descriptors, each_tick
        self._lags_ms: list[float] = []
        self._queued_bytes: list[int] = []
        self._began: tuple[float, float] | None = None
        self._ended: tuple[float, float] | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._over = threading.Event()
        self._looker = threading.Thread(target=self._look_at_queues, daemon=True)

    def start(self) -> None:
        self._looker.start()
        self._ask_for_tick()

    def stop(self) -> None:
        self._over.set()
        if self._handle is not None:
            self._handle.cancel()
            self._looker.join()

    def first_sent(self) -> None:
        if self._began is None:
            self._began = _now(), time.process_time()

    def one_ended(self) -> None:
        self._ended = _now(), time.process_time()

    def watched(self) -> Watched | None:
        """None when no request was sent."""
        if self._began is None or self._ended is None:
            return None
        return Watched(
            self._lags_ms, self._queued_bytes, self._ended[1] - self._began[1], self._ended[0] - self._began[0]
        )

    def _ask_for_tick(self) -> None:
        self._due_s = _now() + PERIOD_S
        self._handle = self._loop.call_later(PERIOD_S, self._tick)

    def _tick(self) -> None:
        if self._began is not None:
            self._lags_ms.append(1000 * max(0.0, _now() - self._due_s))
        self._each_tick()
        self._ask_for_tick()

    def _look_at_queues(self) -> None:
        draw = random.Random()
        while not self._over.wait(draw.expovariate(1 / QUEUES_EVERY_S)):
            if self._began is not None:
                self._queued_bytes.append(sum(map(_unread_bytes, self._descriptors())))


def _unread_bytes(descriptor: int) -> int:
    """Bytes that the kernel holds for a socket and nobody has read (ioctl FIONREAD); 0 for one that is closed."""
    count = array.array("i", [0])
    try:
        fcntl.ioctl(descriptor, termios.FIONREAD, count)
    except (OSError, ValueError):
        return 0
    return count[0]
