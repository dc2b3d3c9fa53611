"""The two load clients as processes, watched from outside: both by the same means, whatever they say of themselves."""

from __future__ import annotations

import bisect
import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import benchbook
from benchbook.engines import vllm
from benchbook.prepare import model
from known_server import MODEL

NATIVE, VLLM_BENCH = "native", "vllm-bench"
WATCH_S = 0.01
LOOK_AROUND_S = 0.1
VOCABULARY = 4096
LONGEST_PROMPT = 131072


@dataclass(frozen=True)
class Load:
    """What a client is to send. `rate`: requests/s, None for a closed loop; `concurrency` None for no cap.

    `workload`: random, or agentic, which is the native client's. Tokens per request.
    """

    requests: int
    concurrency: int | None
    input_tokens: int = 16
    output_tokens: int = 500
    seed: int = 1
    workload: str = "random"
    rate: float | None = None
    arrivals: str = "constant"
    read_gap_s: float | None = None


@dataclass(frozen=True)
class Ran:
    """A client's process, from launch to exit; times in time.perf_counter() seconds.

    `exit_code` None: it was still running at the deadline and was killed. `result`: its JSON, None when it wrote none.
    `cpu`: (time, CPU seconds so far) of all its processes. `memory`: (time, MB): the largest resident set so far
    (VmHWM) of any one process, or the proportional sets (Pss) of all that live now where that is more, so that a page
    which processes share counts once. `written_s`: when its result was written, None when it was not. `said`: the end
    of what it printed.
    """

    client: str
    launched_s: float
    exited_s: float
    exit_code: int | None
    result: dict[str, Any] | None
    cpu: tuple[tuple[float, float], ...]
    memory: tuple[tuple[float, float], ...]
    processes: int
    written_s: float | None
    said: str

    def cpu_between(self, begin_s: float, end_s: float) -> float:
        """CPU seconds between two times; linear between two looks."""
        return self._cpu_at(end_s) - self._cpu_at(begin_s)

    def peak_mb(self, until_s: float = math.inf) -> float:
        return max(mb for time_s, mb in self.memory if time_s <= until_s)

    def _cpu_at(self, time_s: float) -> float:
        place = bisect.bisect_left(self.cpu, (time_s, 0.0))
        if place == 0:
            return self.cpu[0][1]
        if place == len(self.cpu):
            return self.cpu[-1][1]
        (before_s, before), (after_s, after) = self.cpu[place - 1], self.cpu[place]
        return before + (after - before) * (time_s - before_s) / (after_s - before_s)


class Clients:
    """Both clients, ready to be launched against a server on this machine. `python`: of vLLM's environment."""

    def __init__(self, python: Path, folder: Path):
        self._python, self._folder, self._number = python, folder, count(1)
        self._tokenizer = folder / "tokenizer"
        model.write({"model_type": "llama", "vocab_size": VOCABULARY, "max_position_embeddings": LONGEST_PROMPT},
                    self._tokenizer)  # fmt: skip

    def run(
        self, client: str, port: int, load: Load, *, deadline_s: float = 300.0, watch_s: float = WATCH_S
    ) -> Ran:
        """Launch a client, watch it every `watch_s` seconds until it is over, and read its result."""
        out = self._folder / f"{next(self._number):03d}-{client}"
        out.mkdir()
        command = self._native(port, load, out) if client == NATIVE else self._vllm_bench(port, load, out)
        environment = {**os.environ, **(self._native_environment() if client == NATIVE else vllm.OFFLINE | vllm.QUIET)}
        return _watched(client, command, environment, out / "result.json", deadline_s, watch_s)

    @staticmethod
    def _native_environment() -> dict[str, str]:
        return {"PYTHONPATH": str(Path(benchbook.__file__).parents[1])}

    @staticmethod
    def _native(port: int, load: Load, out: Path) -> list[str]:
        flags: dict[str, Any] = {
            "endpoint": "chat" if load.workload == "agentic" else "completions", "model": MODEL,
            "workload": load.workload, "requests": load.requests, "concurrency": load.concurrency,
            "input-tokens": load.input_tokens if load.workload == "random" else None,
            "output-tokens": load.output_tokens, "seed": load.seed, "processes": 1, "rate": load.rate,
            "arrivals": load.arrivals if load.rate else None, "read-gap": load.read_gap_s, "out": out,
        }  # fmt: skip
        return [sys.executable, "-m", "benchbook", "load", f"http://127.0.0.1:{port}", *vllm.flags(flags)]

    def _vllm_bench(self, port: int, load: Load, out: Path) -> list[str]:
        assert load.rate is None and load.concurrency is not None and load.workload == "random"
        return [
            str(self._python), str(vllm.INSIDE / "vllm_launch.py"), "bench", "serve",
            *vllm.bench_argv(
                port=port, served_name=MODEL, tokenizer=str(self._tokenizer), input_tokens=load.input_tokens,
                output_tokens=load.output_tokens, num_prompts=load.requests, concurrency=load.concurrency,
                seed=load.seed, result=out / "result.json",
            ),
        ]  # fmt: skip


