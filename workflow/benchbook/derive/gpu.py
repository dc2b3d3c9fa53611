"""GPU columns of table `telemetry`: NVML's samples in the run's steady window, beside the naive mean (method.md 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from benchbook.derive import throttle
from benchbook.derive.clip import Samples, largest, mean, period_s, refusal, standard_error

GIB = 2**30
IDLE_PCT, POWER_TOLERANCE = 1.0, 0.05
_SAMPLED = ("util", "power_w", "power_limit_w", "sm", "mem_used", "temp", "throttle", "gpm_sm_pct",
            "gpm_tensor_pct", "gpm_dram_pct")  # fmt: skip


def visible(node_gpu: Mapping[str, Any] | None) -> set[int] | None:
    """NVML indices of the GPUs that the server sees, from the `gpu` entry of environment.json; None if not known."""
    devices = (node_gpu or {}).get("devices", [])
    marks = {device.get("gpu", index): device.get("visible") for index, device in enumerate(devices)}
    return None if not marks or None in marks.values() else {gpu for gpu, mark in marks.items() if mark}


def samples(lines: Iterable[Mapping[str, Any]], only: Collection[int] | None = None) -> pd.DataFrame:
    """NVML samples as recorded, one row per GPU and time: t_s, gpu and what measure/gpu.py reads.

    `only`: indices of the GPUs to keep, None for all. A value that was not offered is NaN; no rows without a GPU.
    """
    rows = [
        [line["t"], line["gpu"], *map(line.get, _SAMPLED)]
        for line in lines
        if line["src"] == "nvml" and (only is None or line["gpu"] in only)
    ]
    return pd.DataFrame(rows, columns=["t_s", "gpu", *_SAMPLED], dtype=float)


def driver_samples(lines: Iterable[Mapping[str, Any]], kind: str, only: Collection[int] | None = None) -> pd.DataFrame:
    """What the driver sampled itself: t_s, gpu and value, `kind` being "util" (%) or "power" (W)."""
    values = {"util": ("util_us", "util_pct", 1.0), "power": ("power_us", "power_mw", 1000.0)}
    steps, readings, unit = values[kind]
    parts = [
        pd.DataFrame({"t_s": np.cumsum(line[steps]) / 1e6, "gpu": float(line["gpu"]),
                      "value": np.asarray(line[readings], float) / unit})
        for line in lines
        if line["src"] == "nvml_fine" and line[steps] and (only is None or line["gpu"] in only)
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["t_s", "gpu", "value"], dtype=float)


def counters(lines: Iterable[Mapping[str, Any]], only: Collection[int] | None = None) -> pd.DataFrame:
    """Readings of the energy counters: t_s, gpu, energy_mj. Recordings made elsewhere may have them in each sample."""
    rows = [
        [line["t"], line["gpu"], line["energy_mj"]]
        for line in lines
        if line["src"] in ("nvml", "nvml_fine") and line.get("energy_mj") is not None
        and (only is None or line["gpu"] in only)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["t_s", "gpu", "energy_mj"], dtype=float)


Meters = Mapping[float, tuple[np.ndarray, np.ndarray, float | None]]


def meters(counted: pd.DataFrame) -> Meters:
    """Times, readings and usual period of each GPU's energy counter, from `counters`."""
    whose, when, read = (counted[name].to_numpy(float) for name in ("gpu", "t_s", "energy_mj"))
    found = {}
    for one in np.unique(whose).tolist():
        mine = np.flatnonzero(whose == one)
        mine = mine[np.argsort(when[mine], kind="stable")]
        found[one] = when[mine], read[mine], period_s(when[mine])
    return found


