"""Causes that the GPUs' telemetry speaks of: compute, memory bandwidth, power, imbalance, kernel launch."""

from __future__ import annotations

import pandas as pd
from scipy.stats import t as student

from benchbook.claims import busy
from benchbook.claims.candidate import (
    Finding,
    Point,
    finding,
    gate,
    mean,
    no_gpu,
    percent,
    untested,
    watched,
    without_error,
    without_repeat,
)
from benchbook.claims.estimate import Estimate, of_runs
from benchbook.derive import throttle

DRAM_BOUND, OVER_FLOOR_MAX = 0.6, 2.0
POWER_TOLERANCE = 0.05  # of sensors that sample a quarter of the time
_JOINING = ("tensor-parallel-size", "tp-size", "pipeline-parallel-size", "pp-size", "ep-size")


def _utilization(point: Point) -> Estimate | None:
    return mean(point.telemetry, "gpu_util_pct", 0.01, "gpu_util_se_pct")


def _power(point: Point) -> Estimate | None:
    """Mean power over the limit; its standard error from that of the power."""
    samples = point.telemetry
    limits = samples["gpu_power_limit_w"].where(samples["gpu_power_limit_w"] > 0)
    return mean(samples.assign(power_se=samples["gpu_power_se_w"] / limits), "gpu_power_share", se="power_se")


def compute(point: Point) -> Finding:
    used, power = _utilization(point), _power(point)
    sms, tensor = (mean(point.telemetry, f"gpu_{name}_active_pct", 0.01) for name in ("sm", "tensor"))
    measurement = "; ".join((percent("utilization", used), percent("power over the limit", power),
                             percent("SMs active", sms), percent("tensor cores active", tensor)))  # fmt: skip
    contrary = used is not None and power is not None and power.below(busy.LOW_POWER) and (
        used.below(busy.LOW_UTILIZATION) or used.above(busy.HIGH_UTILIZATION)
    )  # fmt: skip
    return finding(
        measurement, gate(point, watched(point)), contrary,
        "Power stays under 70 % of the limit while the GPUs are "
        + ("idle for 30 % of the time or more." if used is not None and used.value < busy.HIGH_UTILIZATION
           else "busy: kernels run that do not compute much."),
        "Utilization and power leave it open, and utilization says only that any kernel ran; a kernel timeline or "
        "lower clocks would tell." + without_error(used, power),
    )  # fmt: skip


def memory_bandwidth(point: Point) -> Finding:
    dram = mean(point.telemetry, "gpu_dram_active_pct", 0.01)
    floor = _over_floor(point)
    if dram is None and floor is None and not point.booking["node"]["gpus"]:
        return untested(no_gpu(point) or "The node has no GPU.")
    if dram is None and floor is None:
        return untested("Neither the GPUs' DRAM activity (GPM) nor a byte floor is known: give the model's "
                        "sizes and the node's memory bandwidth, or read GPM on a GPU that offers it.")  # fmt: skip
    told = [percent("DRAM bandwidth used", dram)]
    if floor is not None and point.floor is not None:
        error = "no standard error" if floor.se is None else f"SE {floor.se:.2g}"
        told.append(f"step {floor.value:.2f} times ({error}) the byte floor of {point.floor['floor_ms']:.2f} ms")
    gates = [watched(point)] if dram is not None else []
    contrary = dram.below(DRAM_BOUND) if dram is not None else floor is not None and floor.above(OVER_FLOOR_MAX)
    return finding(
        "; ".join(told), gate(point, *gates), contrary,
        f"DRAM bandwidth used stays under {100 * DRAM_BOUND:.0f} %." if dram is not None else
        f"The step takes more than {OVER_FLOOR_MAX:g} times what its bytes need.",
        "DRAM activity or the byte floor leave it open; DRAM counters of a kernel timeline would tell."
        + (without_error(dram) if dram is not None else without_repeat(floor)),
    )  # fmt: skip


def _over_floor(point: Point) -> Estimate | None:
    """Step over byte floor; its standard error from the 95 % interval by t over sessions."""
    row = point.floor
    if row is None or pd.isna(row["over_floor"]):
        return None
    low, high, df = row["over_floor_low"], row["over_floor_high"], point.floor_sessions - 1
    if pd.isna(low) or pd.isna(high) or df < 1:
        return Estimate(float(row["over_floor"]))
    return Estimate(float(row["over_floor"]), float(high - low) / 2 / float(student.ppf(0.975, df)), df)


