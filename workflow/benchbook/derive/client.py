"""Did the load client bend what it measured (method.md 8)? Its CPU, its event loop, its sends, and the server's own
figures for the same requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive import ragged
from benchbook.derive.answered import answered
from benchbook.derive.counters import Counted
from benchbook.derive.run_key import KEY

NOTED = ("loop", "processes", "receive_wait_mean_ms", "receive_queue_max_bytes", "loop_lag_mean_ms",
         "loop_lag_p99_ms", "loop_lag_max_ms")  # fmt: skip


def row(
    run: Mapping[Any, Any], requests: pd.DataFrame, noted: Mapping[str, Any] | None, counted: Counted | None,
    thresholds: Mapping[str, float],
) -> dict[str, Any]:  # fmt: skip
    """Row of table `client` for one run.

    `run`: its row of table `runs`; `requests`: its rows of table `requests`; `noted`: what the client noted of itself
    (engines/inside/client_truth.py, measure/client/own_cost.py), None for one that does not; `counted`: what the server
    counted.
    The server's means hold every request, so they are compared only where every request is ok.
    """
    good = answered(requests)
    itl_ms = itl_per_step_ms(good, run["tokens_per_chunk"], run["tokens_per_step"])
    ttft_ms = _mean(good["ttft_ms"].dropna().to_numpy(float))
    comparable = counted is not None and len(good) > 0 and len(good) == len(requests)
    itl_server_ms = _ms(counted.mean("vllm:inter_token_latency_seconds")) if comparable and counted else None
    ttft_server_ms = _ms(counted.mean("vllm:time_to_first_token_seconds")) if comparable and counted else None
    e2el_server_ms = _ms(counted.mean("vllm:e2e_request_latency_seconds")) if comparable and counted else None
    told = noted or {}
    duration_s = told.get("span_s") or run["duration_s"]
    timed = pd.notna(duration_s) and duration_s > 0
    cpu_s = told.get("cpu_s") if timed else None
    busiest_s = told.get("busiest_cpu_s", cpu_s) if timed else None
    values: dict[str, Any] = {
        **{name: run[name] for name in KEY},
        "client": run["client"],
        "client_cpu_cores": cpu_s / duration_s if cpu_s is not None else None,
        "client_busiest_cores": busiest_s / duration_s if busiest_s is not None else None,
        **{name: told.get(name) for name in NOTED},
        "resend_gap_median_ms": resend_gap_median_ms(requests, int(run["concurrency"])),
        "itl_client_mean_ms": itl_ms,
        "itl_server_mean_ms": itl_server_ms,
        "itl_ratio": itl_ms / itl_server_ms if itl_ms is not None and itl_server_ms else None,
        "ttft_client_mean_ms": ttft_ms,
        "ttft_server_mean_ms": ttft_server_ms,
        "e2el_server_mean_ms": e2el_server_ms,
        "ttft_excess_ms": ttft_ms - ttft_server_ms if ttft_ms is not None and ttft_server_ms is not None else None,
    }
    values["saturated"] = _saturated(values, run["e2el_mean_ms"], thresholds) if len(good) else None
    return values


def itl_per_step_ms(good: pd.DataFrame, per_chunk: Any, per_step: Any) -> float | None:
    """Mean time between two steps' tokens as ok requests got them: that between two chunks times a/g (method.md 1).

    The server's inter-token latency is one observation a step; a front end that merges chunks lengthens the time
    between two of them and delays nothing. None without a second chunk.
    """
    mean = _mean(ragged.flat(good["itl_ms"])[0])
    if mean is None or pd.isna(per_chunk):
        return None
    return mean * (1.0 if pd.isna(per_step) else float(per_step)) / float(per_chunk)


def resend_gap_median_ms(requests: pd.DataFrame, concurrency: int) -> float | None:
    """Median time from a request's end to the dispatch that takes its place, in a closed loop of `concurrency`.

    The k-th dispatch after the first wave answers the k-th end. None for a single wave, or where a request failed (its
    end is not known).
    """
    if len(requests) <= concurrency or requests["t_last_s"].isna().any() or requests["t_send_s"].isna().any():
        return None
    sends = np.sort(requests["t_send_s"].to_numpy(float))[concurrency:]
    ends = np.sort(requests["t_last_s"].to_numpy(float))[: len(sends)]
    return float(np.median(sends - ends)) * 1000


def table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return schema.check(pd.DataFrame(list(rows)), "client") if rows else schema.empty("client")


def _saturated(values: Mapping[str, Any], e2el_ms: Any, thresholds: Mapping[str, float]) -> str | None:
    """The first reason to hold the client for a bottleneck, in words; None when there is none.

    The lag that counts is the mean, which is what a chunk waits for on average. The 99th percentile is a wave's sends:
    vLLM's client is 20 ms late with 64 of them, and right to 1 % in TPOT and throughput.
    """
    cores, ratio, gap_ms = (values[name] for name in ("client_busiest_cores", "itl_ratio", "resend_gap_median_ms"))
    lag_ms, itl_ms, wait_ms = (values[name] for name in ("loop_lag_mean_ms", "itl_client_mean_ms",
                                                         "receive_wait_mean_ms"))  # fmt: skip
    if cores is not None and cores > thresholds["client_cores_max"]:
        several = values["processes"] is not None and values["processes"] > 1
        who = f"the busiest of its {values['processes']} processes" if several else "it"
        return f"{who} used {cores:.2f} of a core, and {'each' if several else 'it'} has one thread"
    if ratio is not None and ratio > thresholds["client_itl_ratio_max"]:
        return f"its mean ITL is {100 * (ratio - 1):.1f} % above the server's own"
    if lag_ms is not None and itl_ms is not None and lag_ms > thresholds["client_lag_max"] * itl_ms:
        return f"its event loop ran {lag_ms:.1f} ms late on average, against {itl_ms:.1f} ms between chunks"
    if wait_ms is not None and itl_ms is not None and wait_ms > thresholds["client_lag_max"] * itl_ms:
        return f"what came waited {wait_ms:.1f} ms unread on average, against {itl_ms:.1f} ms between chunks"
    if gap_ms is not None and pd.notna(e2el_ms) and gap_ms > thresholds["client_resend_gap_max"] * e2el_ms:
        return f"it took {gap_ms:.1f} ms to replace a finished request, {100 * gap_ms / e2el_ms:.1f} % of a request"
    return None


def _mean(samples: np.ndarray) -> float | None:
    return float(samples.mean()) if len(samples) else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
