"""The GPU columns: a real recording of a loaded and an idle H200, series of known answer, and what is withheld."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchbook import schema
from benchbook.derive import clip, gpu, telemetry, throttle
from hypothesis import given
from hypothesis import strategies as st

FINE = Path(__file__).parents[1] / "recorded" / "h200-nvml-fine.jsonl.gz"
SETTLING_S = 1.2  # NVML's power reading is an average over the second before


def run_row(start_s: float, end_s: float, **values: Any) -> pd.DataFrame:
    row = dict.fromkeys(schema.TABLES["runs"])
    row |= {"run_id": "s/a_c1_r1", "session_id": "s", "slot": "s1", "arm": "a", "concurrency": 1, "repeat": 1,
            "t_start_s": start_s, "t_end_s": end_s, "window_start_s": start_s, "window_end_s": end_s,
            "window_s": end_s - start_s, "window_throughput_tok_s": 100.0,
            "output_tokens": 100 * (end_s - start_s)}  # fmt: skip
    return pd.DataFrame([row | values])


def one(
    lines: list[dict[str, Any]], run: pd.DataFrame, *, visible: set[int] | None = None, **options: Any
) -> dict[str, Any]:
    (row,) = telemetry.table(telemetry.watched(lines, visible), run, **options).to_dict("records")
    return {str(name): None if pd.isna(value) else value for name, value in row.items()}


def steady(power_w: float, until_s: float, index: int = 0, step_s: float = 0.2, **fields: Any) -> list[dict[str, Any]]:
    """Samples of a GPU at constant power from 0 to `until_s`."""
    return [
        {"t": t, "src": "nvml", "gpu": index, "util": 90, "power_w": power_w, "energy_mj": 5e6 + 1000 * power_w * t,
         **fields}
        for t in np.arange(0, until_s + step_s / 2, step_s).tolist()
    ]  # fmt: skip


@pytest.fixture(scope="module")
def recorded() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """NVML lines of an H200 that idles, multiplies matrices, idles, copies memory and idles, and when it did what."""
    lines = [json.loads(line) for line in gzip.decompress(FINE.read_bytes()).splitlines()]
    return lines, [line for line in lines if line["src"] == "load"]


def part(recorded: tuple[list[dict[str, Any]], list[dict[str, Any]]], which: int) -> dict[str, Any]:
    lines, loads = recorded
    load = loads[which]
    return one(lines, run_row(load["t_start_s"] + SETTLING_S, load["t_end_s"]))


def test_every_field_was_there_on_an_h200(recorded: Any) -> None:
    readings = [line for line in recorded[0] if line["src"] == "nvml"][1:]  # GPM speaks of two samples
    assert len(readings) > 150
    assert {name for reading in readings for name, value in reading.items() if value is None} == set()


def test_activity_of_known_loads(recorded: Any) -> None:
    matmul, copy = part(recorded, 1), part(recorded, 3)
    assert matmul["gpu_tensor_active_pct"] > 85 and copy["gpu_tensor_active_pct"] < 1
    assert copy["gpu_dram_active_pct"] > 80 and matmul["gpu_dram_active_pct"] < 30
    for idle in (part(recorded, 0), part(recorded, 2), part(recorded, 4)):
        assert idle["gpu_util_pct"] == idle["gpu_sm_active_pct"] == idle["gpu_tensor_active_pct"] == 0
        assert idle["gpu_dram_active_pct"] < 0.1
        assert idle["gpu_throttled"] is None


def test_utilisation_is_the_same_for_two_loads_that_differ_in_all_else(recorded: Any) -> None:
    matmul, copy = part(recorded, 1), part(recorded, 3)
    assert matmul["gpu_util_pct"] == pytest.approx(copy["gpu_util_pct"], abs=1)
    assert matmul["gpu_power_w"] > 1.5 * copy["gpu_power_w"]


def test_power_from_three_sources_agrees(recorded: Any) -> None:
    for which in (1, 2, 3):
        row = part(recorded, which)
        assert row["gpu_power_energy_w"] == pytest.approx(row["gpu_power_w"], rel=0.05)
        assert row["gpu_note"] is None
        assert row["gpu_power_peak_w"] >= row["gpu_power_w"]
        assert row["gpu_util_fine_pct"] == pytest.approx(row["gpu_util_pct"], abs=2)


def test_a_power_cap_is_seen_and_only_where_it_was(recorded: Any) -> None:
    matmul = part(recorded, 1)
    assert (matmul["gpu_power_limit_w"], matmul["gpu_throttled_share"]) == (700.0, 1.0)
    assert matmul["gpu_power_share"] == pytest.approx(0.99, abs=0.01)
    assert matmul["gpu_throttled"].startswith("software power cap in 100 % of the samples")
    assert "power at 99 % of the limit" in matmul["gpu_throttled"]
    assert part(recorded, 3)["gpu_throttled"] is None


def test_naive_takes_in_the_idle_time_up_to_the_neighbouring_phases(recorded: Any) -> None:
    lines, loads = recorded
    spans = [(load["t_start_s"], load["t_end_s"]) for load in loads]
    run = run_row(spans[1][0], spans[1][1])
    tight, padded, whole = (
        one(lines, run, phases=phases)["gpu_util_naive_pct"] for phases in (spans, [spans[0], spans[3]], ())
    )
    assert tight > 90
    assert padded == pytest.approx(tight * 8 / 14, abs=5)
    assert whole < padded


@pytest.mark.parametrize(("phases", "expected"), [
    ([], (-np.inf, np.inf)), ([(0, 5), (5, 9), (10, 20), (23, 30), (40, 50)], (9, 23)), ([(10, 20)], (-np.inf, np.inf)),
])  # fmt: skip
def test_naive_span(phases: list[tuple[float, float]], expected: tuple[float, float]) -> None:
    assert clip.naive_span(10, 20, phases) == expected


@given(power=st.floats(1, 1000), start=st.floats(1, 20), width=st.floats(0.5, 19), gpus=st.integers(1, 3))
def test_energy_of_constant_power_is_power_times_time(power: float, start: float, width: float, gpus: int) -> None:
    frame = gpu.counters([line for index in range(gpus) for line in steady(power, 41, index, step_s=1.0)])
    meters = gpu.meters(frame)
    assert gpu.energy_j(meters, range(gpus), start, start + width) == pytest.approx(gpus * power * width, rel=1e-6)
    assert gpu.energy_j(meters, range(gpus + 1), start, start + width) is None


def test_energy_per_token() -> None:
    run = run_row(5, 55, window_start_s=10.0, window_end_s=50.0, window_s=40.0, output_tokens=4000)
    row = one(steady(500, 60), run)
    assert (row["gpu_energy_j"], row["gpu_energy_run_j"]) == pytest.approx((20_000, 25_000))
    assert row["gpu_energy_per_token_j"] == pytest.approx(20_000 / (100 * 40))
    assert row["gpu_energy_run_per_token_j"] == pytest.approx(25_000 / 4000)


def test_energy_without_samples_around_both_ends_or_with_a_counter_that_falls_is_none() -> None:
    frame = gpu.counters(steady(500, 60))
    assert gpu.energy_j(gpu.meters(frame), [0], 30, 61) is None and gpu.energy_j(gpu.meters(frame), [0], -1, 30) is None
    assert gpu.energy_j(gpu.meters(frame[(frame["t_s"] < 29) | (frame["t_s"] > 31)]), [0], 20, 30) is None
    frame.loc[frame["t_s"] > 30, "energy_mj"] -= 9e6
    assert gpu.energy_j(gpu.meters(frame), [0], 20, 40) is None
    assert gpu.energy_j(gpu.meters(frame), [0], 10, 20) == pytest.approx(5000)


def test_energy_counted_once_a_second_agrees_with_five_times_a_second(recorded: Any) -> None:
    frame, load = gpu.counters(recorded[0]), recorded[1][1]
    often, seldom = (
        gpu.energy_j(gpu.meters(f), [0], load["t_start_s"] + 1, load["t_end_s"] - 1) for f in (frame, frame[::5])
    )
    assert often is not None and seldom == pytest.approx(often, rel=0.01)


def test_an_energy_counter_that_contradicts_the_readings_is_noted() -> None:
    lines = [{**line, "power_w": 400.0} for line in steady(500, 60)]
    assert one(lines, run_row(5, 55))["gpu_note"] == "the energy counter gives 500 W, the power readings 400 W"


@given(hole=st.tuples(st.floats(0, 40), st.floats(0.5, 40)), start=st.floats(2, 15), width=st.floats(1, 20))
def test_coverage_is_a_share_and_a_hole_never_raises_it(hole: tuple[float, float], start: float, width: float) -> None:
    times = np.arange(0, 40, 0.2)
    whole = clip.coverage(times, start, start + width)
    holed = clip.coverage(times[(times < hole[0]) | (times > hole[0] + hole[1])], start, start + width)
    assert whole == pytest.approx(1)
    assert holed is None or 0 <= holed <= whole + 1e-9
    inside = min(hole[0] + hole[1], start + width) - max(hole[0], start)
    left = np.count_nonzero(times < hole[0]) + np.count_nonzero(times > hole[0] + hole[1])
    if holed is not None and inside > 1 and left > 2:
        assert holed < 1


def test_a_hole_as_long_as_all_the_rest_is_still_a_hole() -> None:
    assert clip.coverage([0.0, 0.2, 39.8], 2.0, 4.0) == 0


@given(start=st.floats(0, 20), width=st.floats(0, 19), step=st.floats(0.05, 2))
def test_no_sample_within_speaks_of_the_time_before(start: float, width: float, step: float) -> None:
    frame = pd.DataFrame({"t_s": np.arange(0, 40, step)})
    inside = clip.Samples(frame).within(start, start + width)["t_s"]
    assert ((inside - step >= start - 1e-6) & (inside <= start + width)).all()


def test_what_too_few_samples_cover_is_withheld_with_the_reason_and_the_naive_mean_is_not() -> None:
    lines = [line for line in steady(500, 60, temp=50, sm=1900) if not 10 < line["t"] < 31.2]
    row = one(lines, run_row(5, 55))
    assert row["gpu_refused"] == "coverage 0.58 < 0.95"
    assert row["gpu_coverage"] == pytest.approx(0.58, abs=0.005)
    given = {name for name in row if name.startswith("gpu_") and row[name] is not None}
    assert given == {"gpu_count", "gpu_samples", "gpu_coverage", "gpu_refused", "gpu_util_naive_pct",
                     "gpu_power_naive_w", "gpu_energy_run_j", "gpu_energy_run_per_token_j"}  # fmt: skip
    assert one(lines, run_row(5, 55), coverage_min=0.5)["gpu_util_pct"] == 90


def test_cpu_and_gpu_are_covered_each_by_their_own_samples() -> None:
    cpu = [{"t": float(t), "src": "cpu", "per": [50.0]} for t in range(61)]
    row = one(cpu + steady(500, 20), run_row(5, 55))
    assert row["cpu_refused"] is None and row["cpu_util_pct"] == 50 and row["coverage"] == 1
    assert row["gpu_refused"] == "coverage 0.30 < 0.95" and row["gpu_util_pct"] is None
    row = one(cpu[:20] + steady(500, 60), run_row(5, 55))
    assert row["cpu_refused"] is not None and row["cpu_util_pct"] is None and row["cpu_util_naive_pct"] == 50
    assert row["gpu_refused"] is None and row["gpu_util_pct"] == 90


def test_one_gpu_that_stops_answering_withholds_all() -> None:
    silent = [{**line, "util": None, "power_w": None} if line["t"] > 20 else line for line in steady(500, 60, 1)]
    row = one(steady(500, 60) + silent, run_row(5, 55))
    assert row["gpu_refused"] == "coverage 0.30 < 0.95" and row["gpu_power_w"] is None


def test_a_value_offered_now_and_then_is_none_and_the_others_stay() -> None:
    lines = [{**line, "gpm_sm_pct": 80.0 if index % 2 else None} for index, line in enumerate(steady(500, 60))]
    row = one(lines, run_row(5, 55))
    assert row["gpu_sm_active_pct"] is None and row["gpu_power_w"] == 500


def test_several_gpus() -> None:
    lines = steady(500, 60) + [{**line, "t": line["t"] + 0.05, "util": 70} for line in steady(300, 60, 1)]
    row = one(lines, run_row(5, 55))
    assert (row["gpu_count"], row["gpu_util_pct"], row["gpu_power_w"]) == (2, pytest.approx(80), pytest.approx(400))
    assert row["gpu_util_spread_pct"] == 20
    assert row["gpu_energy_j"] == pytest.approx(800 * 50)
    assert row["gpu_note"] is None


def test_gpus_that_the_server_does_not_see_are_left_out() -> None:
    lines = steady(500, 60) + [{**line, "util": 0} for line in steady(80, 60, 1)]
    both, seen = one(lines, run_row(5, 55)), one(lines, run_row(5, 55), visible={0})
    assert both["gpu_util_pct"] == 45 and both["gpu_note"] == "1 of 2 GPUs idle throughout: the means take them in"
    assert (seen["gpu_count"], seen["gpu_util_pct"], seen["gpu_power_w"]) == (1, 90, 500)
    assert one(lines, run_row(5, 55), visible=set())["gpu_util_pct"] is None


@pytest.mark.parametrize(("marks", "expected"), [
    ([True, False], {0}), ([True, True], {0, 1}), ([None, True], None), ([], None),
])  # fmt: skip
def test_visible_is_known_only_when_all_marks_are(marks: list[bool | None], expected: set[int] | None) -> None:
    devices = [{"gpu": index, "visible": mark} for index, mark in enumerate(marks)]
    assert gpu.visible({"devices": devices}) == expected
    assert gpu.visible(None) is None
    assert gpu.visible({"devices": [{"name": "recorded before there were marks"}]}) is None


def test_the_series_for_drawing_is_the_mean_of_gpus_sampled_one_after_the_other() -> None:
    cpu = [{"t": float(t), "src": "cpu", "per": [50.0]} for t in range(10)]
    lines = cpu + steady(500, 10) + [{**line, "t": line["t"] + 0.07} for line in steady(300, 10, 1)]
    assert telemetry.series("s", telemetry.watched(lines))["gpu_power_w"].tolist() == [400.0] * 10
    assert telemetry.series("s", telemetry.watched(lines, {1}))["gpu_power_w"].tolist() == [300.0] * 10


def test_standard_error_is_over_blocks_not_samples() -> None:
    times = np.arange(0, 40, 0.2)
    frame = pd.DataFrame({"t_s": times, "x": np.array([1.0, 2.0, 3.0, 9.0])[(times // 10).astype(int)]})
    assert clip.standard_error(frame, "x", 0.0) == pytest.approx(1 / np.sqrt(3))  # three whole blocks: 1, 2, 3
    assert clip.standard_error(frame[frame["t_s"] < 29], "x", 0.0) is None


@pytest.mark.parametrize(("values", "expected"), [
    ({}, None),
    ({"gpu_throttled_share": 0.01, "gpu_sm_clock_share": 0.97, "gpu_power_share": 0.949}, None),
    ({"gpu_throttled_share": None, "gpu_sm_clock_share": pd.NA, "gpu_power_share": float("nan")}, None),
    ({"gpu_throttled_share": 0.11, "gpu_throttle_reasons": "power brake"}, "power brake in 11 % of the samples"),
    ({"gpu_sm_clock_share": 0.96}, "SM clock at 96 % of its maximum in the run"),
    ({"gpu_power_share": 0.95, "gpu_sm_clock_share": 0.5},
     "SM clock at 50 % of its maximum in the run; power at 95 % of the limit"),
])  # fmt: skip
def test_throttled(values: dict[str, Any], expected: str | None) -> None:
    assert throttle.throttled(values) == expected


def test_idle_and_application_clocks_are_no_throttle_reasons() -> None:
    assert throttle.share(pd.Series([0x1, 0x2, 0x100, 0x1 | 0x2])) == 0
    assert throttle.share(pd.Series([0x1, 0x4, 0x8, 0x20, 0x40, 0x80, 0x0, np.nan])) == 5 / 7
    assert throttle.share(pd.Series([np.nan])) is None
    assert throttle.names(pd.Series([0x41, 0x4, np.nan])) == "software power cap, hardware thermal slowdown"
    assert throttle.names(pd.Series([1.0])) is None
