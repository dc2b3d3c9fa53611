"""GPU figures inside a run beside the naive mean over the whole telemetry file (method.md 9), from derive/gpu.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchbook.check.clock import Span
from benchbook.check.figures import FROM_TELEMETRY
from benchbook.derive import gpu

ENERGY_CLOCK_MAX = 0.02  # what the clock may be off, in shares of the run, for its energy to be told


def figures(
    lines: Sequence[Mapping[str, Any]], span: Span | None, clip: tuple[float, float] | None, output_tokens: int | None,
    coverage_min: float,
) -> tuple[dict[str, Any], str | None]:  # fmt: skip
    """By the names of FROM_TELEMETRY, and why the GPUs count as throttled, None where they do not or it is not known.

    Utilization in %, power in W per GPU, energy of the whole run in J over all GPUs. `span`: the run; `clip`: Unix
    seconds, start and end of what is steady in it, here narrowed by what the clock may be off. Without them, and where
    samples cover less than `coverage_min`, only the naive figures stand.
    """
    placed = span is not None and clip is not None
    start_s, end_s = (clip[0] + span.error_s, clip[1] - span.error_s) if span and clip else (math.inf, -math.inf)
    told = span is not None and span.error_s <= ENERGY_CLOCK_MAX * (span.end_s - span.start_s)
    found = gpu.columns(
        gpu.watched(lines),
        {
            "t_start_s": span.start_s if span and told else None, "t_end_s": span.end_s if span and told else None,
            "window_s": end_s - start_s if placed and end_s > start_s else None, "window_start_s": start_s,
            "window_end_s": end_s, "window_throughput_tok_s": None, "output_tokens": output_tokens,
        },
        (-math.inf, math.inf), coverage_min,
    )  # fmt: skip
    names = {
        "gpus": "gpu_count", "utilization_naive_pct": "gpu_util_naive_pct", "power_naive_w": "gpu_power_naive_w",
        "utilization_run_pct": "gpu_util_pct", "power_run_w": "gpu_power_w", "energy_j": "gpu_energy_run_j",
        "energy_per_token_j": "gpu_energy_run_per_token_j", "telemetry_coverage": "gpu_coverage",
        "telemetry_samples": "gpu_samples",
    }  # fmt: skip
    values = {name: found.get(names[name]) for name in FROM_TELEMETRY}
    if found.get("gpu_refused") is not None and values["telemetry_coverage"] is None:
        values["telemetry_coverage"] = 0.0
    return values, found.get("gpu_throttled")
