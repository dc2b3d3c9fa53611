"""A stand-in for the module pynvml with known answers. Functions not in `offered` refuse, those in `absent` are not
there at all, as with an older driver or an older binding."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    pass


class NotSupported(NVMLError):
    def __str__(self) -> str:
        return "Not Supported"


class LibraryNotFound(NVMLError):
    def __str__(self) -> str:
        return "NVML Shared Library Not Found"


ANSWERS: dict[str, Any] = {
    "nvmlDeviceGetName": "NVIDIA H200", "nvmlDeviceGetUUID": b"GPU-aaaa", "nvmlSystemGetDriverVersion": b"580.1",
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150, used=64), "nvmlDeviceGetMigMode": [0, 0],
    "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=41), "nvmlDeviceGetPowerUsage": 612_500,
    "nvmlDeviceGetEnforcedPowerLimit": 700_000, "nvmlDeviceGetTemperature": 61,
    "nvmlDeviceGetCurrentClocksEventReasons": 4, "nvmlDeviceGetCurrentClocksThrottleReasons": 8,
    "nvmlDeviceGetTotalEnergyConsumption": 70_027_654,
    "nvmlGpmQueryDeviceSupport": SimpleNamespace(isSupportedDevice=1),
}  # fmt: skip
ACTIVITY = {2: 95.5, 3: 14.0, 5: 93.0, 10: 16.25}


class FakeNvml:
    """`calls` counts calls by name. `activity`: percent by GPM metric id; `failing`: metric ids that give an error."""

    def __init__(self, gpus: int = 1, refused: set[str] | None = None, absent: set[str] | None = None) -> None:
        self.gpus, self.refused, self.absent = gpus, refused or set(), absent or set()
        self.activity: dict[int, float] = dict(ACTIVITY)
        self.failing: set[int] = set()
        self.samples: dict[int, list[tuple[int, float]]] = {0: [], 1: []}
        self.asked_since: list[int] = []
        self.calls: dict[str, int] = {}
        self.NVMLError = NVMLError

    def __getattr__(self, name: str) -> Any:
        known = {*ANSWERS, *self._functions()}
        if name in self.absent or name not in known:
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            self.calls[name] = self.calls.get(name, 0) + 1
            if name in self.refused:
                raise NotSupported
            function = self._functions().get(name)
            return function(*arguments) if function else ANSWERS[name]

        return call

    def _functions(self) -> dict[str, Any]:
        return {
            "nvmlInit": lambda: None, "nvmlShutdown": lambda: None, "nvmlDeviceGetCount": lambda: self.gpus,
            "nvmlDeviceGetHandleByIndex": lambda index: f"handle {index}",
            "nvmlDeviceGetClockInfo": lambda handle, kind: {1: 1980, 2: 3201}[kind],
            "nvmlDeviceGetSamples": self._samples, "nvmlGpmSampleAlloc": lambda: SimpleNamespace(taken=None),
            "nvmlGpmSampleGet": lambda handle, sample: sample, "nvmlGpmSampleFree": lambda sample: None,
            "nvmlGpmMetricsGet": self._metrics,
            "c_nvmlGpmMetricsGet_t": lambda: SimpleNamespace(
                metrics=[SimpleNamespace(metricId=0, nvmlReturn=0, value=0.0) for _ in range(477)]),
        }  # fmt: skip

    def _samples(self, handle: str, kind: int, since: int) -> tuple[int, list[Any]]:
        self.asked_since.append(since)
        return 1, [
            SimpleNamespace(timeStamp=stamp, sampleValue=SimpleNamespace(uiVal=value, dVal=-1.0))
            for stamp, value in self.samples[kind]
        ]

    def _metrics(self, query: Any) -> Any:
        for item in query.metrics[: query.numMetrics]:
            item.value, item.nvmlReturn = self.activity[item.metricId], int(item.metricId in self.failing) * 3
        return query
