"""The processes of a run: forked from the one that has made the requests, watched until they are done."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from benchbook.errors import LoadError
from benchbook.measure.client import answer, request, tally
from benchbook.measure.client.answer import Answer
from benchbook.measure.client.drive import Drive, Plan
from benchbook.measure.client.endpoints import ENDPOINTS, Endpoint
from benchbook.measure.client.load import Load
from benchbook.measure.client.tally import Progress, Tally
from benchbook.measure.client.tickets import Dispenser, Tickets
from benchbook.measure.client.watch import Watched

try:
    import uvloop
except ImportError:
    uvloop = None  # type: ignore[assignment]

STOPS = (signal.SIGINT, signal.SIGTERM)
START_AHEAD_S = 0.005
LOOK_EVERY_S = 0.1
_MOMENT = struct.Struct("<d")


@dataclass(frozen=True)
class Ran:
    """What became of a Load. `answers`: those of the requests that were sent, by their place in the list.

    `t_start_s`, `t_end_s`: Unix time of the run's start and its last request's end; `m_start_s`, `m_end_s`: the same on
    the clock of all other times, time.perf_counter(). `watched`: what each process saw of itself, None for one that
    sent nothing. `loop`: uvloop or asyncio. `received_bytes`: of all responses. `parse_s`: time from the last end until
    all answers were read. `stopped`: the run was asked to stop before its end.
    """

    answers: list[Answer]
    t_start_s: float
    t_end_s: float
    m_start_s: float
    m_end_s: float
    watched: list[Watched | None]
    loop: str
    received_bytes: int
    parse_s: float
    stopped: bool


def run(
    load: Load, told: Callable[[Progress], None] | None = None, stops: Callable[[], int] | None = None
) -> Ran:
    """Send `load` and read what came back.

    `told` is called about ten times a second. `stops` says how often the run has been asked to stop: once, and what is
    in flight is broken off, what has ended is kept; twice, and KeyboardInterrupt is raised with nothing kept.
    LoadError when the server's name is not known or a process of ours died.
    """
    endpoint = ENDPOINTS[load.endpoint]
    family, address = load.target.address()
    requests = request.build(
        load.prompts, load.target, endpoint, load.model, load.sampling, load.request_id, load.keep_connections
    )
    count = max(1, min(load.processes, len(requests), load.concurrency or load.processes))
    if load.arrivals_s is not None and load.concurrency is not None:
        count = 1  # processes that split the limit would hold requests back while others have room
    dispenser = Dispenser(len(requests))
    with tempfile.TemporaryDirectory(prefix="benchbook-load-") as folder:
        crew = _Crew(count, Path(folder))
        crew.start(lambda process: _work(
            _plan(load, requests, family, address, process, count), load, endpoint, dispenser, crew, process
        ))  # fmt: skip
        os.close(dispenser.reading_end)
        try:
            t_start_s, m_start_s = crew.go(stops)
            stopped = crew.wait(dispenser, told, stops)
        finally:
            dispenser.close()
            crew.end()
        left = crew.collect()
    answers = sorted((one for share in left for one in share.answers), key=lambda one: one.index)
    m_end_s = max((one.ended_s for one in answers), default=m_start_s)
    return Ran(
        answers, t_start_s, t_start_s + m_end_s - m_start_s, m_start_s, m_end_s, [one.watched for one in left],
        "asyncio" if uvloop is None else "uvloop", sum(one.received_bytes for one in left),
        max(one.read_by_s for one in left) - m_end_s, stopped,
    )  # fmt: skip


def _plan(
    load: Load, requests: Sequence[request.Request], family: int, address: tuple[object, ...], process: int, count: int
) -> Plan:
    arrivals = None
    if load.arrivals_s is not None:
        arrivals = list(enumerate(load.arrivals_s))[process::count]
    share = None
    if load.concurrency is not None:
        most = min(load.concurrency, len(requests))
        share = most // count + (process < most % count)
    return Plan(
        requests, family, address, load.target.tls_context(), load.target.host, share, arrivals, load.keep_connections,
        load.read_gap_s,
    )  # fmt: skip


@dataclass(frozen=True)
class _Left:
    """What a process leaves behind; `read_by_s`: when it had read its answers (perf_counter)."""

    answers: list[Answer]
    received_bytes: int
    watched: Watched | None
    read_by_s: float


class _Crew:
    """The forked processes, the pipes between them and this one, and the files that they leave their answers in."""

    def __init__(self, count: int, folder: Path) -> None:
        self._folder = folder
        self._ready_read, self._ready_write = os.pipe()
        self._go_read, self._go_write = os.pipe()
        self._memory = tally.memory(count)
        self._count = count
        self._running: dict[int, int] = {}
        self._stopped = False

    def start(self, work: Callable[[int], None]) -> None:
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            for process in range(self._count):
                pid = os.fork()
                if pid == 0:
                    status = 1
                    try:
                        work(process)
                        status = 0
                    except BaseException:
                        traceback.print_exc()
                    finally:
                        sys.stderr.flush()
                        os._exit(status)
                self._running[pid] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.close(self._ready_write)
        os.close(self._go_read)

    def go(self, stops: Callable[[], int] | None) -> tuple[float, float]:
        """Wait until every process has its connections, tell all the same start: Unix time and perf_counter.

        LoadError when one of them dies meanwhile: the others would wait for the start without end.
        """
        ready = 0
        while ready < self._count:
            self._pass_on(stops)
            if not select.select([self._ready_read], [], [], LOOK_EVERY_S)[0]:
                if (dead := self._dead()) is not None:
                    raise LoadError(f"process {dead + 1} of {self._count} of the load client ended before the run "
                                    "began. See the lines above for why, and run it again.")  # fmt: skip
                continue
            block = os.read(self._ready_read, self._count)
            if not block:
                break
            ready += len(block)
        m_start_s = time.perf_counter() + START_AHEAD_S
        t_start_s = time.time() + START_AHEAD_S
        with contextlib.suppress(BrokenPipeError):
            os.write(self._go_write, _MOMENT.pack(m_start_s) * self._count)
        return t_start_s, m_start_s

    def wait(
        self, dispenser: Dispenser, told: Callable[[Progress], None] | None, stops: Callable[[], int] | None
    ) -> bool:  # fmt: skip
        """Until every process has ended; True when the run was asked to stop."""
        while True:
            dispenser.fill()
            ended = bool(select.select([self._ready_read], [], [], LOOK_EVERY_S)[0])
            self._pass_on(stops)
            if told:
                told(tally.total(self._memory, self._count))
            if ended:
                return self._stopped

    def end(self) -> None:
        """End what still runs, and take leave of every process."""
        if not select.select([self._ready_read], [], [], 0)[0]:
            self._signal(signal.SIGKILL)
        self._endings = {process: os.waitpid(pid, 0)[1] for pid, process in self._running.items()}
        os.close(self._ready_read)
        os.close(self._go_write)

    def collect(self) -> list[_Left]:
        """What the processes left; LoadError when one of them did not come to its end."""
        left = []
        for process, status in self._endings.items():
            if status != 0:
                code = os.waitstatus_to_exitcode(status)
                raise LoadError(f"process {process + 1} of {self._count} of the load client ended with {code}; its "
                                "part of the run is lost. See the lines above for why, and run it again.")  # fmt: skip
            with open(self.file(process), "rb") as file:
                left.append(pickle.load(file))
        return left

    def file(self, process: int) -> Path:
        return self._folder / f"answers-{process}"

    def tally(self, process: int) -> Tally:
        return Tally(self._memory, process)

    def close_parents_ends(self) -> None:
        """In a forked process: or a pipe would stay open when its only other user is gone."""
        os.close(self._ready_read)
        os.close(self._go_write)

    async def started(self) -> float:
        """In a forked process: say that it is ready, and wait for the start."""
        os.write(self._ready_write, b".")
        os.set_blocking(self._go_read, False)
        while True:
            try:
                told = os.read(self._go_read, _MOMENT.size)
            except BlockingIOError:
                await asyncio.sleep(0.001)
                continue
            if not told:
                raise LoadError("the load client's first process is gone")
            return float(_MOMENT.unpack(told)[0])

    def _pass_on(self, stops: Callable[[], int] | None) -> None:
        """Have the processes stop when that was asked for, once; raises KeyboardInterrupt when it was asked again."""
        asked = stops() if stops else 0
        if asked > 1:
            raise KeyboardInterrupt
        if asked and not self._stopped:
            self._stopped = True
            self._signal(signal.SIGTERM)

    def _dead(self) -> int | None:
        """A process that has ended; it is left for `end` to take leave of."""
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return next((process for pid, process in self._running.items() if os.waitid(os.P_PID, pid, look)), None)

    def _signal(self, number: int) -> None:
        for pid in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _work(plan: Plan, load: Load, endpoint: Endpoint, dispenser: Dispenser, crew: _Crew, process: int) -> None:
    """What a forked process does: send and note, then read what it noted and leave the answers in its file."""
    dispenser.close()
    crew.close_parents_ends()
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    with tempfile.TemporaryFile(prefix="benchbook-spool-") as spool:
        with asyncio.Runner(loop_factory=None if uvloop is None else uvloop.new_event_loop) as runner:
            watched = runner.run(_drive(plan, Tickets(dispenser.reading_end), crew, process, spool))
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)
        spool.seek(0)
        _read_answers(spool, load, endpoint, watched, crew.file(process))


async def _drive(plan: Plan, tickets: Tickets, crew: _Crew, process: int, spool: BinaryIO) -> Watched | None:
    drive = Drive(plan, tickets, crew.tally(process), spool)
    for number in STOPS:
        asyncio.get_running_loop().add_signal_handler(number, drive.stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    return await drive.run(crew.started)


def _read_answers(spool: BinaryIO, load: Load, endpoint: Endpoint, watched: Watched | None, path: Path) -> None:
    answers, received_bytes = [], 0
    with contextlib.suppress(EOFError):
        while True:
            noted = pickle.load(spool)
            received_bytes += len(noted.data)
            answers.append(answer.read(noted, endpoint, load.prompts[noted.index].output_tokens, load.exact))
    with open(path, "wb") as file:
        pickle.dump(_Left(answers, received_bytes, watched, time.perf_counter()), file, protocol=5)
