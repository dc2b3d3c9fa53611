"""The recording of an H200 adopted and reported by Snakemake, with no engine and no GPU: its figures are known."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from project import Project

pytestmark = pytest.mark.recorded
THROUGHPUT_TOK_S = {1: 244.3, 8: 857.1, 32: 1963.9, 64: 3366.1, 128: 6089.2}
WARMUP_TOK_S = [372.8, 666.5, 1070.8, 1127.8]


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("recorded") / "p")
    done = project.run("--config", "booking=h200-recorded", "--", "archive")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
    return project


def table(project, name):
    return pd.read_parquet(project.folder / f"results/h200-recorded/tables/{name}.parquet")


def test_the_sweep(reported):
    runs = table(reported, "runs").set_index("concurrency")
    assert runs["throughput_tok_s"].to_dict() == pytest.approx(THROUGHPUT_TOK_S, rel=1e-4)
    assert (runs["little_delta"].abs() < 0.01).all() and set(runs["little"]) == {"pass"}
    assert runs["tokens_per_step"].isna().all(), "the recording kept only some of /metrics"
    assert runs["itl_p50_ms"].notna().all()


def test_the_warmup_is_not_accepted_and_its_tag_follows_the_runs(reported):
    warmup = table(reported, "warmup")
    assert warmup["throughput_tok_s"].tolist() == pytest.approx(WARMUP_TOK_S, rel=2e-4)
    assert set(warmup["verdict"]) == {"UNWARMED"}
    assert (warmup["stalls"].iloc[:2] > 0).all() and (warmup["stalls"].iloc[2:] == 0).all()
    assert warmup["late_work"].tolist()[0] >= 1, "the server was still compiling a kernel"
    assert table(reported, "runs")["tags"].str.contains("UNWARMED").all()


def test_utilization_in_the_run_and_the_naive_one(reported):
    row = table(reported, "telemetry").set_index("concurrency").loc[64]
    assert row["gpu_util_naive_pct"] == pytest.approx(50, abs=3) and row["gpu_util_pct"] == pytest.approx(99, abs=1)
    assert row["gpu_power_naive_w"] == pytest.approx(363, abs=2) and row["gpu_power_w"] == pytest.approx(610, abs=10)
    assert row["gpu_power_energy_w"] == pytest.approx(row["gpu_power_w"], rel=0.05)


def test_client_counters_and_log_count_the_same_tokens(reported):
    counts = table(reported, "reconciliation")
    tokens = counts[counts["quantity"] == "output_tokens"]
    assert (tokens["client"] == tokens["metrics"]).all()
    assert ((tokens["log"] / tokens["client"] - 1).abs() < 0.001).all()
    assert "differs" not in set(counts["outcome"])


def test_the_boot_is_read_from_the_log(reported):
    (session,) = table(reported, "sessions").to_dict("records")
    assert (session["weights_gib"], session["kv_cache_tokens"]) == (55.97, 774352)
    assert (session["graphs_piecewise"], session["graphs_full"]) == (51, 51)
    assert (session["capture_s"], session["capture_gib"]) == (22, 0.8)


def test_the_page_shows_them(reported):
    page = (reported.folder / "reports/h200-recorded/report.html").read_text()
    text = re.sub(r"<[^>]+>", " ", page)
    for shown in ("244.3", "857.1", "1,964", "3,366", "6,089", "372.8", "666.5", "UNWARMED"):
        assert shown in text, shown


def test_nothing_is_adopted_twice(reported):
    before = {path: path.stat().st_mtime_ns for path in reported.folder.glob("results/*/raw/**/*.json")}
    assert reported.run("--config", "booking=h200-recorded", "--", "report").returncode == 0
    assert {path: path.stat().st_mtime_ns for path in reported.folder.glob("results/*/raw/**/*.json")} == before


def test_the_step_over_its_byte_floor_is_a_line_where_the_step_is_none(reported):
    fits = table(reported, "fixed_cost")
    chosen = fits[fits["chosen"]].set_index("response")
    assert pd.notna(chosen.loc["step", "refused"]), "experts are read one after the other as sequences are added"
    over = chosen.loc["over floor"]
    assert pd.isna(over["refused"]) and over["residual_pct"] < 3
    assert (over["t_fixed_low_ms"], over["t_fixed_high_ms"]) == pytest.approx((2.48, 2.97), abs=0.05)
    toll = table(reported, "toll").set_index("concurrency")
    assert toll["toll_share"].to_dict() == pytest.approx({1: 0.67, 8: 0.31, 32: 0.175, 64: 0.154, 128: 0.142}, abs=0.01)
    assert (toll["toll_share_low"] < toll["toll_share"]).all() and set(toll["prediction"]) == {"held"}
    floor = table(reported, "floor").set_index("concurrency")
    assert floor["over_floor"].to_dict() == pytest.approx({1: 3.05, 8: 1.52, 32: 1.25, 64: 1.25, 128: 1.26}, abs=0.01)


def test_one_session_that_was_not_warm_claims_a_factor_and_nothing_else(reported):
    found = table(reported, "verdicts")
    assert found.loc[found["kind"] == "scale", "level"].tolist() == ["SOLID-SCALE"]
    values = found[found["kind"] == "value"]
    assert len(values) == 30 and set(values["level"]) == {"CONFOUNDED"}
    assert values["replicate"].str.contains("boot the arm 2 more times").all()
    assert table(reported, "comparisons")["question"].tolist() == ["scale"], "there is one arm"
    assert table(reported, "next_experiments")["time_s"].notna().all()


def benchbook(project, *words):
    command = [sys.executable, "-m", "benchbook", *words]
    return subprocess.run(command, cwd=project.folder, capture_output=True, text=True, timeout=300)


def archive(project):
    folder = project.folder / "reports/h200-recorded"
    return folder / json.loads((folder / "archive.json").read_text())["archive"]


def test_the_archive_gives_the_same_page_where_there_is_no_recording(reported, tmp_path_factory):
    clone = Project(tmp_path_factory.mktemp("clone") / "p")
    shutil.rmtree(clone.folder / "recordings")
    (clone.folder / "config/bookings/h200-recorded.yaml").unlink()
    restored = benchbook(clone, "restore", str(archive(reported)), "--no-report")
    assert restored.returncode == 0, restored.stderr
    page = "reports/h200-recorded/report.html"
    done = clone.run("--config", "booking=h200-recorded", "--", page)
    assert done.returncode == 0, done.stderr[-4000:]
    assert (clone.folder / page).read_bytes() == (reported.folder / page).read_bytes()
    again = benchbook(clone, "restore", str(archive(reported)))
    assert again.returncode == 1 and "exists already: nothing is overwritten" in again.stderr


def test_a_digit_of_the_page_and_one_of_a_raw_file_are_named_and_nothing_else(reported):
    page = reported.folder / "reports/h200-recorded/report.html"
    text = page.read_text(encoding="utf-8")
    mean = re.search(r'data-address="sweep:base/c64:tpot_mean_ms"[^>]*>(\d)', text)
    digit = "9" if mean[1] != "9" else "8"
    page.write_text(text[: mean.start(1)] + digit + text[mean.end(1) :], encoding="utf-8")
    raw = next(reported.folder.glob("results/h200-recorded/raw/*/*/runs/*c64*/bench.json"))
    before = raw.read_bytes()
    raw.chmod(0o644)
    raw.write_bytes(before.replace(b"1", b"2", 1))
    told = benchbook(reported, "verify", "reports/h200-recorded", "--json")
    page.write_text(text, encoding="utf-8")
    raw.write_bytes(before)
    assert told.returncode == 1, told.stderr
    found = json.loads(told.stdout)
    assert found["values"] > 1000 and found["raw_files"] > 20 and found["members"] > 200
    at = {finding["address"]: finding["rests"] for finding in found["findings"]}
    assert set(at) == {"sweep:base/c64:tpot_mean_ms", str(raw.relative_to(reported.folder / "results/h200-recorded"))}
    assert "sweep:base/c64:*" in str(at)


def test_a_number_is_traced_to_lines_that_are_printed(reported):
    run = table(reported, "runs").query("concurrency == 64")["run_id"].item()
    told = benchbook(reported, "trace", "reports/h200-recorded", f"runs:{run}:tpot_mean_ms", "--raw", "1")
    assert told.returncode == 0, told.stderr
    assert re.search(r"^raw .*bench\.json sha256 [0-9a-f]{64}", told.stdout, re.MULTILINE)
    assert re.search(r"telemetry\.jsonl lines \d+ to \d+", told.stdout)
    assert benchbook(reported, "trace", "reports/h200-recorded", "sweep:base/c65:tpot_mean_ms").returncode == 1


def test_a_stale_figure_does_not_enter_the_page(reported):
    """As files copied in with new times: Snakemake takes them for current, their sidecars know better."""
    figure = reported.folder / "results/h200-recorded/figures/sweep.svg.prov.json"
    before = figure.read_text()
    told = json.loads(before)
    told["inputs"] = {path: "0" * 64 for path in told["inputs"]}
    figure.write_text(json.dumps(told))
    done = reported.run("--config", "booking=h200-recorded", "--forcerun", "report_html", "--",
                        "reports/h200-recorded/report.html")  # fmt: skip
    figure.write_text(before)
    assert done.returncode and "figures/sweep.svg is stale" in done.stderr and "--forcerun figure_sweep" in done.stderr
