"""GPU readings through NVML. Without a driver there is no reading at all, never a zero (engines.md 5)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchbook.measure import nvml, visible
from benchbook.measure.gpm import Gpm

CLOCK_SM, CLOCK_MEM, TEMPERATURE_GPU = 1, 2, 0
POWER_SAMPLES, UTILIZATION_SAMPLES = 0, 1
_VALUE_FIELDS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by nvmlValueType_t


class Gpus:
    """The GPUs of this node; `why_none` says in words why there are none.

    `listed` and `order` are CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER of the server. Every GPU is read whatever they
    say; `describe` tells which of them the server can see.
    """

    def __init__(self, listed: str | None = None, order: str | None = None) -> None:
        self._listed, self._order = listed, order
        self._handles: list[tuple[int, Any]] = []
        self._gpm: dict[int, Gpm] = {}
        self._last_us: dict[tuple[int, int], int] = {}
        self.why_none = nvml.start()
        self._started = self.why_none is None
        if not self._started:
            return
        for index in range(nvml.ask("nvmlDeviceGetCount") or 0):
            handle = nvml.ask("nvmlDeviceGetHandleByIndex", index)
            if handle is not None:
                self._handles.append((index, handle))
        if not self._handles:
            self.why_none = "NVML lists no GPU"

    def describe(self) -> dict[str, Any]:
        """Driver version and, for each GPU, its NVML index, name, uuid, whether the server sees it (None: cannot be
        told), memory (bytes), enforced power limit (W), MIG mode, and whether GPM is offered."""
        if not self._handles:
            return {"why_none": self.why_none, "driver": None, "devices": []}
        devices = [
            {
                "gpu": index,
                "name": nvml.text(nvml.ask("nvmlDeviceGetName", handle)),
                "uuid": nvml.text(nvml.ask("nvmlDeviceGetUUID", handle)),
                "memory_bytes": nvml.field(nvml.ask("nvmlDeviceGetMemoryInfo", handle), "total"),
                "power_limit_w": nvml.milli(nvml.ask("nvmlDeviceGetEnforcedPowerLimit", handle)),
                "mig": _first(nvml.ask("nvmlDeviceGetMigMode", handle)),
                "gpm": bool(nvml.field(nvml.ask("nvmlGpmQueryDeviceSupport", handle), "isSupportedDevice")),
            }
            for index, handle in self._handles
        ]
        seen = visible.seen(
            self._listed, self._order, [device["uuid"] for device in devices], [device["name"] for device in devices]
        )
        return {
            "why_none": None,
            "driver": nvml.text(nvml.ask("nvmlSystemGetDriverVersion")),
            "devices": [{**device, "visible": mark} for device, mark in zip(devices, seen, strict=True)],
        }

    def sample(self) -> list[dict[str, Any]]:
        """One reading per GPU; a value the GPU does not offer is None.

        util and memutil in %, power in W, clocks in MHz, memory in bytes, temperature in C,
        `throttle` the bits of nvmlClocksEventReasons, gpm_* as gpm.py says. About 1 ms per GPU (H200).
        """
        readings = []
        for index, handle in self._handles:
            busy = nvml.ask("nvmlDeviceGetUtilizationRates", handle)
            reasons = nvml.ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
            if reasons is None:  # its name before driver 535
                reasons = nvml.ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
            readings.append({
                "gpu": index,
                "util": nvml.field(busy, "gpu"),
                "memutil": nvml.field(busy, "memory"),
                "power_w": nvml.milli(nvml.ask("nvmlDeviceGetPowerUsage", handle)),
                "power_limit_w": nvml.milli(nvml.ask("nvmlDeviceGetEnforcedPowerLimit", handle)),
                "sm": nvml.ask("nvmlDeviceGetClockInfo", handle, CLOCK_SM),
                "mem_clock": nvml.ask("nvmlDeviceGetClockInfo", handle, CLOCK_MEM),
                "mem_used": nvml.field(nvml.ask("nvmlDeviceGetMemoryInfo", handle), "used"),
                "temp": nvml.ask("nvmlDeviceGetTemperature", handle, TEMPERATURE_GPU),
                "throttle": reasons,
                **self._gpm_of(index, handle).read(),
            })
        return readings

    def fine(self) -> list[dict[str, Any]]:
        """What the driver itself sampled since the call before, and its energy counter: one entry per GPU that offers
        either.

        `util_us`, `power_us`: Unix time of the first sample in µs, then the steps to each later one; `util_pct`,
        `power_mw` the values. `energy_mj`: mJ since the driver was loaded, None where it is not counted. The driver
        keeps a few seconds of samples: ask about once a second, not more often: the counter alone takes 4 ms of CPU
        time (H200), four times what all of `sample` does.
        """
        entries = []
        for index, handle in self._handles:
            util_us, util_pct = self._driver_samples(index, handle, UTILIZATION_SAMPLES)
            power_us, power_mw = self._driver_samples(index, handle, POWER_SAMPLES)
            energy_mj = nvml.ask("nvmlDeviceGetTotalEnergyConsumption", handle)
            if util_us or power_us or energy_mj is not None:
                entries.append({"gpu": index, "util_us": util_us, "util_pct": util_pct, "power_us": power_us,
                                "power_mw": power_mw, "energy_mj": energy_mj})  # fmt: skip
        return entries

    def close(self) -> None:
        """Free GPM's memory and release NVML; safe to call twice."""
        for gpm in self._gpm.values():
            gpm.close()
        self._gpm, self._handles = {}, []
        if self._started:
            self._started = False
            nvml.stop()

    def _gpm_of(self, index: int, handle: Any) -> Gpm:
        if index not in self._gpm:
            self._gpm[index] = Gpm(handle)
        return self._gpm[index]

    def _driver_samples(self, index: int, handle: Any, kind: int) -> tuple[list[int], list[float]]:
        """Steps (µs) and values of one kind of sample that are newer than the last one taken."""
        since = self._last_us.get((index, kind), 0)
        answer = nvml.ask("nvmlDeviceGetSamples", handle, kind, since)
        if answer is None:
            return [], []
        kind_of_value, samples = answer
        name = _VALUE_FIELDS[kind_of_value]
        taken = sorted(
            (int(sample.timeStamp), getattr(sample.sampleValue, name)) for sample in samples if sample.timeStamp > since
        )
        if not taken:
            return [], []
        times = [time for time, _ in taken]
        self._last_us[index, kind] = times[-1]
        return [times[0], *(after - before for before, after in pairwise(times))], [
            value for _, value in taken
        ]


def _first(value: Any) -> Any:
    return None if value is None else value[0]
