"""fakeserver.c as a Python object: built, started on a core of its own, and asked for the truth that it keeps.

    with KnownServer("--ttft", "50", "--tpot", "10") as server:
        ...  # load server.url
        truth = server.truth()
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

SOURCE = Path(__file__).with_name("fakeserver.c")
START_S = 10.0
PRIORITY = 50
MODEL = "tiny"


@dataclass(frozen=True)
class Served:
    """One request as the server had it; seconds on the clock of time.perf_counter().

    `seen_s`: its first byte was read; `arrival_s`: it was read whole; `first_s`, `last_s`: its first and last chunk
    were handed to the kernel, None when none was; `end_s`: it was over. `aborted`: it did not end well. `size_bytes`:
    of its head and body.
    """

    seen_s: float
    arrival_s: float
    first_s: float | None
    last_s: float | None
    end_s: float
    chunks: int
    tokens: int
    blocked_sends: int
    aborted: bool
    size_bytes: int

    @property
    def ttft_s(self) -> float | None:
        return None if self.first_s is None else self.first_s - self.arrival_s

    @property
    def tpot_s(self) -> float | None:
        """None below two tokens."""
        if self.first_s is None or self.last_s is None or self.tokens < 2:
            return None
        return (self.last_s - self.first_s) / (self.tokens - 1)


@dataclass(frozen=True)
class Truth:
    """`requests` in order of arrival. How late the server's steps were, ms. `peak`: most requests running at once."""

    requests: tuple[Served, ...]
    late_mean_ms: float
    late_p99_ms: float
    late_max_ms: float
    peak: int


def read_truth(text: str) -> Truth:
    """The server's /truth.csv; its columns stand in fakeserver.c."""
    head, *rows = text.splitlines()
    facts = dict(word.split("=", 1) for word in head.removeprefix("#").split())
    served = []
    for row in rows:
        arrival, first, last, end, chunks, tokens, blocked, aborted, seen, size = row.split(",")
        served.append(
            Served(
                seen_s=float(seen), arrival_s=float(arrival), first_s=float(first) or None, last_s=float(last) or None,
                end_s=float(end), chunks=int(chunks), tokens=int(tokens), blocked_sends=int(blocked),
                aborted=aborted == "1", size_bytes=int(size),
            )
        )  # fmt: skip
    return Truth(
        requests=tuple(sorted(served, key=lambda request: request.arrival_s)),
        late_mean_ms=float(facts["late_mean_us"]) / 1000,
        late_p99_ms=float(facts["late_p99_us"]) / 1000,
        late_max_ms=float(facts["late_max_us"]) / 1000,
        peak=int(facts["peak"]),
    )


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="known-server-")


@functools.cache
def program() -> Path:
    """The compiled server, kept as long as this process lives. SystemExit when there is no compiler or it fails."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise SystemExit("The known server is written in C: install gcc (Debian: apt-get install gcc libc6-dev).")
    built_as = Path(_folder().name) / "fakeserver"
    built = subprocess.run([compiler, "-O2", "-o", built_as, SOURCE], capture_output=True, text=True)
    if built.returncode:
        raise SystemExit(f"{SOURCE} cannot be compiled:\n{built.stderr}")
    return built_as


class KnownServer:
    """A running server. `flags` as in fakeserver.c, without --port and --model.

    `place` says where it runs: on the last core that we may use, by SCHED_FIFO where that is allowed, so that what the
    client does cannot make it late.
    """

    def __init__(self, *flags: str):
        self._flags = flags

    def __enter__(self) -> KnownServer:
        self._process = subprocess.Popen(
            [program(), "--port", "0", "--model", MODEL, *self._flags], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said.startswith("listening on "):
            self._stop()
            raise SystemExit("The known server did not start; what it said stands above.")
        self.port = int(said.split()[-1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.place = _own_core(self._process.pid)
        self._get("/health")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=START_S) as answer:
            text: str = answer.read().decode()
            return text

    def reset(self) -> None:
        """Forget what was served."""
        self._get("/reset")

    def truth(self) -> Truth:
        """What was served since the last reset."""
        return read_truth(self._get("/truth.csv"))


def _own_core(pid: int) -> str:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return "on the only core, with the client"
    os.sched_setaffinity(pid, {cores[-1]})
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(PRIORITY))
        return f"on core {cores[-1]}, SCHED_FIFO"
    return f"on core {cores[-1]}, without SCHED_FIFO, which is not allowed here: a busy client may make it late"
