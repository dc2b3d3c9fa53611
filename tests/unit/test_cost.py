"""The cost of a million tokens: the write-up's figure, its interval inverted, energy sum over sum."""

from __future__ import annotations

import frames
import pandas as pd
import pytest
from benchbook.claims import cost

TABLES = frames.make(("baseline",), gpu=True, failures=False, repeats=3, boots=1, concurrency=(32,))


def one(usd_per_hour=64.44, telemetry=None, **item):
    runs = TABLES["runs"]
    row = {"arm": "baseline", "concurrency": 32, "metric": "throughput_tok_s", "unit": "tok/s", "sessions": 3,
           "runs": 3, "mean": 1451.5, "ci_low": 1400.0, "ci_high": 1500.0, "range_of": "sessions", "tags": "UNWARMED",
           "run_ids": " ".join(runs["run_id"])} | item
    other = row | {"metric": "tpot_mean_ms", "mean": 17.2}
    frame = cost.table(runs, frames.frame("repeatability", [other, row]),
                       TABLES["telemetry"] if telemetry is None else telemetry,
                       {"node": {"price_usd_per_hour": usd_per_hour}})
    assert len(frame) == 1
    return frame.to_dict("records")[0]


def test_the_write_ups_baseline():
    row = one()
    assert row["usd_per_mtok"] == pytest.approx(12.3, abs=0.05) and row["tags"] == "UNWARMED"
    assert row["usd_per_mtok_low"] == pytest.approx(1e6 * 64.44 / 3600 / 1500)
    assert row["usd_per_mtok_high"] == pytest.approx(1e6 * 64.44 / 3600 / 1400)


def test_what_is_not_known_stays_missing():
    assert pd.isna(one(None)["usd_per_mtok"])
    row = one(ci_low=None, ci_high=None)
    assert row["usd_per_mtok"] > 0 and pd.isna(row["usd_per_mtok_low"])
    row = one(mean=None, ci_low=None, ci_high=None, run_ids="")
    assert pd.isna(row["usd_per_mtok"]) and pd.isna(row["tokens_per_j"])


def test_energy_is_summed_over_the_runs_that_know_it():
    telemetry = TABLES["telemetry"].copy()
    telemetry["gpu_energy_run_j"] = pd.array([1000.0, None, 3000.0], dtype="Float64")
    tokens = TABLES["runs"]["output_tokens"].astype(float).tolist()
    assert one(telemetry=telemetry)["tokens_per_j"] == pytest.approx((tokens[0] + tokens[2]) / 4000)
    telemetry["gpu_energy_run_j"] = pd.array([None] * 3, dtype="Float64")
    assert pd.isna(one(telemetry=telemetry)["tokens_per_j"])
