"""Prompts of 60 to 90 thousand tokens at concurrency 32: does sending them enter TTFT?"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from benchbook.measure import bench_result
from known_server import KnownServer, Truth

from client_parts.clients import NATIVE, VLLM_BENCH, Clients, Load, Ran
from client_parts.figures import Check, table

CONCURRENCY, OUTPUT_TOKENS = 32, 32
TTFT_MS, TPOT_MS = 500, 10
WATCH_S = 0.002
CPU_SHARE = 1.0


def together(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The times that lie in any of the spans (begin, end), as spans that do not overlap."""
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def figures(ran: Ran, truth: Truth) -> dict[str, Any]:
    """Times in ms. `error`: TTFT reported minus the server's. `reading`: from the first byte that the server read of a
    request to the last, which no client can help. Only where the client says when it sent: `wait`, from when the slot
    was free to the timer's start; `send`, from there until the kernel had the whole request; `cpu`, CPU time of the
    client while any request was being sent, per request.
    """
    assert ran.result is not None
    listed = bench_result.requests(ran.result)
    good = sorted((request for request in listed if request.ok), key=lambda request: request.start_s or 0.0)
    if len(good) != len(listed) or len(good) != len(truth.requests):
        raise SystemExit(f"{ran.client}: {len(good)} of {len(listed)} requests ended well.\n{ran.said}")
    error_ms = 1000 * np.array(
        [(mine.ttft_s or np.nan) - (its.ttft_s or np.nan) for mine, its in zip(good, truth.requests, strict=True)]
    )
    reading_ms = 1000 * np.array([its.arrival_s - its.seen_s for its in truth.requests])
    found = {**_of("error", error_ms), **_of("reading", reading_ms)}
    found["size_kb"] = float(np.mean([its.size_bytes for its in truth.requests])) / 1000
    found["true_ttft_ms"] = 1000 * float(np.mean([its.ttft_s or np.nan for its in truth.requests]))
    send_s = (ran.result.get("benchbook") or {}).get("send_times")
    if send_s is None:
        return found
    spans = together((request.start_s or 0.0, (request.start_s or 0.0) + send)
                     for request, send in zip(listed, send_s, strict=True))  # fmt: skip
    cpu_s = sum(ran.cpu_between(begin, end) for begin, end in spans)
    waited_s = [
        start - scheduled
        for start, scheduled in zip(ran.result["start_times"], ran.result["benchbook"]["scheduled_times"], strict=True)
    ]
    return {**found, **_of("send", 1000 * np.array(send_s, dtype=float)), **_of("wait", 1000 * np.array(waited_s)),
            "cpu_ms": 1000 * cpu_s / len(good)}  # fmt: skip


def _of(name: str, values_ms: Any) -> dict[str, float]:
    return {
        f"{name}_mean_ms": float(values_ms.mean()), f"{name}_p99_ms": float(np.percentile(values_ms, 99)),
        f"{name}_max_ms": float(values_ms.max()),
    }  # fmt: skip


def measure(clients: Clients, quick: bool) -> list[dict[str, Any]]:
    requests = CONCURRENCY if quick else 4 * CONCURRENCY
    loads = {
        NATIVE: Load(requests, CONCURRENCY, output_tokens=OUTPUT_TOKENS, workload="agentic"),
        VLLM_BENCH: Load(requests, CONCURRENCY, input_tokens=60_000, output_tokens=OUTPUT_TOKENS),
    }
    runs = []
    with KnownServer("--ttft", str(TTFT_MS), "--tpot", str(TPOT_MS)) as server:
        for client, load in loads.items():
            server.reset()
            ran = clients.run(client, server.port, load, watch_s=WATCH_S, deadline_s=600.0)
            if ran.exit_code != 0 or ran.result is None:
                raise SystemExit(f"{client} with large prompts ended with {ran.exit_code}:\n{ran.said}")
            truth = server.truth()
            found = figures(ran, truth)
            runs.append({"client": client, "requests": requests, "peak_mb": ran.peak_mb(),
                         "start_up_s": truth.requests[0].seen_s - ran.launched_s, **found})  # fmt: skip
            print(f"  {client}: TTFT {found['error_mean_ms']:+.1f} ms", file=sys.stderr)
    return runs


def _sending(run: Mapping[str, Any]) -> tuple[str, str, str]:
    if "send_mean_ms" not in run:
        return "not told", "–", "–"
    return (f"{run['send_mean_ms']:.1f}, {run['send_p99_ms']:.1f}, {run['send_max_ms']:.1f}", f"{run['cpu_ms']:.2f}",
            f"{run['wait_mean_ms']:.1f}, {run['wait_max_ms']:.1f}")  # fmt: skip


def text(runs: Sequence[Mapping[str, Any]]) -> str:
    head = ("", "", "body KB", "TTFT error ms: mean, p99, max", "sending ms: mean, p99, max",
            "client CPU meanwhile ms per request", "before the timer ms: mean, max", "server reading ms: mean, max",
            "start-up s", "peak MB")  # fmt: skip
    rows = [
        (
            run["client"], "", f"{run['size_kb']:,.0f}",
            f"{run['error_mean_ms']:.1f}, {run['error_p99_ms']:.1f}, {run['error_max_ms']:.1f}",
            *_sending(run),
            f"{run['reading_mean_ms']:.1f}, {run['reading_max_ms']:.1f}", f"{run['start_up_s']:.2f}",
            f"{run['peak_mb']:.0f}",
        )
        for run in runs
    ]  # fmt: skip
    return table(head, rows)


def checks(runs: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Of the native client's CPU time, less than CPU_SHARE percent of the true TTFT stands in a reported TTFT."""
    return [
        Check(f"client CPU while a request is sent under {CPU_SHARE:g} % of the true TTFT",
              f"{run['cpu_ms']:.2f} ms of {run['true_ttft_ms']:.0f}",
              run["cpu_ms"] < CPU_SHARE / 100 * run["true_ttft_ms"])
        for run in runs
        if run["client"] == NATIVE
    ]  # fmt: skip