def power(point: Point) -> Finding:
    samples, share = point.telemetry, _power(point)
    held, clock = samples["gpu_throttled_share"], samples["gpu_sm_clock_share"]
    if share is None and held.isna().any() and clock.isna().any():
        return untested("The GPUs offered neither power, clock nor the reasons for throttling: read them from "
                        "a driver that does.")  # fmt: skip
    told = [percent("power over the limit", share),
            f"throttled in {100 * held.max():.1f} % of the samples" if held.notna().all() else "throttling not offered",
            f"SM clock at {100 * clock.min():.1f} % of its highest" if clock.notna().all() else "clock not offered"]
    seen = samples["gpu_throttled"].notna().any()
    contrary = bool(
        not seen and share is not None and share.scaled(1 + POWER_TOLERANCE).below(throttle.POWER_MAX)
        and held.notna().all() and held.max() <= throttle.SHARE_MAX
        and clock.notna().all() and clock.min() >= throttle.CLOCK_MIN
    )  # fmt: skip
    return finding(
        "; ".join(told), gate(point, watched(point)), contrary,
        "Power stays clear of the limit by more than the sensor's 5 %, and nothing lowered the clock.",
        "The GPUs were held back: raise the limit or lock the clocks, and measure again." if seen else
        "Power, clock and throttling reasons together do not clear it; a run at another power limit would tell."
        + without_error(share),
    )  # fmt: skip


def imbalance(point: Point) -> Finding:
    samples = point.telemetry
    if (samples["gpu_count"] == 1).all():
        return untested("There is one GPU, and no other that could wait for it.")
    spread = mean(samples, "gpu_util_spread_pct", 1.0, "gpu_util_se_pct")
    if spread is None:
        return untested("The spread of utilization over the GPUs is not known: sample all GPUs of the server.")
    joined = [name for name in _JOINING if int(point.server_args.get(name) or 1) > 1]
    joined += ["enable-expert-parallel"] if point.server_args.get("enable-expert-parallel") else []
    said = "a GPU that waits for another reads idle"
    if joined:
        said += f" ({', '.join(joined)} joins them, and one that waits in a collective runs a kernel)"
    error = "no standard error" if spread.se is None else f"SE {spread.se:.2g}"
    uneven = (point.occupancy["imbalance"].fillna(False).astype(bool)).any()
    return finding(
        f"the GPUs' utilization spreads {spread.value:.1f} pp ({error})",
        gate(point, watched(point), (said, not joined)), spread.below(busy.IMBALANCE_PP),
        f"The spread stays under {busy.IMBALANCE_PP:g} pp.",
        "The GPUs are busy to different degrees: a kernel timeline of all ranks would tell who waits." if uneven else
        "The spread does not clear it; per-GPU SM activity, or a kernel timeline of all ranks, would tell."
        + without_error(spread),
    )  # fmt: skip


def kernel_launch(point: Point) -> Finding:
    used, sms = _utilization(point), mean(point.telemetry, "gpu_sm_active_pct", 0.01)
    told = [percent("utilization", used), percent("SMs active", sms)]
    here, there = (_idle(frame) for frame in (point.occupancy, point.lowest))
    if here is not None:
        told.append(f"idle {here.value:.2f} ms a step at concurrency {point.concurrency}")
    if here is not None and there is not None:
        told.append(f"{there.value:.2f} ms at {int(point.lowest['concurrency'].iloc[0])}")
    cost = point.fixed_cost
    if cost is not None and pd.isna(cost["refused"]) and pd.notna(cost["t_fixed_ms"]):
        told.append(f"fixed cost of a step {cost['t_fixed_ms']:.2f} ms")
    contrary = (used is not None and sms is not None and used.above(busy.HIGH_UTILIZATION)
                and sms.above(busy.LOW_UTILIZATION))  # fmt: skip
    return finding(
        "; ".join(told), gate(point, watched(point)), contrary,
        "The GPUs are never long without a kernel, and most SMs are at work while one runs.",
        "Idle time, or kernels that fill few SMs, leave it open, as idle time also shrinks with batch where longer "
        "kernels hide launches; a kernel timeline, or an arm with full CUDA graphs against one without, would tell."
        + without_error(used, sms),
    )  # fmt: skip


def _idle(occupancy: pd.DataFrame) -> Estimate | None:
    known = occupancy["idle_ms"].dropna()
    return of_runs([float(value) for value in known])
