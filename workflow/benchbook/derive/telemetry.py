"""Telemetry clipped to each run's steady window: a mean over a longer stretch is of something else (method.md 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive import gpu
from benchbook.derive.clip import COVERAGE_MIN, Samples, mean, naive_span, refusal
from benchbook.derive.run_key import KEY

GIB = 2**30
ROLES = ("server", "client")


def node_samples(lines: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Per-core CPU samples: t_s, cpu_util_pct (mean over cores), cpu_util_max_core_pct (busiest core)."""
    sampled = [(line["t"], line["per"]) for line in lines if line["src"] == "cpu" and line["per"]]
    rows = [(t_s, sum(per) / len(per), max(per)) for t_s, per in sampled]
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


def cores_used(samples: pd.DataFrame, role: str) -> pd.DataFrame:
    """CPU cores that the processes of `role` used between samples: t_s (of the later sample), cores.

    Differences are taken per process, so a process that ends takes nothing away from the others.
    """
    mine = samples[samples["role"] == role].sort_values(["pid", "t_s"])
    spent = mine.groupby("pid")["cpu_s"].diff()
    spent = spent.where(spent >= 0)  # the kernel gave the number to another process
    by_time = spent.groupby(mine["t_s"]).sum(min_count=1)
    step_s = by_time.index.to_series().diff()
    cores = (by_time / step_s).dropna()
    return pd.DataFrame({"t_s": cores.index.to_numpy(float), "cores": cores.to_numpy(float)})


@dataclass(frozen=True)
class Watched:
    """A session's telemetry as frames: `node_samples`, `process_samples` and of its GPUs."""

    cpu: Samples
    process: Samples
    gpus: gpu.Watched

    @cached_property
    def cores(self) -> dict[str, Samples]:
        return {role: Samples(cores_used(self.process.frame, role)) for role in ROLES}


def watched(lines: Sequence[Mapping[str, Any]], visible: Collection[int] | None = None) -> Watched:
    """From its lines; `visible`: gpu.visible."""
    return Watched(Samples(node_samples(lines)), Samples(process_samples(lines)), gpu.watched(lines, visible))


def table(
    seen: Watched,
    runs: pd.DataFrame,
    *,
    phases: Sequence[tuple[float, float]] = (),
    sampled: Mapping[str, tuple[float, float]] | None = None,
    coverage_min: float = COVERAGE_MIN,
) -> pd.DataFrame:
    """Table `telemetry` for the runs of one session.

    `runs`: its rows of table `runs`; `phases`: begin and end (Unix s) of everything the
    session did, for the naive means; `sampled`: by run id, begin and end of a recording's own telemetry of the run,
    which is then what the naive means are over.
    Where the CPU's or the GPU's samples cover less than `coverage_min` of a window, what they say of it is withheld.
    """
    rows = []
    for run in runs.to_dict("records"):
        known = pd.notna(run["window_s"])
        start_s, end_s = (float(run["window_start_s"]), float(run["window_end_s"])) if known else (np.inf, -np.inf)
        timed = pd.notna(run["t_start_s"]) and pd.notna(run["t_end_s"])
        naive = naive_span(run["t_start_s"], run["t_end_s"], phases) if timed else (np.inf, -np.inf)
        naive = (sampled or {}).get(run["run_id"], naive)
        covered = seen.cpu.coverage(start_s, end_s) if known else None
        refused = refusal(covered, coverage_min) if known else None
        row = {
            **dict.fromkeys(schema.TABLES["telemetry"]),
            **{name: run[name] for name in KEY},
            "window_s": run["window_s"],
            "samples": len(seen.cpu.between(start_s, end_s)) if known else None,
            "coverage": covered,
            "cpu_refused": refused,
            "cpu_util_naive_pct": mean(seen.cpu.between(*naive)["cpu_util_pct"]),
            **gpu.columns(seen.gpus, run, naive, coverage_min),
        }
        if refused is None:
            row |= _host(seen, start_s, end_s)
        rows.append(row)
    return schema.check(pd.DataFrame(rows), "telemetry") if rows else schema.empty("telemetry")


def _host(seen: Watched, start_s: float, end_s: float) -> dict[str, float | None]:
    inside, of_processes = seen.cpu.within(start_s, end_s), seen.process.within(start_s, end_s)
    return {
        "cpu_util_pct": mean(inside["cpu_util_pct"]),
        "cpu_util_max_core_pct": mean(inside["cpu_util_max_core_pct"]),
        **{f"{role}_cpu_cores": mean(used.within(start_s, end_s)["cores"]) for role, used in seen.cores.items()},
        **{f"{role}_memory_gib": _memory(of_processes, role) for role in ROLES},
    }


def series(session_id: str, seen: Watched) -> pd.DataFrame:
    """Samples over a whole session for drawing: session_id, t_s, cpu_util_pct, server_cpu_cores, client_cpu_cores,
    gpu_util_pct, gpu_power_w (means over the GPUs; null without)."""
    frame = seen.cpu.frame[["t_s", "cpu_util_pct"]].sort_values("t_s")
    for role, used in seen.cores.items():
        frame = _nearest(frame, used.frame.rename(columns={"cores": f"{role}_cpu_cores"}))
    by_gpu = [_nearest(frame[["t_s"]], mine)[["util", "power_w"]]
              for _, mine in seen.gpus.samples.frame[["t_s", "gpu", "util", "power_w"]].groupby("gpu")]  # fmt: skip
    for column, name in (("gpu_util_pct", "util"), ("gpu_power_w", "power_w")):
        each = pd.concat([mine[name] for mine in by_gpu], axis=1) if by_gpu else pd.DataFrame(index=frame.index)
        frame[column] = each.mean(axis=1, skipna=False) if by_gpu else np.nan
    frame.insert(0, "session_id", session_id)
    return frame


def _nearest(frame: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """`frame` with the columns of the sample nearest in time, null where none lies within half a second."""
    return pd.merge_asof(frame, samples.sort_values("t_s"), on="t_s", direction="nearest",
                         tolerance=0.5)  # type: ignore[arg-type]  # fmt: skip


def _memory(samples: pd.DataFrame, role: str) -> float | None:
    mine = samples[samples["role"] == role]
    _, place = np.unique(mine["t_s"].to_numpy(float), return_inverse=True)
    return float(np.bincount(place, weights=mine["memory_gib"]).max()) if len(mine) else None


def all_series(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """`series` of several sessions, one below the other; columns only when there is none."""
    return pd.concat([series("", watched([])), *frames])