def _watched(
    client: str, command: Sequence[str], environment: Mapping[str, str], result: Path, deadline_s: float, watch_s: float
) -> Ran:
    with tempfile.TemporaryFile() as said:
        launched_s = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                   env=dict(environment), start_new_session=True)  # fmt: skip
        family = _Family(process.pid)
        cpu, memory, killed = [], [(launched_s, 0.0)], False
        try:
            while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                now_s = time.perf_counter()
                cpu.append((now_s, family.cpu_s()))
                if now_s - memory[-1][0] > LOOK_AROUND_S:
                    memory.append((now_s, family.memory_mb()))
                if now_s - launched_s > deadline_s:
                    killed = True
                    break
                time.sleep(watch_s)
            cpu.append((time.perf_counter(), family.cpu_s()))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        exited_s = time.perf_counter()
        said.seek(0)
        text = said.read().decode(errors="replace")[-2000:]
    return Ran(
        client, launched_s, exited_s, None if killed else process.returncode,
        json.loads(result.read_text(encoding="utf-8")) if result.exists() else None, tuple(cpu), tuple(memory),
        len(family.peaks_kb), _written_s(result), text,
    )  # fmt: skip


def _written_s(path: Path) -> float | None:
    """When a file was last written, on the clock of time.perf_counter()."""
    return path.stat().st_mtime - time.time() + time.perf_counter() if path.exists() else None


class _Family:
    """A process and its descendants: CPU time and peak memory of each, kept after its end."""

    def __init__(self, pid: int):
        self._pid = pid
        self._cpu_s: dict[int, float] = {pid: 0.0}
        self.peaks_kb: dict[int, int] = {pid: 0}

    def memory_mb(self) -> float:
        """As Ran.memory; finds new descendants too."""
        alive = [self._pid]
        for pid in alive:
            with contextlib.suppress(OSError):
                for task in os.listdir(f"/proc/{pid}/task"):
                    alive += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        for pid in alive:
            self._cpu_s.setdefault(pid, 0.0)
            self.peaks_kb[pid] = max(self.peaks_kb.get(pid, 0), _kb(pid, "status", "VmHWM"))
        together_kb = sum(_kb(pid, "smaps_rollup", "Pss") for pid in alive) if len(alive) > 1 else 0
        return max(together_kb, *self.peaks_kb.values()) * 1024 / 1e6

    def cpu_s(self) -> float:
        for pid in self._cpu_s:
            with contextlib.suppress(OSError):
                # The CPU clock of another process, all its threads, as clock_getcpuclockid(3) forms its number.
                self._cpu_s[pid] = max(self._cpu_s[pid], time.clock_gettime((~pid << 3) | 2))
        return sum(self._cpu_s.values())


def _kb(pid: int, file: str, field: str) -> int:
    """A field (KiB) of a file in /proc/PID; 0 when the process is gone or has no memory any more.

    Not wait4's ru_maxrss: that counts what the launching process held before the program was its own.
    """
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1])
    return 0
