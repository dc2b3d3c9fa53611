"""Telemetry clipped to each run's steady window: a mean over a longer stretch is of something else (method.md 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema

GIB = 2**30
_FAMILIES = {
    "running": "vllm:num_requests_running", "waiting": "vllm:num_requests_waiting",
    "kv_usage": "vllm:kv_cache_usage_perc", "preemptions": "vllm:num_preemptions_total",
    "queries": "vllm:prefix_cache_queries_total", "hits": "vllm:prefix_cache_hits_total",
}  # fmt: skip
_KEY = ("run_id", "session_id", "slot", "arm", "concurrency", "repeat")


def node_samples(lines: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Per-core CPU samples: t_s, cpu_util_pct (mean over cores), cpu_util_max_core_pct (busiest core)."""
    rows = [(line["t"], float(np.mean(line["per"])), max(line["per"])) for line in lines if line["src"] == "cpu"]
    return pd.DataFrame(rows, columns=["t_s", "cpu_util_pct", "cpu_util_max_core_pct"], dtype=float)


def process_samples(lines: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """CPU time and memory by role: t_s, role, pid, cpu_s (so far), memory_gib."""
    rows = [
        (line["t"], role, pid, cpu_s, resident / GIB)
        for line in lines
        if line["src"] == "proc"
        for pid, role, _, cpu_s, resident in line["procs"]
    ]
    return pd.DataFrame(rows, columns=["t_s", "role", "pid", "cpu_s", "memory_gib"])


def gpu_samples(lines: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """NVML samples as recorded, one row per GPU and time; no rows without a GPU."""
    names = ["t", "gpu", "util", "power_w", "sm", "mem_used", "temp", "energy_mj"]
    rows = [[line.get(name) for name in names] for line in lines if line["src"] == "nvml"]
    return pd.DataFrame(rows, columns=["t_s", *names[1:]], dtype=float)


def metric_samples(lines: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Scrapes of /metrics: t_s and, over all engines, running, waiting, kv_usage, preemptions, queries, hits."""
    rows = []
    for line in lines:
        if line["src"] == "metrics":
            totals = _totals(line["v"])
            rows.append([line["t"], *(totals.get(family) for family in _FAMILIES.values())])
    return pd.DataFrame(rows, columns=["t_s", *_FAMILIES], dtype=float)


def cores_used(samples: pd.DataFrame, role: str) -> pd.DataFrame:
    """CPU cores that the processes of `role` used between samples: t_s (of the later sample), cores.

    Differences are taken per process, so a process that ends takes nothing away from the others.
    """
    mine = samples[samples["role"] == role].sort_values(["pid", "t_s"])
    spent = mine.groupby("pid")["cpu_s"].diff()
    by_time = spent.groupby(mine["t_s"]).sum(min_count=1)
    step_s = by_time.index.to_series().diff()
    cores = (by_time / step_s).dropna()
    return pd.DataFrame({"t_s": cores.index.to_numpy(float), "cores": cores.to_numpy(float)})


def coverage(times_s: Sequence[float] | np.ndarray, start_s: float, end_s: float) -> float | None:
    """Share of [start, end] that samples describe: each stands for the period before it, none for more than twice
    the median period, so a hole in the sampling shows. None without samples or width."""
    times = np.sort(np.asarray(times_s, float))
    if len(times) < 2 or end_s <= start_s:
        return None
    periods = np.diff(times)
    longest = 2 * float(np.median(periods))
    ends = times[1:]
    starts = ends - np.minimum(periods, longest)
    return float(np.clip(np.minimum(ends, end_s) - np.maximum(starts, start_s), 0, None).sum() / (end_s - start_s))


def table(
    lines: Sequence[Mapping[str, Any]],
    runs: pd.DataFrame,
    scrapes: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]],
) -> pd.DataFrame:
    """Table `telemetry` for the runs of one session.

    `lines`: its telemetry; `runs`: its rows of table `runs`; `scrapes`: by run id, /metrics before and after the run.
    """
    cpu, process, gpu, metrics = node_samples(lines), process_samples(lines), gpu_samples(lines), metric_samples(lines)
    cores = {role: cores_used(process, role) for role in ("server", "client")}
    rows = []
    for _, run in runs.iterrows():
        known = pd.notna(run["window_s"])
        start_s, end_s = (float(run["window_start_s"]), float(run["window_end_s"])) if known else (np.inf, -np.inf)
        inside = _clip(cpu, start_s, end_s)
        scheduler = _clip(metrics, start_s, end_s)
        counted = _counted(*scrapes[run["run_id"]]) if run["run_id"] in scrapes else {}
        rows.append({
            **{name: run[name] for name in _KEY},
            "window_s": run["window_s"],
            "samples": len(inside) if known else None,
            "coverage": coverage(cpu["t_s"].to_numpy(), start_s, end_s) if known else None,
            "cpu_util_pct": _mean(inside["cpu_util_pct"]),
            "cpu_util_whole_pct": _mean(cpu["cpu_util_pct"]),
            "cpu_util_max_core_pct": _mean(inside["cpu_util_max_core_pct"]),
            "server_cpu_cores": _mean(_clip(cores["server"], start_s, end_s)["cores"]),
            "client_cpu_cores": _mean(_clip(cores["client"], start_s, end_s)["cores"]),
            "server_memory_gib": _memory(_clip(process, start_s, end_s), "server"),
            "client_memory_gib": _memory(_clip(process, start_s, end_s), "client"),
            "running_mean": _mean(scheduler["running"]),
            "waiting_max": _max(scheduler["waiting"]),
            "kv_cache_usage_max": _max(scheduler["kv_usage"]),
            "preemptions": counted.get("preemptions"),
            "prefix_hit_rate": _share(counted.get("hits"), counted.get("queries")),
            **_gpu(gpu, start_s, end_s),
        })  # fmt: skip
    return schema.check(pd.DataFrame(rows), "telemetry") if rows else schema.empty("telemetry")


def series(session_id: str, lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Samples over a whole session for drawing: session_id, t_s, cpu_util_pct, server_cpu_cores, client_cpu_cores,
    gpu_util_pct, gpu_power_w (means over GPUs; null without)."""
    frame = node_samples(lines)[["t_s", "cpu_util_pct"]]
    process = process_samples(lines)
    for role in ("server", "client"):
        cores = cores_used(process, role).rename(columns={"cores": f"{role}_cpu_cores"})
        frame = pd.merge_asof(frame.sort_values("t_s"), cores.sort_values("t_s"), on="t_s", direction="nearest",
                              tolerance=0.5)  # type: ignore[arg-type]  # fmt: skip
    gpu = gpu_samples(lines)
    if gpu.empty:
        frame["gpu_util_pct"], frame["gpu_power_w"] = np.nan, np.nan
    else:
        means = gpu.groupby("t_s")[["util", "power_w"]].mean().reset_index()
        means = means.rename(columns={"util": "gpu_util_pct", "power_w": "gpu_power_w"})
        frame = pd.merge_asof(frame, means, on="t_s", direction="nearest", tolerance=0.5)  # type: ignore[arg-type]
    frame.insert(0, "session_id", session_id)
    return frame


def _gpu(gpu: pd.DataFrame, start_s: float, end_s: float) -> dict[str, float | None]:
    inside = _clip(gpu, start_s, end_s)
    energy_j = [_energy_j(mine, start_s, end_s) for _, mine in gpu.groupby("gpu")]
    memory = inside.groupby("gpu")["mem_used"].max()
    return {
        "gpu_util_pct": _mean(inside["util"]),
        "gpu_util_whole_pct": _mean(gpu["util"]),
        "gpu_power_w": _mean(inside["power_w"]),
        "gpu_sm_clock_mhz": _mean(inside["sm"]),
        "gpu_memory_gib": float(memory.sum()) / GIB if memory.notna().any() else None,
        "gpu_energy_j": sum(energy_j) if energy_j and None not in energy_j else None,  # type: ignore[arg-type]
        "gpu_temperature_c": _max(inside["temp"]),
    }


def _energy_j(gpu: pd.DataFrame, start_s: float, end_s: float) -> float | None:
    """Energy of one GPU over the window, its counter interpolated at both ends; None unless samples reach around it."""
    known = gpu.dropna(subset=["energy_mj"]).sort_values("t_s")
    if len(known) < 2 or start_s >= end_s or known["t_s"].iloc[0] > start_s or known["t_s"].iloc[-1] < end_s:
        return None
    ends = np.interp([start_s, end_s], known["t_s"], known["energy_mj"])
    return float(ends[1] - ends[0]) / 1000


def _counted(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Counter differences over a run, summed over engines; a counter that either scrape lacks is left out."""
    first, last = _totals(before), _totals(after)
    return {
        name: last[family] - first[family]
        for name, family in _FAMILIES.items()
        if family.endswith("_total") and family in first and family in last
    }


def _totals(values: Mapping[str, float]) -> dict[str, float]:
    """Values of /metrics by family name over their labels: summed, of a share (`_perc`) the largest."""
    totals: dict[str, float] = {}
    for name, value in values.items():
        family = name.partition("{")[0]
        known = totals.get(family, 0.0)
        totals[family] = max(known, value) if family.endswith("_perc") else known + value
    return totals


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _clip(samples: pd.DataFrame, start_s: float, end_s: float) -> pd.DataFrame:
    return samples[(samples["t_s"] >= start_s) & (samples["t_s"] <= end_s)]


def _mean(series: pd.Series) -> float | None:
    return float(series.mean()) if series.notna().any() else None


def _max(series: pd.Series) -> float | None:
    return float(series.max()) if series.notna().any() else None


def _memory(samples: pd.DataFrame, role: str) -> float | None:
    mine = samples[samples["role"] == role]
    return float(mine.groupby("t_s")["memory_gib"].sum().max()) if len(mine) else None


def all_series(sessions: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> pd.DataFrame:
    """`series` of several sessions, one below the other; columns only when there is none."""
    return pd.concat([series("", []), *(series(session_id, lines) for session_id, lines in sessions)])
