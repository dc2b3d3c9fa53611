"""A booking in which something breaks: the report is written all the same, and the exit code says it."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest
from project import PAGE, Project

pytestmark = pytest.mark.recorded


def tables(project, name):
    return pd.read_parquet(project.folder / f"results/small/tables/{name}.parquet")


def test_an_arm_that_cannot_boot(tmp_path):
    arms = [{"name": "good"}, {"name": "bad", "args": {"no-such-flag": True}}]
    project = Project(tmp_path / "p", arms=arms)
    done = project.run()
    assert done.returncode != 0
    assert "5 sessions or runs did not end well" in done.stdout + done.stderr
    (failure,) = tables(project, "failures").to_dict("records")
    assert (failure["arm"], failure["what"], failure["failure_class"]) == ("bad", "boot", "bad_flag")
    assert failure["failure_phase"]
    assert "unrecognized arguments: --no-such-flag" in failure["reason"] and failure["cost_s"] > 0
    runs = tables(project, "runs").set_index("arm")
    assert set(runs.loc["good", "status"]) == {"ok"} and set(runs.loc["bad", "status"]) == {"missing"}
    assert runs.loc["bad", "throughput_tok_s"].isna().all()
    sweep = tables(project, "sweep").set_index("arm")
    assert sweep.loc["bad", "throughput_tok_s"].isna().all() and (sweep.loc["bad", "runs_not_ok"] == 2).all()
    html = (project.folder / "reports/small/report.html").read_text()
    assert "unrecognized arguments: --no-such-flag" in html
    assert (project.folder / "reports/small/report.pdf").exists()
    again = project.run()
    assert again.returncode != 0 and len(project.sessions()) == 2, "still not accepted, and nothing measured again"


def test_a_failure_can_be_declared_afterwards(tmp_path):
    project = Project(tmp_path / "p", arms=[{"name": "good"}, {"name": "bad", "args": {"no-such-flag": True}}])
    assert project.run(*PAGE).returncode != 0
    before = project.sessions()
    expected = [{"arm": "bad", "what": "boot", "reason": "the flag does not exist"}]
    project.write("config/bookings/small.yaml", project.booking | {"expected_failures": expected})
    done = project.run(*PAGE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.sessions() == before
    assert tables(project, "failures")["expected"].tolist() == [True]


def test_every_request_fails_then_they_are_measured_again(tmp_path):
    project = Project(tmp_path / "p", engine_env={"FAKE_REFUSE": "1"})
    assert project.run(*PAGE).returncode != 0
    runs = tables(project, "runs")
    assert set(runs["status"]) == {"failed"} and (runs["failed"] == runs["num_prompts"]).all()
    assert runs[["throughput_tok_s", "ttft_mean_ms", "tpot_mean_ms"]].isna().all().all()
    assert len(tables(project, "failures")) == len(runs)
    html = (project.folder / "reports/small/report.html").read_text()
    assert "http_status: HTTP 400: refused" in html
    assert len(project.sessions()) == 2
    retried = subprocess.run([sys.executable, "-m", "benchbook", "retry", "small"], cwd=project.folder,
                             capture_output=True, text=True, check=True)  # fmt: skip
    assert retried.stdout.count("4 runs are due again") == 2
    assert project.run().returncode != 0
    assert len(project.sessions()) == 4, "each store tried its failed runs once more"


def test_a_server_that_dies_is_booted_again_and_still_not_passed_over(tmp_path):
    env = {"FAKE_DIE_AT_REQUEST": "9", "FAKE_DIED_FLAG": str(tmp_path / "died")}
    project = Project(tmp_path / "p", engine_env=env, arms=[{"name": "only"}])
    done = project.run(*PAGE)
    assert done.returncode != 0 and "SIGKILL" in done.stdout + done.stderr
    runs, sessions = tables(project, "runs"), tables(project, "sessions")
    assert sessions["status"].tolist() == ["failed", "complete"]
    assert sessions["reboot_of"].tolist()[1] == sessions["session_id"].tolist()[0]
    assert sorted(runs["status"]) == ["incomplete", "ok", "ok", "ok"], "all but the run in which it died"
    assert tables(project, "sweep")["runs"].sum() == 3
    assert tables(project, "failures")["what"].tolist().count("run") == 1
