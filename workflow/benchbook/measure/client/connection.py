"""One connection to the server: sends a request, and notes what comes and when, without reading it.

While a stream runs, a chunk costs one look at the clock, two appends and one comparison; everything that its bytes mean
is found out after the run (answer.py). Only the response's head is read at once, for how its end is told.
"""

from __future__ import annotations

import asyncio
import socket
import time
from array import array
from collections.abc import Callable
from typing import cast

from benchbook.measure.client import http_message, raw
from benchbook.measure.client.request import Request

_now = time.perf_counter
_LAST_CHUNK = b"0\r\n\r\n"
_LAST_CHUNK_AND_BEFORE = b"\r\n0\r\n\r\n"
_SHORTEST = len(_LAST_CHUNK_AND_BEFORE)

Finished = Callable[["Connection", str, str], None]


class Connection(asyncio.Protocol):
    """A connection that carries one request at a time. `finished(connection, ending, text)` is called at its end.

    `plain`: the socket when it carries no TLS; the first bytes are then handed to the kernel at once and not when the
    event loop comes to it, so that a request's timer holds no other request's sending.
    """

    __slots__ = (
        "_blocks_append", "_careful", "_finished", "_plain", "_read_closely_at", "_remaining", "_times_append",
        "_transport", "active", "blocks", "connect_s", "idle_since_s", "index", "keeps_alive", "open", "scheduled_s",
        "sent_s", "started_s", "times", "used",
    )  # fmt: skip

    def __init__(self, finished: Finished, plain: socket.socket | None) -> None:
        self._finished = finished
        self._plain = plain
        self.active = self.open = self.used = False
        self.connect_s: float | None = None
        self.idle_since_s = _now()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=0)
        self.open = True

    def send(self, request: Request, index: int, scheduled_s: float) -> None:
        """Start `request`; the timer starts just before its first byte is handed over."""
        self.index, self.scheduled_s = index, scheduled_s
        self.times, self.blocks = array("d"), list[bytes]()
        self._times_append, self._blocks_append = self.times.append, self.blocks.append
        self._careful, self._remaining, self.keeps_alive = True, _HEAD_TO_COME, True
        self._read_closely_at = 0
        self.sent_s = None
        self.active = True
        parts = request.parts
        if self._plain is None:
            self.started_s = _now()
            self._transport.writelines(parts)
        else:
            self.started_s = _now()
            try:
                taken = self._plain.send(parts[0]) if len(parts) == 1 else self._plain.sendmsg(parts)
            except BlockingIOError:
                taken = 0
            except OSError as error:
                self._transport.abort()
                self._end(raw.RESET, _words(error))
                return
            if taken < request.size:
                self._transport.writelines(_after(parts, taken))
        if self._transport.get_write_buffer_size() == 0:
            self.sent_s = _now()

    def resume_writing(self) -> None:
        if self.active and self.sent_s is None:
            self.sent_s = _now()

    def data_received(self, data: bytes) -> None:
        if not self.active:
            self._transport.abort()  # bytes that answer nothing: the connection cannot be used any more
            self.open = False
            return
        self._times_append(_now())
        self._blocks_append(data)
        if self._careful or data.endswith(_LAST_CHUNK) or len(data) < _SHORTEST:
            self._look(len(data))

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        if not self.active:
            return
        if error is None and self.blocks and self._careful and self._remaining == _UNTIL_CLOSE:
            self._end(raw.WHOLE, "")
        else:
            self._end(raw.CLOSED if error is None else raw.RESET, "" if error is None else _words(error))

    def give_up(self, ending: str, text: str) -> None:
        """Break the connection off and end the request as `ending` says."""
        self._transport.abort()
        self.open = False
        self._end(ending, text)

    def close(self) -> None:
        if self.open:
            self._transport.close()
            self.open = False

    def last_s(self) -> float:
        """When something last happened: a read, or the sending."""
        return self.times[-1] if self.times else self.started_s

    def read_closely(self) -> None:
        """End the request when its message is complete in a form that the look at each read does not know (trailers,
        bytes after the end), or cannot be read; for a connection that has gone quiet, and once for what has come."""
        if len(self.times) == self._read_closely_at:
            return
        self._read_closely_at = len(self.times)
        message = http_message.read(b"".join(self.blocks))
        if message.whole or message.fault is not None:
            self.keeps_alive = False
            self._end(raw.WHOLE, "")

    def _look(self, length: int) -> None:
        """Find out whether the message is complete; reads its head first."""
        if self._remaining == _HEAD_TO_COME:
            came = b"".join(self.blocks)
            head = http_message.head(came)
            if not isinstance(head, http_message.Head):
                return
            self.keeps_alive, length = head.keeps_alive, len(came) - head.size
            if "chunked" in head.transfer:
                self._remaining, self._careful = _CHUNKED, False
            elif head.length is None:
                self._remaining, self.keeps_alive = _UNTIL_CLOSE, False
            else:
                self._remaining = head.length
        if self._remaining >= 0:
            self._remaining -= length
            if self._remaining <= 0:
                self._end(raw.WHOLE, "")
        elif self._remaining == _CHUNKED and self._tail() == _LAST_CHUNK_AND_BEFORE:
            self._end(raw.WHOLE, "")

    def _tail(self) -> bytes:
        tail = b""
        for block in reversed(self.blocks):
            tail = block[-_SHORTEST:] + tail
            if len(tail) >= _SHORTEST:
                break
        return tail[-_SHORTEST:]

    def _end(self, ending: str, text: str) -> None:
        self.active = False
        self.idle_since_s = _now()
        if self.sent_s is None:  # answered before it was sent whole: what is left of it would come before the next one
            self._transport.abort()
            self.open = False
        if not self.keeps_alive:
            self.close()
        self._finished(self, ending, text)


_HEAD_TO_COME, _CHUNKED, _UNTIL_CLOSE = -1, -2, -3


def _after(parts: tuple[bytes, ...], taken: int) -> list[memoryview]:
    """What is left of `parts` after their first `taken` bytes, without copying."""
    left = []
    for part in parts:
        if taken >= len(part):
            taken -= len(part)
            continue
        left.append(memoryview(part)[taken:])
        taken = 0
    return left


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
