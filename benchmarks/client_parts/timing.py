"""Start-up, errors, ceiling and cost of both clients under closed loops, against the server's own truth."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchbook.measure import bench_result
from known_server import KnownServer, Truth

from client_parts.clients import NATIVE, VLLM_BENCH, Clients, Load, Ran
from client_parts.figures import Check, Spread, below, shown, spread, table

TTFT_MS, OUTPUT_TOKENS, WAVES = 50, 500, 2
TTFT_ERROR_MS = {64: 2.0, 256: 5.0}
START_UP_S, START_UP_RATIO, MEMORY_MB, COST_US, CHUNKS_S, TPOT_ERROR = 0.5, 10, 100, 10, 100_000, 1.0

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Point:
    """`concurrency` requests in flight, `tpot_ms` between the chunks of each."""

    concurrency: int
    tpot_ms: int

    @property
    def name(self) -> str:
        return f"{self.concurrency}@{self.tpot_ms}"


POINTS = (Point(64, 10), Point(64, 5), Point(64, 2), Point(64, 1), Point(256, 5), Point(256, 2))
QUICK = (Point(64, 10), Point(64, 2), Point(256, 2))


def figures(ran: Ran, truth: Truth) -> dict[str, Any]:
    """One run's figures; None where it has none.

    Requests are matched by order: of start at the client, of arrival at the server. ttft_error_ms: mean of reported
    minus true; ttft_error_p99_ms: the 99th percentile of it. tpot_error: mean reported over mean true, minus 1, in
    percent. cpu_us: CPU time of all the client's processes per chunk from its first send to its last receive; parse_us:
    what the native client says that it spent on the answers after the run. chunks_s: as reported; sent_chunks_s: from
    the server's first arrival to its last chunk. run_mb: largest memory until the result is written; peak_mb: to the
    exit, where the native client has pandas write its tables of requests and chunks.
    """
    assert ran.result is not None, ran.said
    listed = bench_result.requests(ran.result)
    good = sorted((request for request in listed if request.ok), key=lambda request: request.start_s or 0.0)
    if len(good) != len(listed) or len(listed) != len(truth.requests) or any(r.aborted for r in truth.requests):
        raise SystemExit(f"{ran.client}: {len(good)} of {len(listed)} requests ended well, {len(truth.requests)} were "
                         f"served; on a server without faults that must not be.\n{ran.said}")  # fmt: skip
    ttft_ms = np.array([1000 * (request.ttft_s or np.nan) for request in good])
    true_ttft_ms = np.array([1000 * (served.ttft_s or np.nan) for served in truth.requests])
    tpot_ms = np.mean([1000 * (request.tpot_s or np.nan) for request in good])
    true_tpot_ms = np.mean([1000 * (served.tpot_s or np.nan) for served in truth.requests])
    chunks = sum(len(request.itl_s) + 1 for request in good)
    sent = sum(served.chunks for served in truth.requests)
    first_send_s = min(request.start_s or np.nan for request in good)
    last_receive_s = max((request.start_s or np.nan) + (request.e2el_s or np.nan) for request in good)
    served_s = max(served.last_s or 0.0 for served in truth.requests) - truth.requests[0].arrival_s
    client = ran.result.get("benchbook_client") or {}
    reads = (ran.result.get("benchbook") or {}).get("reads")
    return {
        "start_up_s": truth.requests[0].seen_s - ran.launched_s,
        "ttft_ms": float(ttft_ms.mean()),
        "true_ttft_ms": float(true_ttft_ms.mean()),
        "ttft_error_ms": float((ttft_ms - true_ttft_ms).mean()),
        "ttft_error_p99_ms": float(np.percentile(ttft_ms - true_ttft_ms, 99)),
        "true_tpot_ms": float(true_tpot_ms),
        "tpot_error": float(100 * (tpot_ms / true_tpot_ms - 1)),
        "itl_p99_ms": float(np.percentile([1000 * gap for request in good for gap in request.itl_s], 99)),
        "late_p99_ms": truth.late_p99_ms,
        "chunks_s": chunks / ran.result["duration"],
        "sent_chunks_s": sent / served_s,
        "chunks_lost": sent - chunks,
        "chunks_per_read": chunks / sum(reads) if reads else None,
        "cpu_us": 1e6 * ran.cpu_between(first_send_s, last_receive_s) / chunks,
        "cpu_cores": ran.cpu_between(first_send_s, last_receive_s) / (last_receive_s - first_send_s),
        "parse_us": 1e6 * client["parse_s"] / chunks if client.get("parse_s") is not None else None,
        "after_s": ran.exited_s - last_receive_s,
        "run_mb": ran.peak_mb(until_s=ran.written_s or last_receive_s),
        "peak_mb": ran.peak_mb(),
        "processes": ran.processes,
        "reading_processes": client.get("processes"),
        "loop": client.get("loop"),
    }


def measure(clients: Clients, points: Sequence[Point], repeats: int) -> list[dict[str, Any]]:
    """Both clients at every point, alternating, the order turned from one repeat to the next."""
    runs = []
    for point in points:
        with KnownServer("--ttft", str(TTFT_MS), "--tpot", str(point.tpot_ms)) as server:
            for repeat in range(repeats):
                order = (NATIVE, VLLM_BENCH) if repeat % 2 == 0 else (VLLM_BENCH, NATIVE)
                for client in order:
                    server.reset()
                    load = Load(WAVES * point.concurrency, point.concurrency, output_tokens=OUTPUT_TOKENS, seed=repeat)
                    ran = clients.run(client, server.port, load)
                    if ran.exit_code != 0 or ran.result is None:
                        raise SystemExit(f"{client} at {point.name} ended with {ran.exit_code}:\n{ran.said}")
                    found = figures(ran, server.truth())
                    runs.append({"point": point.name, "client": client, "repeat": repeat, "server": server.place,
                                 **found})  # fmt: skip
                    print(f"  {point.name} {client}: TTFT {found['ttft_error_ms']:+.2f} ms, TPOT "
                          f"{found['tpot_error']:+.2f} %, {found['cpu_us']:.1f} us per chunk", file=sys.stderr)
    return runs


def _of(runs: Sequence[Figures], key: str, client: str, point: str | None = None) -> Spread | None:
    return spread(run[key] for run in runs if run["client"] == client and point in (None, run["point"]))


def text(runs: Sequence[Figures]) -> str:
    """Two tables, what was read and what it cost: median [range] over the repeats."""
    read, cost = [], []
    for point in dict.fromkeys(run["point"] for run in runs):
        for client in (NATIVE, VLLM_BENCH):
            of = {key: _of(runs, key, client, point) for key, value in runs[0].items() if not isinstance(value, str)}
            who = point if client == NATIVE else "", client
            read.append((
                *who, shown(of["start_up_s"], 2), shown(of["ttft_error_ms"], 2), shown(of["tpot_error"], 2),
                shown(of["itl_p99_ms"], 2), shown(of["late_p99_ms"], 2),
            ))  # fmt: skip
            cost.append((
                *who, shown(of["chunks_s"], 0), shown(of["sent_chunks_s"], 0), shown(of["cpu_us"], 1),
                shown(of["parse_us"], 1), shown(of["run_mb"], 0), shown(of["peak_mb"], 0), shown(of["processes"], 0),
            ))  # fmt: skip
    return "\n\n".join((
        table(("", "", "start-up s", "TTFT error ms", "TPOT error %", "p99 ITL ms", "steps late p99 ms"), read),
        table(("", "", "chunks/s", "sent by the server", "CPU us per chunk", "parsing us", "MB to the result",
               "MB to the exit", "processes"), cost),
    ))  # fmt: skip


def checks(runs: Sequence[Figures]) -> list[Check]:
    """The issue's targets, of the medians."""
    points = {point.name: point for point in POINTS if any(run["point"] == point.name for run in runs)}
    found = []
    for name, point in points.items():
        error = _of(runs, "ttft_error_ms", NATIVE, name)
        found.append(below(f"{name}: TTFT error", error, TTFT_ERROR_MS[point.concurrency], "ms", 2))
        found.append(below(f"{name}: TPOT error", _of(runs, "tpot_error", NATIVE, name), TPOT_ERROR, "%", 2))
        memory = _of(runs, "run_mb", NATIVE, name)
        found.append(below(f"{name}: memory until the result is written", memory, MEMORY_MB, "MB", 0))
    if "64@2" in points:
        cost = _of(runs, "cpu_us", NATIVE, "64@2")
        found.append(Check(f"64@2: at most {COST_US} us of CPU per chunk", f"{shown(cost, 1)} us",
                           cost is not None and cost.median <= COST_US))  # fmt: skip
    if "256@2" in points:
        rate, processes = _of(runs, "chunks_s", NATIVE, "256@2"), _of(runs, "reading_processes", NATIVE, "256@2")
        found.append(Check(
            f"256@2: at least {CHUNKS_S:,} chunks/s in one process",
            f"{shown(rate, 0)} chunks/s in {shown(processes, 0)}",
            rate is not None and rate.median >= CHUNKS_S and processes == Spread(1, 1, 1),
        ))  # fmt: skip
    native, vllm_bench = _of(runs, "start_up_s", NATIVE), _of(runs, "start_up_s", VLLM_BENCH)
    found.append(below("start-up", native, START_UP_S, "s", 2))
    ratio = vllm_bench.median / native.median if native and vllm_bench else None
    found.append(Check(f"start-up at least {START_UP_RATIO} times quicker than vllm-bench's", f"{ratio or 0:.1f} times",
                       ratio is not None and ratio >= START_UP_RATIO))  # fmt: skip
    return found