def energy_j(counted: Meters, gpus: Collection[float], start_s: float, end_s: float) -> float | None:
    """Energy of all `gpus` over [start, end] in J: their `meters` interpolated at both ends.

    None unless each GPU has readings around both ends, no further apart than twice the usual period, and its counter
    never falls (it starts anew when the driver is loaded again).
    """
    if not (np.isfinite(start_s) and np.isfinite(end_s)) or start_s >= end_s or not len(gpus):
        return None
    total = 0.0
    for one in gpus:
        times, counter, period = counted.get(float(one), (np.empty(0), np.empty(0), None))
        if period is None or times[0] > start_s or times[-1] < end_s:
            return None
        first, last = int(np.searchsorted(times, start_s, "right")) - 1, int(np.searchsorted(times, end_s, "left"))
        edges = [times[min(first + 1, len(times) - 1)] - times[first], times[last] - times[max(last - 1, 0)]]
        if max(edges) > 2 * period + 1e-9 or (np.diff(counter[first : last + 1]) < 0).any():
            return None
        ends = np.interp([start_s, end_s], times, counter)
        total += float(ends[1] - ends[0]) / 1000
    return total


@dataclass(frozen=True)
class Watched:
    """What a session's telemetry has of its GPUs: `samples`, `driver_samples` by kind and `meters`."""

    samples: Samples
    fine: Mapping[str, Samples]
    meters: Meters

    @cached_property
    def gpus(self) -> list[float]:
        found: list[float] = self.samples.frame["gpu"].unique().tolist()
        return found

    @cached_property
    def answered(self) -> Samples:
        """The samples with a utilization or a power."""
        frame = self.samples.frame
        return Samples(frame[frame[["util", "power_w"]].notna().any(axis=1)])

    @cached_property
    def answered_by_gpu(self) -> list[Samples]:
        return _by_gpu(self.answered.frame, self.gpus)


def watched(lines: Sequence[Mapping[str, Any]], only: Collection[int] | None = None) -> Watched:
    """From a session's telemetry lines; `only` as for `samples`."""
    return Watched(
        Samples(samples(lines, only)),
        {kind: Samples(driver_samples(lines, kind, only)) for kind in ("util", "power")},
        meters(counters(lines, only)),
    )


def columns(gpu: Watched, run: Mapping[Any, Any], naive: tuple[float, float], coverage_min: float) -> dict[str, Any]:
    """The gpu_ columns of one run.

    `gpu`: of its session; `run`: its row of table `runs`; `naive`: clip.naive_span. Means are over GPUs and time. Where
    the samples cover less than `coverage_min` of the window, every value in it is withheld, with the reason in
    gpu_refused; without a GPU all is None.
    """
    values: dict[str, Any] = {"gpu_count": None, "gpu_refused": None}
    if gpu.samples.frame.empty:
        return values
    padded = gpu.samples.between(*naive).groupby("gpu")[["util", "power_w"]].mean()  # every GPU counts the same
    values |= {
        "gpu_count": len(gpu.gpus),
        "gpu_util_naive_pct": mean(padded["util"]),
        "gpu_power_naive_w": mean(padded["power_w"]),
    }
    timed = pd.notna(run["t_start_s"]) and pd.notna(run["t_end_s"])
    run_j = energy_j(gpu.meters, gpu.gpus, float(run["t_start_s"]), float(run["t_end_s"])) if timed else None
    values |= {"gpu_energy_run_j": run_j, "gpu_energy_run_per_token_j": _per(run_j, run["output_tokens"])}
    if pd.isna(run["window_s"]):
        return values
    start_s, end_s = float(run["window_start_s"]), float(run["window_end_s"])
    covered = _coverage(gpu.answered_by_gpu, start_s, end_s)
    values |= {"gpu_coverage": covered, "gpu_samples": len(gpu.answered.between(start_s, end_s)),
               "gpu_refused": refusal(covered, coverage_min)}  # fmt: skip
    if values["gpu_refused"] is None:
        window_j = energy_j(gpu.meters, gpu.gpus, start_s, end_s)
        values |= _in_window(gpu, window_j, run, start_s, end_s, coverage_min)
        values["gpu_throttled"] = throttle.throttled(values)
    return values


