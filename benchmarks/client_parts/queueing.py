"""What queueing theory says of a server with deterministic service: first in, first out, c places, service time D."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def latencies_s(arrivals_s: Sequence[float], service_s: float, places: int) -> Floats:
    """Latency from arrival of every request, in order: the recursion of Kiefer and Wolfowitz (1955) over this path.

    A request starts when it has come and one of `places` is free; it holds the place for `service_s`. Exact for any
    arrivals, without an assumption on them.
    """
    free_s = [-np.inf] * places
    found = np.empty(len(arrivals_s))
    for number, arrival_s in enumerate(arrivals_s):
        end_s = max(arrival_s, heapq.heappop(free_s)) + service_s
        heapq.heappush(free_s, end_s)
        found[number] = end_s - arrival_s
    return found


def md1_mean_s(rate: float, service_s: float) -> float:
    """Mean latency of M/D/1 in equilibrium (Pollaczek and Khinchine): D + rho D / (2 (1 - rho)), rho = rate D < 1."""
    rho = rate * service_s
    return service_s * (1 + rho / (2 * (1 - rho)))


def md1_means_s(rate: float, service_s: float, requests: int, samples: int, seed: int) -> Floats:
    """Mean latency of M/D/1 in `samples` independent runs of so many requests from an empty server: how far one run's
    mean lies from the equilibrium's by chance. Lindley's recursion, all samples at once."""
    rng = np.random.default_rng(seed)
    wait, total = np.zeros(samples), np.zeros(samples)
    for _ in range(requests):
        total += wait
        wait = np.maximum(0.0, wait + service_s - rng.exponential(1 / rate, samples))
    return service_s + total / requests


def dd_overload_mean_s(rate: float, service_s: float, requests: int) -> float:
    """Mean latency of `requests` that come at a constant rate to one place that is too slow (rate D >= 1).

    Request i waits i (D - 1/rate): D + (n - 1)/2 (D - 1/rate). Of vllm#54101 (8 at 10/s, 500 ms): 1,900 ms.
    """
    return service_s + (requests - 1) / 2 * (service_s - 1 / rate)
