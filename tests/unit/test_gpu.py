"""GPU readings: known answers in the right units, and None, never 0, for what package, driver or GPU do not offer."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchbook.measure import nvml, visible
from benchbook.measure.gpu import Gpus
from benchbook.measure.telemetry import Sampler
from fakenvml import ANSWERS, FakeNvml, LibraryNotFound

KNOWN = {
    "gpu": 0, "util": 97, "memutil": 41, "power_w": 612.5, "power_limit_w": 700.0, "sm": 1980, "mem_clock": 3201,
    "mem_used": 64, "temp": 61, "throttle": 4,
}  # fmt: skip
GPM = {"gpm_sm_pct": 95.5, "gpm_occupancy_pct": 14.0, "gpm_tensor_pct": 93.0, "gpm_dram_pct": 16.25}
Install = Callable[[FakeNvml], FakeNvml]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    def put(fake: FakeNvml) -> FakeNvml:
        monkeypatch.setattr(nvml, "pynvml", fake)
        return fake

    return put


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "pynvml", None)
    gpus = Gpus()
    assert gpus.describe() == {"why_none": "the Python package nvidia-ml-py is not installed", "driver": None,
                               "devices": []}  # fmt: skip
    assert gpus.sample() == gpus.fine() == []
    gpus.close()


def test_without_a_driver_it_says_so(install: Install) -> None:
    class NoLibrary(FakeNvml):
        def _functions(self) -> dict[str, Any]:
            def missing() -> None:
                raise LibraryNotFound

            return {**super()._functions(), "nvmlInit": missing}

    fake = install(NoLibrary())
    gpus = Gpus()
    assert gpus.why_none == "NVML is not available (NVML Shared Library Not Found)"
    assert gpus.sample() == gpus.fine() == []
    gpus.close()
    assert "nvmlShutdown" not in fake.calls


def test_every_field_in_its_unit(install: Install) -> None:
    install(FakeNvml(gpus=2))
    gpus = Gpus()
    assert gpus.sample() == [{**KNOWN, "gpu": gpu, **dict.fromkeys(GPM)} for gpu in (0, 1)]
    assert gpus.sample() == [{**KNOWN, "gpu": gpu, **GPM} for gpu in (0, 1)]
    device = gpus.describe()["devices"][1]
    assert device == {"gpu": 1, "name": "NVIDIA H200", "uuid": "GPU-aaaa", "memory_bytes": 150, "power_limit_w": 700.0,
                      "mig": 0, "gpm": True, "visible": True}  # fmt: skip


def test_what_a_gpu_refuses_is_none_and_not_zero(install: Install) -> None:
    install(FakeNvml(refused={*ANSWERS, "nvmlDeviceGetClockInfo", "nvmlDeviceGetSamples"}))
    gpus = Gpus()
    (reading,) = gpus.sample()
    assert reading.pop("gpu") == 0
    assert len(reading) == len(KNOWN) + len(GPM) - 1 and set(reading.values()) == {None}
    assert gpus.fine() == []
    (device,) = gpus.describe()["devices"]
    assert device["memory_bytes"] is device["power_limit_w"] is device["mig"] is None and device["gpm"] is False


@pytest.mark.parametrize(("name", "lost"), [
    ("nvmlDeviceGetUtilizationRates", {"util", "memutil"}), ("nvmlDeviceGetPowerUsage", {"power_w"}),
    ("nvmlDeviceGetEnforcedPowerLimit", {"power_limit_w"}), ("nvmlDeviceGetClockInfo", {"sm", "mem_clock"}),
    ("nvmlDeviceGetMemoryInfo", {"mem_used"}), ("nvmlDeviceGetTemperature", {"temp"}),
    ("nvmlGpmQueryDeviceSupport", {*GPM}), ("nvmlGpmSampleAlloc", {*GPM}), ("nvmlGpmSampleGet", {*GPM}),
    ("nvmlGpmMetricsGet", {*GPM}), ("c_nvmlGpmMetricsGet_t", {*GPM}), ("nvmlDeviceGetMigMode", set()),
])  # fmt: skip
def test_a_function_that_an_older_binding_lacks_costs_only_its_own_field(
    install: Install, name: str, lost: set[str]
) -> None:
    install(FakeNvml(absent={name}))
    gpus = Gpus()
    gpus.describe()
    gpus.sample()
    assert gpus.sample() == [{**KNOWN, **GPM, **dict.fromkeys(lost)}]


def test_throttle_reasons_by_their_older_name(install: Install) -> None:
    install(FakeNvml(absent={"nvmlDeviceGetCurrentClocksEventReasons"}))
    assert Gpus().sample()[0]["throttle"] == 8


def test_gpm_values_that_are_errors_or_not_numbers_are_none(install: Install) -> None:
    fake = install(FakeNvml())
    fake.failing, fake.activity[10] = {5}, math.nan
    gpus = Gpus()
    gpus.sample()
    (reading,) = gpus.sample()
    assert reading["gpm_tensor_pct"] is None and reading["gpm_dram_pct"] is None and reading["gpm_sm_pct"] == 95.5


def test_what_was_taken_is_given_back_once(install: Install) -> None:
    fake = install(FakeNvml(gpus=3))
    gpus = Gpus()
    gpus.sample()
    gpus.close()
    gpus.close()
    assert fake.calls["nvmlGpmSampleFree"] == fake.calls["nvmlGpmSampleAlloc"] == 6
    assert fake.calls["nvmlShutdown"] == fake.calls["nvmlInit"] == 1


def test_driver_samples_are_each_handed_over_once(install: Install) -> None:
    fake = install(FakeNvml(refused=set()))
    fake.samples = {0: [(1000, 90_000), (1020, 91_000)], 1: [(900, 50)]}
    gpus = Gpus()
    assert gpus.fine() == [{"gpu": 0, "util_us": [900], "util_pct": [50], "power_us": [1000, 20],
                            "power_mw": [90_000, 91_000], "energy_mj": 70_027_654}]  # fmt: skip
    fake.samples[0].append((1045, 92_000))
    assert gpus.fine() == [{"gpu": 0, "util_us": [], "util_pct": [], "power_us": [1045], "power_mw": [92_000],
                            "energy_mj": 70_027_654}]  # fmt: skip
    fake.refused = {"nvmlDeviceGetTotalEnergyConsumption"}
    fake.samples[1].append((1100, 60))
    assert gpus.fine() == [{"gpu": 0, "util_us": [1100], "util_pct": [60], "power_us": [], "power_mw": [],
                            "energy_mj": None}]  # fmt: skip
    assert gpus.fine() == []
    assert fake.asked_since == [0, 0, 900, 1020, 900, 1045, 1100, 1045]


@pytest.mark.parametrize(("listed", "expected"), [
    (None, [True, True, True]), ("1", [False, True, False]), ("2,0", [True, False, True]), ("", [False] * 3),
    ("-1", [False] * 3), ("0,7,1", [True, False, False]), ("NoDevFiles", [False] * 3),
    ("GPU-bb22", [False, True, False]), ("GPU-b", [False, True, False]), ("GPU-zz", [False] * 3),
    ("GPU-c, 0", [True, False, True]), ("MIG-1234", [None] * 3),
])  # fmt: skip
def test_visible_gpus_follow_the_variable(listed: str | None, expected: list[bool | None]) -> None:
    assert visible.seen(listed, None, ["GPU-aa11", "GPU-bb22", "GPU-cc33"], ["H200"] * 3) == expected


def test_a_number_means_the_same_gpu_only_in_the_same_order() -> None:
    uuids, names = ["GPU-a", "GPU-b"], ["T4", "H200"]
    assert visible.seen("0", None, uuids, names) == [None, None]
    assert visible.seen("0", "PCI_BUS_ID", uuids, names) == [True, False]
    assert visible.seen("GPU-b", None, uuids, names) == [False, True]


def test_the_sampler_writes_each_source_and_tells_its_cost(install: Install, tmp_path: Path) -> None:
    fake = install(FakeNvml(gpus=2))
    fake.samples = {0: [(1000, 90_000)], 1: []}
    with Sampler(tmp_path / "telemetry.jsonl", 50, 50) as sampler:
        deadline = time.monotonic() + 30
        while any(sampler.costs[name].summary()["samples"] < 2 for name in ("gpu", "gpu_fine")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    lines = [json.loads(line) for line in (tmp_path / "telemetry.jsonl").read_text().splitlines()]
    readings = [line for line in lines if line["src"] == "nvml"]
    assert {line["gpu"] for line in readings} == {0, 1}
    assert {name: readings[-1][name] for name in GPM} == GPM
    assert [line["power_mw"] for line in lines if line["src"] == "nvml_fine"][:4] == [[90_000], [90_000], [], []]
    told = sampler.summary()
    assert told["problem"] is None
    assert set(told["sources"]) == {"node", "gpu", "gpu_fine", "metrics", "cgroup"}
    gpu = told["sources"]["gpu"]
    assert 0 < gpu["wall_median_ms"] <= gpu["wall_p99_ms"] <= gpu["wall_max_ms"]
    assert told["cpu_s"] == pytest.approx(sum(source["cpu_s"] for source in told["sources"].values()))


def test_a_node_without_gpu_has_no_gpu_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(nvml, "pynvml", None)
    with Sampler(tmp_path / "telemetry.jsonl", 50, 50) as sampler:
        assert set(sampler.summary()["sources"]) == {"node", "metrics", "cgroup"}
