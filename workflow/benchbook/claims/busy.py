"""Busy and idle time of a decode step, and what utilization and power together say (method.md 9).

NVML's utilization is the share of time in which any kernel ran: a GPU that runs one thread is busy, one that waits
inside a collective is busy, and a gap between two kernels of one CUDA graph is idle.
"""

from __future__ import annotations

HIGH_UTILIZATION, LOW_UTILIZATION = 0.9, 0.7
HIGH_POWER, LOW_POWER = 0.85, 0.7
IMBALANCE_PP, ERRORS = 5.0, 3.0

COMPUTE_OR_POWER = "compute or power"
MEMORY_OR_COMMUNICATION = "memory, communication or tiny kernels"
WAITING = "waiting"
CONTRADICTORY = "contradictory"
INDETERMINATE = "indeterminate"


def busy_ms(utilization: float, step_ms: float) -> float:
    """Time of a step of `step_ms` in which any kernel ran; `utilization` is a share, not a percentage."""
    return utilization * step_ms


def idle_ms(utilization: float, step_ms: float) -> float:
    """Time of a step of `step_ms` in which no kernel ran."""
    return (1 - utilization) * step_ms


def quadrant(utilization: float, power_share: float) -> str:
    """What utilization and power over its limit, both shares, say together; between the bounds they say nothing.

    Busy at high power is contradicted by idle at high power: one of the two readings is then of another time.
    """
    if utilization >= HIGH_UTILIZATION:
        if power_share >= HIGH_POWER:
            return COMPUTE_OR_POWER
        return MEMORY_OR_COMMUNICATION if power_share <= LOW_POWER else INDETERMINATE
    if utilization <= LOW_UTILIZATION:
        if power_share >= HIGH_POWER:
            return CONTRADICTORY
        return WAITING if power_share <= LOW_POWER else INDETERMINATE
    return INDETERMINATE


def imbalance(spread_pp: float, spread_se_pp: float) -> bool:
    """Whether the highest GPU's utilization less the lowest's, in percentage points, is above 5 and above three of its
    standard errors."""
    return spread_pp > IMBALANCE_PP and spread_pp > ERRORS * spread_se_pp


def window_cover(run_s: float, window_s: float) -> float:
    """Share of a telemetry window of `window_s` that a run of `run_s` inside it fills."""
    return run_s / window_s


def utilization_if_padded(utilization: float, window_s: float, run_s: float) -> float:
    """Upper bound of a run's utilization when the mean over `window_s` took in the idle time around a run of `run_s`:
    all that was busy, was busy during the run."""
    return utilization * window_s / run_s


def stalled_share(mean_ms: float, median_ms: float, p90_ms: float) -> float:
    """Share of requests in the slow one of two groups of TTFT, from mean, median and 90th percentile alone:
    (mean - median) / (p90 - median), where the median is of the fast group and p90 of the slow one (method.md 8).

    Raises ValueError unless p90 is above the median.
    """
    if not p90_ms > median_ms:
        raise ValueError(f"p90 ({p90_ms} ms) is not above the median ({median_ms} ms): there is no slow group")
    return (mean_ms - median_ms) / (p90_ms - median_ms)
