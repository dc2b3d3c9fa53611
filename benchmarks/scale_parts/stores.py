"""Raw folders as measuring leaves them, of as many runs as asked for: a session a store, of a thousand requests a run.

Times are drawn, not simulated: a closed loop with its own step and TTFT at each concurrency, sent by the native client
and by vLLM's in turn, each result in the form and with the digits that its client writes.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from benchbook.config import spec as specification
from benchbook.config.load import load_booking
from benchbook.measure.bench_run import Outcome
from benchbook.measure.store import SESSION_ID_FORMAT, Store

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "recordings" / "h200-qwen3moe"
REQUESTS, RUNS_OF_A_SESSION, READINGS = 1000, 25, 6
LEVELS = (10, 50, 100, 250)
PROMPT, TOKENS = 256, 32
GPUS, CORES = 8, 32
SAMPLE_HZ, SCRAPE_HZ, REPORT_S = 5.0, 2.0, 10.0
BEGAN_S, BOOT_S, GAP_S, APART_S = 1_796_050_000, 60.0, 0.3, 7200
ARMS, CLIENTS = ("base", "other"), ("native", "vllm-bench")
REPEATS = RUNS_OF_A_SESSION // len(LEVELS)


@dataclass(frozen=True)
class Sent:
    """One run or reading as drawn, times in seconds from its start: send, TTFT and gaps (requests x 31) of each."""

    concurrency: int
    send_s: np.ndarray
    ttft_s: np.ndarray
    itl_s: np.ndarray

    @property
    def e2el_s(self) -> np.ndarray:
        total: np.ndarray = self.ttft_s + self.itl_s.sum(axis=1)
        return total

    @property
    def duration_s(self) -> float:
        return float((self.send_s + self.e2el_s).max())


def draw(rng: np.random.Generator, concurrency: int, requests: int) -> Sent:
    waves = requests // concurrency
    ttft_s = (0.02 + 0.0004 * concurrency) * np.exp(0.25 * rng.standard_normal((waves, concurrency)))
    step_s = 0.008 + 0.00004 * concurrency
    itl_s = step_s * np.abs(1 + 0.04 * rng.standard_normal((waves, concurrency, TOKENS - 1)))
    spent_s = ttft_s + itl_s.sum(axis=2) + 0.0002
    send_s = np.vstack([0.001 * rng.random((1, concurrency)), np.cumsum(spent_s, axis=0)[:-1]])
    return Sent(concurrency, send_s.ravel(), ttft_s.ravel(), itl_s.reshape(-1, TOKENS - 1))


def result(sent: Sent, client: str, m_start_s: float) -> dict[str, Any]:
    """bench.json of what was sent."""
    count = len(sent.send_s)
    native = client == "native"
    digits = 7 if native else 17
    figures = {
        "duration": sent.duration_s, "completed": count, "failed": 0, "num_prompts": count, "request_rate": "inf",
        "max_concurrency": sent.concurrency, "total_input_tokens": PROMPT * count,
        "total_output_tokens": TOKENS * count, "output_throughput": TOKENS * count / sent.duration_s,
        "date": "20261130-150313", "backend": "vllm", "model_id": "m",
    }  # fmt: skip
    lists = {
        "input_lens": [PROMPT] * count, "output_lens": [TOKENS] * count, "ttfts": sent.ttft_s.round(digits).tolist(),
        "itls": sent.itl_s.round(digits).tolist(), "start_times": (m_start_s + sent.send_s).tolist(),
        "latencies": sent.e2el_s.round(digits).tolist(), "queue_times": [0.0] * count, "errors": [""] * count,
        "generated_texts": [" over the lazy dog and back again" * 4] * count,
    }  # fmt: skip
    nothing = [None] * count
    notes = {
        "stream_errors": nothing, "usage_tokens": [TOKENS] * count, "finished": [True] * count,
        "chunks": [TOKENS] * count, "empty_chunks": [[]] * count,
    }  # fmt: skip
    if native:
        notes |= {
            "asked_tokens": [TOKENS] * count, "chunk_kinds": ["t" * TOKENS] * count, "chunk_times": nothing,
            "chunk_tokens": nothing, "failure_kinds": nothing, "failure_s": nothing,
            "answer_ttfts": lists["ttfts"], "scheduled_times": nothing, "connect_times": nothing,
            "send_times": [0.0000312] * count, "statuses": [200] * count, "finish_reasons": ["length"] * count,
            "cached_tokens": [0] * count, "reasoning_tokens": nothing, "reads": [TOKENS + 1] * count,
        }  # fmt: skip
    return figures | lists | {"benchbook": notes}


def build(folder: Path, runs: int, seed: int) -> list[str]:
    """Write the stores below `folder`/raw and their manifests below `folder`/sessions; return their names.

    The same for the same `runs` and `seed`. An eighth of the readings and runs of a session are of each concurrency
    and client; its readings are one wave each.
    """
    booking = load_booking(ROOT, "h200-recorded")
    (base,) = specification.session_specs(booking, ROOT)
    names = []
    for session in range(-(-runs // RUNS_OF_A_SESSION)):
        rng = np.random.default_rng([seed, session])
        spec = _spec(base, session, min(RUNS_OF_A_SESSION, runs - session * RUNS_OF_A_SESSION))
        name = specification.store_name(spec)
        _Session(folder / "raw" / name, spec, BEGAN_S + session * APART_S, rng).write()
        manifest = folder / "sessions" / f"{name}.json"
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.write_bytes(orjson.dumps(Store(folder / "raw" / name).manifest(spec)))
        names.append(name)
    return names


def _spec(base: Mapping[str, Any], session: int, runs: int) -> dict[str, Any]:
    arm = ARMS[session % len(ARMS)]
    plan = []
    for place, level in enumerate(LEVELS):
        mine = range(place, runs, len(LEVELS))
        plan.append({
            "concurrency": level, "num_prompts": REQUESTS, "rerun": [],
            "readings": [{"name": f"warmup_c{level}_w{number}"} for number in range(1, READINGS + 1)],
            "runs": [{"name": f"{arm}_c{level}_r{repeat}", "repeat": repeat,
                      "client": CLIENTS[repeat % 2]} for repeat in range(1, len(mine) + 1)],
        })  # fmt: skip
    spec = {**base, "slot": f"s{session + 1}", "arm": arm, "plan": plan, "client": list(CLIENTS),
            "workload": {"kind": "random", "input_tokens": PROMPT, "output_tokens": TOKENS}}  # fmt: skip
    return spec | {"spec_hash": hashlib.sha256(orjson.dumps([spec["slot"], plan])).hexdigest()[:12]}


class _Session:
    """One session's folder while it is written."""

    def __init__(self, store: Path, spec: Mapping[str, Any], launched_s: float, rng: np.random.Generator):
        self._spec, self._launched_s, self._rng = spec, launched_s, rng
        self._name = time.strftime(SESSION_ID_FORMAT, time.gmtime(launched_s))
        self._folder = store / self._name
        self._t_s = launched_s + BOOT_S
        self._log = _boot_log(launched_s)
        self._counters = dict.fromkeys(_COUNTERS, 0.0)
        self._busy: list[tuple[float, float, int, dict[str, float]]] = []
        self._events = [_event("boot", "boot", None, launched_s, self._t_s)]

    def write(self) -> None:
        for block in self._spec["plan"]:
            for reading in block["readings"]:
                self._measure("warmup", reading["name"], block["concurrency"], block["concurrency"], None, "native")
            for run in block["runs"]:
                self._measure("runs", run["name"], block["concurrency"], REQUESTS, run["repeat"], run["client"])
        self._put("spec.json", orjson.dumps(self._spec))
        self._put("environment.json", orjson.dumps(_ENVIRONMENT))
        self._put("server.log", b"".join(self._log))
        self._put("events.jsonl", b"\n".join(map(orjson.dumps, self._events)) + b"\n")
        self._put("telemetry.jsonl", b"\n".join(map(orjson.dumps, self._telemetry())) + b"\n")
        self._put("session.json", orjson.dumps({
            "session": self._name, "status": "complete", "reason": None, "failure": None, "reboot_of": None,
            "planned": [run["name"] for block in self._spec["plan"] for run in block["runs"]],
            "t_launch_s": self._launched_s, "t_end_s": self._t_s,
        }))  # fmt: skip

    def _put(self, name: str, data: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def _measure(self, kind: str, name: str, level: int, requests: int, repeat: int | None, client: str) -> None:
        sent = draw(self._rng, level, requests)
        start_s, m_start_s = self._t_s, self._t_s - self._launched_s + 1000.0
        end_s = start_s + sent.duration_s
        before, log_start = dict(self._counters), sum(map(len, self._log))
        self._log += _run_log(sent, start_s)
        self._count(sent)
        tokens = TOKENS * requests
        outcome = Outcome(
            run=name, concurrency=level, repeat=repeat, num_prompts=requests, seed=0, status="ok", failure_kind=None,
            reason=None, t_start_s=start_s, t_end_s=end_s, m_start_s=m_start_s, m_end_s=m_start_s + sent.duration_s,
            throughput_tok_s=tokens / sent.duration_s, tpot_mean_ms=1000 * float(sent.itl_s.mean()), stalls=0,
            log_start=log_start, log_end=sum(map(len, self._log)), client_name=client,
            client={"cpu_s": 0.2 * sent.duration_s, "span_s": sent.duration_s, "loop_lag_mean_ms": 0.1,
                    "loop_lag_p99_ms": 0.9, "loop_lag_max_ms": 3.0},
        )  # fmt: skip
        self._put(f"{kind}/{name}/record.json", orjson.dumps(asdict(outcome)))
        self._put(f"{kind}/{name}/bench.json", orjson.dumps(result(sent, client, m_start_s)))
        if kind == "runs":
            for when, counted in (("before", before), ("after", self._counters)):
                self._put(f"{kind}/{name}/metrics_{when}.prom.gz", gzip.compress(_page(counted), 1, mtime=0))
        self._busy.append((start_s, end_s, level, before))
        self._events.append(_event("run" if kind == "runs" else "warmup", name, level, start_s, end_s))
        self._t_s = end_s + GAP_S

    def _count(self, sent: Sent) -> None:
        count = len(sent.send_s)
        for name, increase in {
            "vllm:prompt_tokens_total": PROMPT * count, "vllm:generation_tokens_total": TOKENS * count,
            'vllm:request_success_total{finished_reason="length"}': count,
            "vllm:time_to_first_token_seconds_sum": float(sent.ttft_s.sum()) - 0.001 * count,
            "vllm:time_to_first_token_seconds_count": count,
            "vllm:inter_token_latency_seconds_sum": float(sent.itl_s.sum()),
            "vllm:inter_token_latency_seconds_count": sent.itl_s.size,
            "vllm:e2e_request_latency_seconds_sum": float(sent.e2el_s.sum()) - 0.001 * count,
            "vllm:e2e_request_latency_seconds_count": count, "vllm:prefix_cache_queries_total": PROMPT * count,
            "vllm:iteration_tokens_total_count": TOKENS * count / sent.concurrency,
        }.items():  # fmt: skip
            self._counters[name] += increase

    def _telemetry(self) -> list[dict[str, Any]]:
        """Samples at 5 Hz and scrapes at 2 Hz over the whole session, in the order of time."""
        lines: list[dict[str, Any]] = []
        starts = np.array([start for start, *_ in self._busy])
        times = np.arange(self._launched_s, self._t_s, 1 / SAMPLE_HZ)
        noise = self._rng.integers(0, 8, (len(times), GPUS)).tolist()
        for number, (t_s, wobble) in enumerate(zip(times.tolist(), noise, strict=True)):
            busy = self._running(starts, t_s) is not None
            lines.append({"t": t_s, "m": t_s, "src": "cpu", "per": [5.0 + 60.0 * busy] * CORES})
            lines.append({"t": t_s + 0.001, "m": t_s, "src": "proc", "procs": [
                [100, "server", "python", 0.5 * number, 4 << 30], [200, "client", "python", 0.02 * number, 1 << 28],
            ]})  # fmt: skip
            lines += [
                {"t": t_s + 0.002 + 0.001 * gpu, "m": t_s, "src": "nvml", "gpu": gpu, "util": (90 + one) * busy,
                 "memutil": 30 * busy, "power_w": 120.0 + (480 + one) * busy, "power_limit_w": 700.0,
                 "sm": 1830 + one, "mem_used": 140091719680, "temp": 60, "throttle": 0,
                 "energy_mj": int(120_000 * (t_s - self._launched_s)) + gpu}
                for gpu, one in enumerate(wobble)
            ]  # fmt: skip
        for t_s in np.arange(self._launched_s + BOOT_S, self._t_s, 1 / SCRAPE_HZ).tolist():
            found = self._running(starts, t_s)
            gauges = {'vllm:num_requests_running{engine="0"}': float(found[2] if found else 0),
                      'vllm:num_requests_waiting{engine="0"}': 0.0,
                      'vllm:kv_cache_usage_perc{engine="0"}': 0.02}  # fmt: skip
            counted = found[3] if found else self._counters
            lines.append({"t": t_s + 0.05, "m": t_s, "src": "metrics", "v": gauges | counted | _BALLAST})
        return sorted(lines, key=lambda line: float(line["t"]))

    def _running(self, starts: np.ndarray, t_s: float) -> tuple[float, float, int, dict[str, float]] | None:
        place = int(np.searchsorted(starts, t_s, side="right")) - 1
        return self._busy[place] if place >= 0 and t_s <= self._busy[place][1] else None


_COUNTERS = (
    "vllm:prompt_tokens_total", "vllm:generation_tokens_total", 'vllm:request_success_total{finished_reason="length"}',
    'vllm:request_success_total{finished_reason="abort"}', "vllm:time_to_first_token_seconds_sum",
    "vllm:time_to_first_token_seconds_count", "vllm:inter_token_latency_seconds_sum",
    "vllm:inter_token_latency_seconds_count", "vllm:e2e_request_latency_seconds_sum",
    "vllm:e2e_request_latency_seconds_count", "vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total",
    "vllm:iteration_tokens_total_count", "vllm:num_preemptions_total",
)  # fmt: skip
# What else a server's page holds, which no table needs and every reader must pass over.
_BALLAST = {f'vllm:other_{number}_total{{engine="0",model_name="m"}}': float(number) for number in range(90)}
_BUCKETS = "".join(f'vllm:time_{number}_seconds_bucket{{engine="0",le="{edge}.0",model_name="m"}} {edge}.0\n'
                   for number in range(20) for edge in range(25)).encode()  # fmt: skip
_ENVIRONMENT = {
    "node": {
        "cores": CORES, "memory_bytes": 512 << 30, "cpu_model": "made up", "kernel": "none",
        "gpu": {"why_none": None, "driver": "1.0", "devices": [
            {"gpu": gpu, "name": "made up", "memory_bytes": 150 << 30, "power_limit_w": 700.0, "mig": None,
             "visible": True} for gpu in range(GPUS)
        ]},
    },
    "engine": None, "client": None,
}  # fmt: skip


def _page(counted: Mapping[str, float]) -> bytes:
    values = "".join(f"{name} {value!r}\n" for name, value in (counted | _BALLAST).items())
    return b"# HELP vllm: made up\n" + values.encode() + _BUCKETS


def _event(phase: str, label: str, level: int | None, start_s: float, end_s: float) -> dict[str, Any]:
    return {"phase": phase, "label": label, "concurrency": level, "ok": True, "t_start_s": start_s, "t_end_s": end_s}


def _stamp(t_s: float) -> str:
    return time.strftime("%m-%d %H:%M:%S", time.gmtime(t_s))


def _boot_log(launched_s: float) -> list[bytes]:
    """The log of a recorded boot, with its times moved to this one."""
    text = gzip.decompress((RECORDING / "base.server.log.gz").read_bytes()).decode()
    boot = text[: text.index("Application startup complete.")] + "Application startup complete.\n"
    return [re.sub(r"\d\d-\d\d \d\d:\d\d:\d\d", _stamp(launched_s), boot).encode()]


def _run_log(sent: Sent, start_s: float) -> list[bytes]:
    """A line for each request, and one every ten seconds for what was put out since the one before."""
    line = b'(APIServer pid=604) INFO:     127.0.0.1:40000 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    ends = np.arange(REPORT_S, sent.duration_s + REPORT_S, REPORT_S)
    rate = TOKENS * len(sent.send_s) / len(ends) / REPORT_S
    reports = "".join(
        f"(APIServer pid=604) INFO {_stamp(start_s + end)} [loggers.py:310] Engine 000: Avg prompt throughput: 0.0 "
        f"tokens/s, Avg generation throughput: {rate:.1f} tokens/s, Running: {0 if end == ends[-1] else 9} reqs, "
        "Waiting: 0 reqs, GPU KV cache usage: 1.3%, Prefix cache hit rate: 0.0%\n" for end in ends.tolist()
    )  # fmt: skip
    return [line * len(sent.send_s), reports.encode()]
