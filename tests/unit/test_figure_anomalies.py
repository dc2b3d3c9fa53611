"""The figure of anomalies: every kind is drawn, equal input gives equal bytes, and too many are counted."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import frames
import numpy as np
import pandas as pd
import pytest
from benchbook import schema
from benchbook.claims import anomalies, evidence
from benchbook.present import figure_anomalies

KINDS = ("bimodal", "stall", "monotonicity", "outlier repeat", "throttling")


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def points(kind: str) -> pd.DataFrame:
    random = np.random.default_rng(20260911)
    x = np.sort(random.uniform(0, 60, 120))
    slow = random.random(120) < 0.2
    if kind == "bimodal":
        y = np.where(slow, 2888.0, 549.0) * np.exp(random.normal(0, 0.1, 120))
        return pd.concat([evidence.points(evidence.FAST, x[~slow], y[~slow]),
                          evidence.points(evidence.SLOW, x[slow], y[slow], True),
                          evidence.points(evidence.FIRST_WAVE, np.zeros(8), random.uniform(300, 900, 8))])
    if kind == "stall":
        y = np.where(abs(x - 30) < 2, 5004.0, 135.0) * np.exp(random.normal(0, 0.05, 120))
        return pd.concat([evidence.points(evidence.TTFT, x, y, y > 1135),
                          evidence.points(evidence.GAP, x, random.uniform(17, 40, 120))])
    if kind == "monotonicity":
        means = pd.Series([130.0, 1008.0, 679.0, 900.0], index=[32, 64, 128, 256])
        runs = pd.DataFrame({"concurrency": list(means.index) * 3, "ttft_mean_ms": list(means * 0.98) * 3})
        return evidence.against_concurrency(runs, means, "ttft_mean_ms", 64)
    if kind == "outlier repeat":
        return evidence.repeats(np.array([1849.0, 1852, 1451.5, 1844, 1850]), 1849.0, 0.03, 2)
    telemetry = pd.DataFrame({"run_id": ["a", "b", "c"], "concurrency": [32, 64, 128],
                              "gpu_throttled_share": [0.0, 0.0, 0.11], "gpu_sm_clock_share": [0.99, 0.99, 0.93],
                              "gpu_power_share": [0.5, 0.7, 0.97]})
    return evidence.throttling(telemetry, pd.Series(["c"]))


def tables(kinds: tuple[str, ...] = KINDS) -> tuple[pd.DataFrame, pd.DataFrame]:
    found = [
        anomalies.Anomaly(kind, "baseline", 64, f"20260911-230548/baseline_c64_r{index}", "tpot_mean_ms", "Found.",
                          "Do.", points(kind))
        for index, kind in enumerate(kinds)
    ]
    names = ("anomaly_id", "kind", "arm", "concurrency", "run_id", "metric", "found", "consequence", "voids", "size",
             "size_unit")
    rows = frames.frame("anomalies", [{name: getattr(one, name) for name in names} for one in found])
    return rows, schema.concat([one.points.assign(anomaly_id=one.anomaly_id) for one in found], "evidence")


def drawn(rows: pd.DataFrame, shown: pd.DataFrame, out: Path) -> str:
    figure_anomalies.draw(rows, shown, out)
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> str:
    return drawn(*tables(), tmp_path_factory.mktemp("drawn") / "a.svg")


def test_equal_input_gives_equal_bytes_without_a_date(every_kind: str, tmp_path: Path) -> None:
    assert every_kind == drawn(*tables(), tmp_path / "b.svg")
    assert "dc:date" not in every_kind and not list(tmp_path.glob("*.part"))
    for kind in KINDS:
        assert f"<!-- {kind.capitalize()}, concurrency 64 -->" in every_kind
    assert "<!-- filled: what is odd -->" in every_kind


def test_nothing_odd_is_said(tmp_path: Path) -> None:
    nothing = drawn(schema.empty("anomalies"), schema.empty("evidence"), tmp_path / "a.svg")
    assert "<!-- Nothing odd was found in the runs. -->" in nothing


def test_too_many_are_counted(every_kind: str, tmp_path: Path) -> None:
    text = drawn(*tables(KINDS * 3), tmp_path / "a.svg")
    assert "<!-- 3 more in the table of anomalies -->" in text
    assert len(re.findall(r"<!-- [A-Z][a-z ]+, concurrency 64 -->", text)) == figure_anomalies.PANELS_MAX
    assert "more in the table" not in every_kind


def test_an_anomaly_without_points_says_so(tmp_path: Path) -> None:
    rows, shown = tables(("stall", "bimodal"))
    text = drawn(rows, shown[shown["anomaly_id"] != rows["anomaly_id"].iloc[0]], tmp_path / "a.svg")
    assert "no data: no single requests were kept" in re.sub(r" -->\s*<!-- ", " ", text)
    drawn(rows, schema.empty("evidence"), tmp_path / "b.svg")


def test_every_series_that_evidence_knows_can_be_drawn() -> None:
    known = {evidence.FAST, evidence.SLOW, evidence.FIRST_WAVE, evidence.TTFT, evidence.GAP, evidence.RUN,
             *evidence.SIGNS.values()}
    lines = {evidence.MEAN, evidence.MEDIAN, f"lower {evidence.LIMIT}", f"upper {evidence.LIMIT}"}
    assert set(figure_anomalies.MARKERS) == known and set(figure_anomalies.LINES) == lines
