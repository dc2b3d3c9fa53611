"""GPU activity from NVML's performance monitoring (GPM, Hopper and newer): what utilization does not say.

NVML's utilization is the share of time in which any kernel ran. GPM counts how many SMs were busy, how long tensor
cores ran and how much of the DRAM bandwidth was used, without DCGM (engines.md 5).
"""

from __future__ import annotations

import math
from typing import Any

from benchbook.measure import nvml

METRICS = {"gpm_sm_pct": 2, "gpm_occupancy_pct": 3, "gpm_tensor_pct": 5, "gpm_dram_pct": 10}
METRICS_GET_VERSION = 1


class Gpm:
    """Activity of one GPU between two readings. `supported` is false where the GPU or its driver has no GPM."""

    def __init__(self, handle: Any):
        self._handle = handle
        self._samples: list[Any] = []
        self._filled = False
        support = nvml.ask("nvmlGpmQueryDeviceSupport", handle)
        if nvml.field(support, "isSupportedDevice"):
            self._samples = [nvml.ask("nvmlGpmSampleAlloc") for _ in range(2)]
            if None in self._samples:
                self.close()

    @property
    def supported(self) -> bool:
        return bool(self._samples)

    def read(self) -> dict[str, float | None]:
        """Percent of each of METRICS since the reading before; None at the first one and where there is no GPM."""
        values: dict[str, float | None] = dict.fromkeys(METRICS)
        if not self._samples:
            return values
        before, now = self._samples
        if nvml.ask("nvmlGpmSampleGet", self._handle, now) is None:
            self._filled = False
            return values
        if self._filled:
            values.update(_between(before, now))
        self._samples, self._filled = [now, before], True
        return values

    def close(self) -> None:
        """Free what GPM holds; `read` then gives None."""
        for sample in self._samples:
            if sample is not None:
                nvml.ask("nvmlGpmSampleFree", sample)
        self._samples = []


def _between(before: Any, now: Any) -> dict[str, float]:
    query = nvml.structure("c_nvmlGpmMetricsGet_t")
    if query is None:
        return {}
    query.version = METRICS_GET_VERSION
    query.sample1, query.sample2, query.numMetrics = before, now, len(METRICS)
    for index, metric in enumerate(METRICS.values()):
        query.metrics[index].metricId = metric
    answer = nvml.ask("nvmlGpmMetricsGet", query)
    if answer is None:
        return {}
    return {
        name: answer.metrics[index].value
        for index, name in enumerate(METRICS)
        if answer.metrics[index].nvmlReturn == 0 and math.isfinite(answer.metrics[index].value)
    }
