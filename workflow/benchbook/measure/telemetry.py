"""Samples of the node, the processes and the server's /metrics while a session runs.

telemetry.jsonl holds one JSON object a line: `t` Unix time, `m` monotonic time (the clock of the client's
start_times), and by `src`
    cpu      `per`: percent busy of each core since the sample before
    proc     `procs`: [pid, role (server | client | pipeline), name, CPU seconds so far, resident bytes]
    nvml     one GPU, fields of gpu.Gpus.sample; none on a node without
    nvml_fine  one GPU, fields of gpu.Gpus.fine: its energy counter and what the driver sampled itself
    cgroup   oom_kill, current, peak
    metrics  `v`: every gauge and counter of /metrics by full name, histograms without their buckets; timed midway
             between asking and the answer
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from benchbook.measure import cgroup, processes, store, web
from benchbook.measure.cost import Cost
from benchbook.measure.gpu import Gpus

FLUSH_EVERY = 16
_LEFT_OUT = ("_bucket", "_created")


def parse_metrics(text: str) -> dict[str, float]:
    """Gauges and counters of a Prometheus text page by their full name with labels; no buckets, no _created."""
    values = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        family, labelled, _ = line.partition("{")
        if labelled and family.endswith(_LEFT_OUT):
            continue
        name, _, value = line.rpartition(" ")
        if name.partition("{")[0].endswith(_LEFT_OUT):
            continue
        try:
            values[name] = float(value)
        except ValueError:
            continue
    return values


class Sampler:
    """Context manager that samples into `path` from entering to leaving.

    `roles` maps the kernel session id of a process tree to its role; it may grow while the sampler runs. `port` is
    scraped once it is set.
    """

    def __init__(self, path: Path, sample_hz: float, metrics_hz: float):
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._period_s = 1 / sample_hz
        self._metrics_period_s = 1 / metrics_hz
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._lines = 0
        self._gpus = Gpus()
        self._processes: dict[int, psutil.Process] = {}
        self.roles: dict[int, str] = {}
        self.port: int | None = None
        self.costs: dict[str, Cost] = {}
        self.late_samples = 0
        self.problem: str | None = None

    def __enter__(self) -> Sampler:
        self._file = open(self._part, "w", encoding="utf-8")
        self._sample_cgroup()
        sources: list[tuple[str, Callable[[], None], float]] = [
            ("node", self._sample_node, self._period_s),
            ("metrics", self._sample_metrics, self._metrics_period_s),
            ("cgroup", self._sample_cgroup, 1.0),
        ]
        if self._gpus.why_none is None:
            sources += [("gpu", self._sample_gpus, self._period_s), ("gpu_fine", self._sample_gpus_fine, 1.0)]
        self.costs = {name: Cost() for name, _, _ in sources}
        self._threads = [threading.Thread(target=self._loop, args=source, daemon=True) for source in sources]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=10)
        self._sample_cgroup()
        with self._lock:
            self._file.close()
        if not any(thread.is_alive() for thread in self._threads):  # one that hangs in NVML still holds its memory
            self._gpus.close()
        store.seal(self._part, self._path)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all samples so far."""
        return sum(cost.cpu_s for cost in self.costs.values())

    def summary(self) -> dict[str, Any]:
        """For session.json: cpu_s, late_samples, problem, and by source what cost.Cost.summary says."""
        return {
            "cpu_s": self.cpu_s, "late_samples": self.late_samples, "problem": self.problem,
            "sources": {name: cost.summary() for name, cost in self.costs.items()},
        }  # fmt: skip

    def _loop(self, source: str, sample: Callable[[], None], period_s: float) -> None:
        if sample == self._sample_node:
            psutil.cpu_percent(percpu=True)  # psutil keeps what it compares with per thread
        due = time.monotonic() + period_s
        try:
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                with self.costs[source].sample():
                    sample()
                due += period_s
                if time.monotonic() > due:
                    self.late_samples += 1
                    due = time.monotonic() + period_s
        except Exception as error:
            self.problem = f"{sample.__name__} stopped: {type(error).__name__}: {error}"

    def _write(self, source: str, age_s: float = 0.0, **fields: Any) -> None:
        line = json.dumps({"t": time.time() - age_s, "m": time.monotonic() - age_s, "src": source, **fields})
        with self._lock:
            if self._file.closed:
                return
            self._file.write(line + "\n")
            self._lines += 1
            if self._lines % FLUSH_EVERY == 0:
                self._file.flush()

    def _sample_node(self) -> None:
        self._write("cpu", per=psutil.cpu_percent(percpu=True))
        self._write("proc", procs=self._sample_processes())

    def _sample_gpus(self) -> None:
        for reading in self._gpus.sample():
            self._write("nvml", **reading)

    def _sample_gpus_fine(self) -> None:
        for entry in self._gpus.fine():
            self._write("nvml_fine", **entry)

    def _sample_processes(self) -> list[list[Any]]:
        living = [(psutil.Process().pid, "pipeline")]
        for kernel_session, role in list(self.roles.items()):
            living += [(pid, role) for pid in processes.members([kernel_session])]
        rows: list[list[Any]] = []
        for pid, role in living:
            try:
                process = self._processes.setdefault(pid, psutil.Process(pid))
                with process.oneshot():
                    times = process.cpu_times()
                    rows.append([pid, role, process.name(), times.user + times.system, process.memory_info().rss])
            except psutil.Error:
                self._processes.pop(pid, None)
        return rows

    def _sample_metrics(self) -> None:
        if self.port is None:
            return
        asked_s = time.monotonic()
        try:
            status, body = web.get(self.port, "/metrics", timeout_s=2.0)
        except web.UNREACHABLE:
            return
        if status == 200:
            middle_s = (time.monotonic() - asked_s) / 2
            self._write("metrics", middle_s, v=parse_metrics(body.decode("utf-8", "replace")))

    def _sample_cgroup(self) -> None:
        events = cgroup.memory_events()
        if events is not None:
            self._write("cgroup", **events)
