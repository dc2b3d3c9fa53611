"""Hands out a run's requests, each to one process only: a pipe of their places in the list."""

from __future__ import annotations

import os
import select
import struct
from collections import deque

_TICKET = struct.Struct("<q")
_AT_ONCE = 512  # 4,096 bytes: a pipe takes so many whole or not at all


class Tickets:
    """The reading end. A read of one ticket is whole, or there is none: the kernel never splits so few bytes."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)
        self.exhausted = False

    def take(self) -> int | None:
        """The next request's place. None: there is none now, or, when `exhausted` is True, none to come."""
        if self.exhausted:
            return None
        try:
            ticket = os.read(self._descriptor, _TICKET.size)
        except BlockingIOError:
            return None
        if not ticket:
            self.exhausted = True
            return None
        return int(_TICKET.unpack(ticket)[0])


class Dispenser:
    """The writing end, kept filled by the process that waits for the others."""

    def __init__(self, count: int) -> None:
        self.reading_end, self._writing_end = os.pipe()
        os.set_blocking(self._writing_end, False)
        self._left = deque(range(count))
        self.fill()

    def fill(self, wait_s: float = 0.0) -> None:
        """Write as many tickets as the pipe takes, waiting up to `wait_s` for room; after the last one, close."""
        while self._left:
            block = [self._left[place] for place in range(min(_AT_ONCE, len(self._left)))]
            try:
                os.write(self._writing_end, b"".join(map(_TICKET.pack, block)))
            except BlockingIOError:
                if wait_s <= 0 or not select.select([], [self._writing_end], [], wait_s)[1]:
                    return
                wait_s = 0.0
                continue
            for _ in block:
                self._left.popleft()
        self.close()

    def close(self) -> None:
        if self._writing_end >= 0:
            os.close(self._writing_end)
            self._writing_end = -1
