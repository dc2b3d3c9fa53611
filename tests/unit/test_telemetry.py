"""Telemetry against a real recording of one H200, and against series of known answer."""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchbook import schema
from benchbook.derive import clip, telemetry

RECORDED = Path(__file__).parents[1] / "recorded"


def run_row(**values):
    row = dict.fromkeys(schema.TABLES["runs"])
    row |= {"run_id": "s/a_c64_r1", "session_id": "s", "slot": "s1", "arm": "a", "concurrency": 64, "repeat": 1}
    row |= values
    return pd.DataFrame([row])


def recorded_run():
    """The recording's own run: the client's clock is monotonic, `date` is the local time (UTC) at its end."""
    result = json.loads(gzip.decompress((RECORDED / "h200-qwen3moe-c64.bench.json.gz").read_bytes()))
    lines = [json.loads(line) for line in gzip.decompress(
        (RECORDED / "h200-qwen3moe-c64.telemetry.jsonl.gz").read_bytes()).splitlines()]  # fmt: skip
    end_s = datetime.strptime(result["date"] + "+0000", "%Y%m%d-%H%M%S%z").timestamp()
    sent = np.array(result["start_times"])
    done = sent + np.array([ttft + sum(itl) for ttft, itl in zip(result["ttfts"], result["itls"], strict=True)])
    offset_s = end_s - done.max()
    start_s, stop_s = done.min() + offset_s, sent.max() + offset_s
    emitted = np.concatenate([
        at + ttft + np.concatenate([[0.0], np.cumsum(itl)])
        for at, ttft, itl in zip(sent, result["ttfts"], result["itls"], strict=True)
    ]) + offset_s  # fmt: skip
    tokens = int(((emitted > start_s) & (emitted <= stop_s)).sum())
    return lines, run_row(window_start_s=start_s, window_end_s=stop_s, window_s=stop_s - start_s,
                          window_throughput_tok_s=tokens / (stop_s - start_s), t_start_s=sent.min() + offset_s,
                          t_end_s=end_s, output_tokens=result["total_output_tokens"])  # fmt: skip


def test_the_whole_file_reads_half_of_what_the_run_was():
    lines, run = recorded_run()
    (row,) = telemetry.table(telemetry.watched(lines), run).to_dict("records")
    assert row["gpu_util_naive_pct"] == pytest.approx(50, abs=5)
    assert row["gpu_power_naive_w"] == pytest.approx(363, abs=2)
    assert row["gpu_util_pct"] == pytest.approx(99, abs=1)
    assert row["gpu_power_w"] == pytest.approx(610, abs=15)
    assert row["coverage"] > 0.95
    assert row["gpu_energy_j"] / run["window_s"].iloc[0] == pytest.approx(row["gpu_power_w"], rel=0.05)


def test_a_node_without_gpu_has_nulls_and_no_zeros():
    lines = [{"t": float(t), "src": "cpu", "per": [50.0, 100.0]} for t in range(20)]
    run = run_row(window_start_s=5.0, window_end_s=15.0, window_s=10.0)
    (row,) = telemetry.table(telemetry.watched(lines), run).to_dict("records")
    assert all(pd.isna(row[name]) for name in row if name.startswith("gpu_"))
    assert (row["cpu_util_pct"], row["cpu_util_max_core_pct"], row["samples"]) == (75.0, 100.0, 11)
    assert pd.isna(row["server_cpu_cores"])


def test_cores_are_cpu_time_over_time_and_survive_a_process_that_ends():
    lines = [
        {"t": float(t), "src": "proc", "procs": [[1, "server", "a", 0.5 * t, 2**30]]
         + ([[2, "server", "b", 1.0 * t, 2**30]] if t < 5 else [])}
        for t in range(10)
    ]  # fmt: skip
    used = telemetry.cores_used(telemetry.process_samples(lines), "server")
    assert used["cores"].tolist() == [1.5] * 4 + [0.5] * 5


@pytest.mark.parametrize(("times", "expected"), [
    (np.arange(0, 20.1, 0.2), 1.0),
    (np.concatenate([np.arange(0, 10, 0.2), np.arange(15, 20.1, 0.2)]), 0.54),
    (np.arange(12, 20.1, 0.2), 0.3),
])  # fmt: skip
def test_coverage_shows_a_hole(times, expected):
    assert clip.coverage(times, 5.0, 15.0) == pytest.approx(expected, abs=0.03)


def test_no_telemetry_at_all():
    assert clip.coverage([], 0.0, 1.0) is None
    assert telemetry.all_series([]).empty
    assert list(telemetry.all_series([telemetry.series("s", telemetry.watched([]))]).columns)[0] == "session_id"
