"""GPU readings through NVML. Without a driver there is no reading at all, never a zero (engines.md 5)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

try:
    import pynvml
except ImportError:
    pynvml = None


class Gpus:
    """The GPUs of this node; `why_none` says in words why there are none."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self.why_none: str | None = None
        if pynvml is None:
            self.why_none = "the Python package nvidia-ml-py is not installed"
            return
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            self.why_none = f"NVML is not available ({error})"
            return
        self._handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        if not self._handles:
            self.why_none = "NVML lists no GPU"

    def describe(self) -> dict[str, Any]:
        """Driver version and, for each GPU, name, memory (bytes), enforced power limit (W) and MIG mode."""
        if not self._handles:
            return {"why_none": self.why_none, "driver": None, "devices": []}
        return {
            "why_none": None,
            "driver": _text(_try(pynvml.nvmlSystemGetDriverVersion)),
            "devices": [
                {
                    "name": _text(_try(pynvml.nvmlDeviceGetName, handle)),
                    "memory_bytes": _field(_try(pynvml.nvmlDeviceGetMemoryInfo, handle), "total"),
                    "power_limit_w": _milli(_try(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)),
                    "mig": _first(_try(pynvml.nvmlDeviceGetMigMode, handle)),
                }
                for handle in self._handles
            ],
        }

    def sample(self) -> list[dict[str, Any]]:
        """One reading per GPU; a value the GPU does not offer is None. Power in W, memory in bytes, energy in mJ."""
        return [
            {
                "gpu": index,
                "util": _field(_try(pynvml.nvmlDeviceGetUtilizationRates, handle), "gpu"),
                "memutil": _field(_try(pynvml.nvmlDeviceGetUtilizationRates, handle), "memory"),
                "power_w": _milli(_try(pynvml.nvmlDeviceGetPowerUsage, handle)),
                "power_limit_w": _milli(_try(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)),
                "sm": _try(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
                "mem_clock": _try(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_MEM),
                "mem_used": _field(_try(pynvml.nvmlDeviceGetMemoryInfo, handle), "used"),
                "temp": _try(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
                "throttle": _try(pynvml.nvmlDeviceGetCurrentClocksEventReasons, handle),
                "energy_mj": _try(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle),
            }
            for index, handle in enumerate(self._handles)
        ]

    def close(self) -> None:
        if self._handles:
            with contextlib.suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()


def _try(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except pynvml.NVMLError:
        return None


def _field(value: Any, name: str) -> Any:
    return None if value is None else getattr(value, name)


def _first(value: Any) -> Any:
    return None if value is None else value[0]


def _milli(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