def _in_window(
    gpu: Watched, window_j: float | None, run: Mapping[Any, Any], start_s: float, end_s: float, coverage_min: float
) -> dict[str, Any]:
    inside = gpu.samples.within(start_s, end_s).copy()
    offered = inside[list(_SAMPLED)].notna().mean()
    rare = offered.index[offered < coverage_min]  # offered now and then: a mean over it is of something else
    inside[rare] = np.nan
    of_run = inside
    if pd.notna(run["t_start_s"]):
        of_run = gpu.samples.between(float(run["t_start_s"]), float(run["t_end_s"]))
    by_gpus = inside.groupby("gpu")
    each = by_gpus[list(_SAMPLED)].mean()
    power, window_s = mean(each["power_w"]), float(run["window_s"])
    throughput = run["window_throughput_tok_s"]
    memory = by_gpus["mem_used"].max()
    by_gpu = each["util"]
    from_energy = window_j / window_s / len(by_gpu) if window_j is not None and window_s > 0 else None
    return {
        "gpu_util_pct": mean(by_gpu),
        "gpu_util_se_pct": standard_error(inside, "util", start_s),
        "gpu_util_spread_pct": float(by_gpu.max() - by_gpu.min()) if len(by_gpu) > 1 else None,
        "gpu_util_fine_pct": _fine(gpu.fine["util"], start_s, end_s, coverage_min),
        "gpu_power_w": power,
        "gpu_power_se_w": standard_error(inside, "power_w", start_s),
        "gpu_power_peak_w": largest(gpu.fine["power"].within(start_s, end_s)["value"]),
        "gpu_power_energy_w": from_energy,
        "gpu_power_limit_w": mean(each["power_limit_w"]),
        "gpu_power_share": largest(each["power_w"] / each["power_limit_w"]),
        "gpu_sm_active_pct": mean(each["gpm_sm_pct"]),
        "gpu_tensor_active_pct": mean(each["gpm_tensor_pct"]),
        "gpu_dram_active_pct": mean(each["gpm_dram_pct"]),
        "gpu_sm_clock_mhz": mean(each["sm"]),
        "gpu_sm_clock_share": _least(each["sm"] / of_run.groupby("gpu")["sm"].max()),
        "gpu_throttled_share": throttle.share(inside["throttle"]),
        "gpu_throttle_reasons": throttle.names(inside["throttle"]),
        "gpu_memory_gib": float(memory.sum()) / GIB if memory.notna().any() else None,
        "gpu_energy_j": window_j,
        "gpu_energy_per_token_j": _per(window_j, throughput * window_s if pd.notna(throughput) else None),
        "gpu_temperature_c": largest(inside["temp"]),
        "gpu_note": _note(power, from_energy, by_gpu),
    }


def _by_gpu(frame: pd.DataFrame, gpus: Iterable[float]) -> list[Samples]:
    whose = frame["gpu"].to_numpy(float)
    return [Samples(frame[whose == one]) for one in gpus]


def _coverage(by_gpu: Iterable[Samples], start_s: float, end_s: float) -> float | None:
    """The lowest coverage of any GPU: one that stopped answering is missing from every mean over all of them."""
    each = [mine.coverage(start_s, end_s) for mine in by_gpu]
    return None if None in each else min(each)  # type: ignore[type-var]


def _fine(samples: Samples, start_s: float, end_s: float, coverage_min: float) -> float | None:
    gpus = samples.frame["gpu"].unique()
    covered = _coverage(_by_gpu(samples.frame, gpus), start_s, end_s) if len(gpus) else None
    return None if refusal(covered, coverage_min) else mean(samples.within(start_s, end_s)["value"])


def _note(power_w: float | None, from_energy_w: float | None, util_by_gpu: pd.Series) -> str | None:
    """What a reader of the GPU's values should know, else None."""
    notes = []
    if power_w and from_energy_w is not None and abs(from_energy_w / power_w - 1) > POWER_TOLERANCE:
        notes.append(f"the energy counter gives {from_energy_w:.0f} W, the power readings {power_w:.0f} W")
    idle = int((util_by_gpu < IDLE_PCT).sum())
    if 0 < idle < len(util_by_gpu):
        notes.append(f"{idle} of {len(util_by_gpu)} GPUs idle throughout: the means take them in")
    return "; ".join(notes) or None


def _least(series: pd.Series) -> float | None:
    return float(series.min()) if series.notna().any() else None


def _per(whole: float | None, count: Any) -> float | None:
    return None if whole is None or pd.isna(count) or not count else whole / float(count)
