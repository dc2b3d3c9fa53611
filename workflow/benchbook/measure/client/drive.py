"""Keeps requests in flight from one process: closed loop, the next at once, or open loop, each when it is due."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import pickle
import socket
import ssl
import time
from array import array
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from benchbook.measure.client import raw
from benchbook.measure.client.connection import Connection
from benchbook.measure.client.pacer import Pacer
from benchbook.measure.client.request import Request
from benchbook.measure.client.tally import Tally
from benchbook.measure.client.tickets import Tickets
from benchbook.measure.client.watch import Watch, Watched

CONNECT_TIMEOUT_S = 10.0
IDLE_KEPT_S = 2.0  # uvicorn closes a connection that was idle for 5 s; one about to be closed must not get a request
SPARES = 4  # connections that an open loop has ready, so that a request that is due need not wait for one
QUIET_CHECK_TICKS = 20
QUIET_S = 0.25
SPOOL_BYTES_A_TICK = 1 << 19
TICKET_RETRY_S = 0.001

_now = time.perf_counter


@dataclass(frozen=True)
class Plan:
    """What one process does. `family`, `address`: of the server. `concurrency`: most requests in flight, None for no
    limit. `arrivals_s`: when each request of `indices` is due, seconds from the start; None is a closed loop, which
    takes its requests from `tickets`. `keep`: connections are used again. `read_gap_s`: the longest time without a
    byte."""

    requests: Sequence[Request]
    family: int
    address: tuple[object, ...]
    tls: ssl.SSLContext | None
    server_name: str
    concurrency: int | None
    arrivals_s: Sequence[tuple[int, float]] | None
    keep: bool
    read_gap_s: float


class Drive:
    """One process's share of a run. What each request brought is written to `spool` as it goes, one pickled Raw after
    the other, so that memory does not grow with the run."""

    def __init__(self, plan: Plan, tickets: Tickets, tally: Tally, spool: BinaryIO) -> None:
        self._plan, self._tickets, self._tally, self._spool = plan, tickets, tally, spool
        self._loop = asyncio.get_running_loop()
        self._active: set[Connection] = set()
        self._idle: deque[Connection] = deque()
        self._ended: deque[tuple[raw.Raw, list[bytes]]] = deque()
        self._waiting: deque[tuple[int, float]] = deque()
        self._connecting: set[asyncio.Task[None]] = set()
        self._sparing: set[asyncio.Task[None]] = set()
        self._sent_again: set[int] = set()
        self._fault: BaseException | None = None
        self._to_come = 0
        self._in_flight = self._finished_count = self._failed_count = self._reads = 0
        self._stopping = False
        self._done = asyncio.Event()
        self._ticks = 0
        self._parent = os.getppid()
        self._sockets: dict[Connection, socket.socket] = {}
        self._watch = Watch(self._loop, self._descriptors, self._tick)

    async def run(self, start: Callable[[], Awaitable[float]]) -> Watched | None:
        """Connect, wait for `start` to say when the run starts (perf_counter), send everything, wait for the end."""
        if self._plan.keep:
            await self._connect_ahead()
        gc.collect()
        gc.freeze()
        gc.disable()
        pacer: Pacer | None = None
        try:
            start_s = await start()
            await asyncio.sleep(max(0.0, start_s - _now()))
            self._watch.start()
            if self._plan.arrivals_s is None:
                for _ in range(self._plan.concurrency or 0):
                    self._next_of_slot(_now())
            elif not self._stopping:
                self._to_come = len(self._plan.arrivals_s)
                arrivals = deque((index, start_s + due_s) for index, due_s in self._plan.arrivals_s)
                pacer = Pacer(self._loop, [due_s for _, due_s in arrivals], lambda: self._arrive(arrivals))
                pacer.start()
            self._check_done()
            await self._done.wait()
            if self._fault is not None:
                raise self._fault
        finally:
            if pacer is not None:
                pacer.stop()
            self._watch.stop()
            gc.enable()
        for task in list(self._sparing):
            task.cancel()
        self._spool_ended(None)
        self._note_tally()
        for connection in list(self._sockets):
            connection.close()
        return self._watch.watched()

    def stop(self) -> None:
        """Send nothing more, and break off what is in flight; what has ended stays."""
        self._stopping = True
        self._to_come = 0
        self._waiting.clear()
        for task in [*self._connecting, *self._sparing]:
            task.cancel()
        for connection in list(self._active):
            connection.give_up(raw.INTERRUPTED, "the run was stopped")
        self._check_done()

    async def _connect_ahead(self) -> None:
        """Connections for the first wave, or the spares of an open loop, made before the run."""
        count = self._plan.concurrency or 0
        if self._plan.arrivals_s is not None:
            count = min(SPARES, count or SPARES, len(self._plan.arrivals_s))
        if self._stopping:
            return
        self._sparing.update(self._loop.create_task(self._connect_spare()) for _ in range(count))
        for done in await asyncio.gather(*self._sparing, return_exceptions=True):
            if isinstance(done, Exception):
                raise done
        self._sparing.clear()

    async def _connect_spare(self) -> None:
        """A connection for a request to come; where it cannot be made, that request will tell."""
        with contextlib.suppress(OSError):
            connection = await self._connect()
            connection.connect_s = None
            self._idle.append(connection)

    async def _connect(self) -> Connection:
        plan = self._plan
        began_s = _now()
        link = socket.socket(plan.family, socket.SOCK_STREAM)
        link.setblocking(False)
        try:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self._loop.sock_connect(link, plan.address)
                _, connection = await self._loop.create_connection(
                    lambda: Connection(self._finished, None if plan.tls else link),
                    sock=link, ssl=plan.tls, server_hostname=plan.server_name if plan.tls else None,
                )  # fmt: skip
        except BaseException:
            link.close()
            raise
        connection.connect_s = _now() - began_s
        self._sockets[connection] = link
        return connection

    def _next_of_slot(self, freed_s: float) -> None:
        """Closed loop: fill a slot that became free at `freed_s` with the next request, if there is one."""
        if self._stopping:
            self._check_done()
            return
        index = self._tickets.take()
        if index is None:
            if not self._tickets.exhausted:
                self._to_come += 1
                self._loop.call_later(TICKET_RETRY_S, self._ask_again, freed_s)
            self._check_done()
            return
        self._dispatch(index, freed_s)

    def _ask_again(self, freed_s: float) -> None:
        self._to_come = max(0, self._to_come - 1)
        self._next_of_slot(freed_s)

    def _arrive(self, arrivals: deque[tuple[int, float]]) -> None:
        """Open loop: dispatch what is due, or let it wait where as many as may be are in flight."""
        limit = self._plan.concurrency
        while arrivals and not self._stopping and arrivals[0][1] <= _now():
            index, due_s = arrivals.popleft()
            self._to_come -= 1
            if limit is not None and (self._in_flight >= limit or self._waiting):
                self._waiting.append((index, due_s))
            else:
                self._dispatch(index, due_s)

    def _dispatch(self, index: int, scheduled_s: float) -> None:
        self._in_flight += 1
        connection = self._kept()
        if connection is not None:
            self._send(connection, index, scheduled_s)
            if self._plan.arrivals_s is not None and not self._idle and not self._sparing:
                task = self._loop.create_task(self._connect_spare())
                self._sparing.add(task)
                task.add_done_callback(self._sparing.discard)
            return
        self._connect_for(index, scheduled_s)

    def _connect_for(self, index: int, scheduled_s: float) -> None:
        task = self._loop.create_task(self._connect_and_send(index, scheduled_s))
        self._connecting.add(task)
        task.add_done_callback(self._connected)

    def _kept(self) -> Connection | None:
        """A connection that may be used again, the one used last."""
        while self._idle:
            connection = self._idle.pop()
            if connection.open and _now() - connection.idle_since_s < IDLE_KEPT_S:
                return connection
            connection.close()
            self._sockets.pop(connection, None)
        return None

    def _send(self, connection: Connection, index: int, scheduled_s: float) -> None:
        self._watch.first_sent()
        self._active.add(connection)
        connection.send(self._plan.requests[index], index, scheduled_s)

    async def _connect_and_send(self, index: int, scheduled_s: float) -> None:
        try:
            connection = await self._connect()
        except ConnectionRefusedError:
            self._never_started(index, scheduled_s, raw.REFUSED, "nobody listens there")
        except TimeoutError:
            told = f"no connection within {CONNECT_TIMEOUT_S:.0f} s"
            self._never_started(index, scheduled_s, raw.UNREACHABLE, told)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise  # ours, not the server's
            self._never_started(index, scheduled_s, raw.UNREACHABLE, error.strerror or str(error))
        else:
            self._send(connection, index, scheduled_s)

    def _connected(self, task: asyncio.Task[None]) -> None:
        self._connecting.discard(task)
        if task.cancelled():
            self._in_flight -= 1
            self._check_done()
        elif (error := task.exception()) is not None:
            self._fault = error
            self._done.set()

    def _never_started(self, index: int, scheduled_s: float, ending: str, text: str) -> None:
        ended_s = _now()
        noted = raw.Raw(index, scheduled_s, None, None, None, array("d"), array("L"), b"", ended_s, ending, text)
        self._ended.append((noted, []))
        self._over(ended_s, well=False)

    def _finished(self, connection: Connection, ending: str, text: str) -> None:
        """A connection's request is over: keep what it brought, and free its slot after the reads that are pending.

        A server may close a kept connection while a request is on its way to it, which it then never reads: such a
        request is sent once more, on a new one.
        """
        self._active.discard(connection)
        closed_on_it = connection.used and not connection.times and ending in (raw.CLOSED, raw.RESET)
        if closed_on_it and connection.index not in self._sent_again and not self._stopping:
            self._sent_again.add(connection.index)
            self._sockets.pop(connection, None)
            connection.close()
            self._connect_for(connection.index, connection.scheduled_s)
            return
        connection.used = True
        well = ending == raw.WHOLE
        ended_s = connection.times[-1] if well else _now()
        noted = raw.Raw(
            connection.index, connection.scheduled_s, connection.started_s, connection.sent_s, connection.connect_s,
            connection.times, array("L"), b"", ended_s, ending, text,
        )  # fmt: skip
        self._ended.append((noted, connection.blocks))
        self._reads += len(connection.times)
        connection.connect_s = None
        if self._plan.keep and well and connection.open:
            self._idle.append(connection)
        else:
            connection.close()
            self._sockets.pop(connection, None)
        self._over(ended_s, well)

    def _over(self, ended_s: float, well: bool) -> None:
        self._in_flight -= 1
        self._finished_count += 1
        self._failed_count += not well
        self._watch.one_ended()
        if self._stopping:
            self._check_done()
        elif self._plan.arrivals_s is None:
            self._to_come += 1
            self._loop.call_soon(self._ask_again, ended_s)
        else:
            if self._waiting:
                self._loop.call_soon(self._dispatch_waiting)
            self._check_done()

    def _dispatch_waiting(self) -> None:
        while self._waiting and self._in_flight < (self._plan.concurrency or 0):
            self._dispatch(*self._waiting.popleft())
        self._check_done()

    def _check_done(self) -> None:
        if self._in_flight == 0 and self._to_come == 0 and not self._waiting:
            self._done.set()

    def _descriptors(self) -> list[int]:
        return [link.fileno() for link in list(self._sockets.values())]

    def _tick(self) -> None:
        self._ticks += 1
        try:
            self._spool_ended(SPOOL_BYTES_A_TICK)
        except OSError as error:  # a full disk: what it does not hold is lost, and a shorter run is none
            self._fault = self._fault or error
            self._done.set()
        if self._ticks % QUIET_CHECK_TICKS == 0:
            self._note_tally()
            self._look_for_quiet()
            if os.getppid() != self._parent:
                self.stop()

    def _look_for_quiet(self) -> None:
        """Look closely at requests that have gone quiet, and end those that have not had a byte for too long."""
        now_s = _now()
        for connection in [one for one in self._active if now_s - one.last_s() > QUIET_S]:
            connection.read_closely()
            if connection.active and now_s - connection.last_s() > self._plan.read_gap_s:
                connection.give_up(raw.READ_GAP, f"nothing came for {self._plan.read_gap_s:g} s")

    def _note_tally(self) -> None:
        reads = self._reads + sum(len(one.times) for one in self._active)
        self._tally.note(self._finished_count, self._failed_count, reads)

    def _spool_ended(self, most_bytes: int | None) -> None:
        """Join the reads of what ended and write it to the spool: all of it, or until `most_bytes` are written."""
        written = 0
        while self._ended and (most_bytes is None or written < most_bytes):
            noted, blocks = self._ended.popleft()
            whole = replace(noted, sizes=array("L", map(len, blocks)), data=b"".join(blocks))
            pickle.dump(whole, self._spool, protocol=5)
            written += len(whole.data)
