"""Runs of two load clients in one booking: who is judged by what, and what their pairs say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import frames
import pandas as pd
import pytest
import reportinput
from benchbook import rawdata, schema
from benchbook.derive import bench, crosscheck, sweep, warmup
from benchbook.measure import store
from benchbook.present import figure_sweep
from benchbook.present.report import render

BOTH = ("native", "vllm-bench")
THRESHOLDS = {"steady_window_min_s": 0.0, "steady_window_min_e2el": 0.0, "little_pass": 0.01, "little_warn": 0.03}
FIGURES = ("throughput_tok_s", "tpot_mean_ms", "ttft_mean_ms")


def runs_of(*rows: tuple[str, int, str, float, float, float], **values: Any) -> pd.DataFrame:
    """Rows of `runs`: session, repeat, client, throughput, TPOT and TTFT, all at concurrency 4."""
    return frames.frame("runs", [
        {
            "run_id": f"{session}/a_c4_r{repeat}", "session_id": session, "slot": "s1", "arm": "a", "concurrency": 4,
            "repeat": repeat, "client": client, "status": "ok", "expected_failure": False, "tags": "",
            "spec_hash": "0" * 12, "num_prompts": 8, "waves": 2.0, "whole_waves": True, "replaced": False,
            "spare": False, **dict(zip(FIGURES, figures, strict=True)),
        } | values
        for session, repeat, client, *figures in rows
    ])  # fmt: skip


def client_of(runs: pd.DataFrame, server_ttft_ms: dict[int, float | None]) -> pd.DataFrame:
    key = ("run_id", "session_id", "slot", "arm", "concurrency", "repeat", "client")
    return frames.frame("client", [
        {name: row[name] for name in key} | {
            "ttft_server_mean_ms": server_ttft_ms[row["repeat"]], "itl_ratio": 1.0 + 0.01 * (row["client"] != "native"),
            "e2el_server_mean_ms": 100.0 if row["repeat"] < 3 else None,
        }
        for row in runs.to_dict("records")
    ])  # fmt: skip


PAIRS = runs_of(
    ("x", 1, "native", 100.0, 10.0, 50.0), ("x", 2, "vllm-bench", 99.0, 10.1, 52.0),
    ("x", 3, "vllm-bench", 101.0, 9.9, 54.0), ("x", 4, "native", 100.0, 10.0, 50.0),
)  # fmt: skip
SERVER = {1: 48.0, 2: 48.5, 3: 49.0, 4: 48.0}


def test_pairs_and_their_differences() -> None:
    (row,) = crosscheck.table(PAIRS, client_of(PAIRS, SERVER), ["a"]).to_dict("records")
    assert (row["arm"], row["concurrency"], row["pairs"]) == ("a", 4, 2)
    assert (row["throughput_native_tok_s"], row["throughput_vllm_bench_tok_s"]) == (100.0, 100.0)
    assert row["throughput_difference"] == pytest.approx(0.0)
    assert (row["throughput_difference_min"], row["throughput_difference_max"]) == pytest.approx((-0.01, 0.01))
    assert (row["tpot_difference_min"], row["tpot_difference_max"]) == pytest.approx((-0.01, 0.01))
    assert row["ttft_difference"] == pytest.approx(0.06)


def test_a_difference_in_ttft_is_split_by_what_the_server_saw() -> None:
    (row,) = crosscheck.table(PAIRS, client_of(PAIRS, SERVER), ["a"]).to_dict("records")
    assert row["ttft_difference_ms"] == pytest.approx(3.0)
    assert row["ttft_excess_native_ms"] == pytest.approx(2.0)
    assert row["ttft_excess_vllm_bench_ms"] == pytest.approx(53.0 - 48.75)
    assert row["ttft_server_difference_ms"] == pytest.approx(0.75)
    outside = row["ttft_excess_vllm_bench_ms"] - row["ttft_excess_native_ms"]
    assert row["ttft_server_difference_ms"] + outside == pytest.approx(row["ttft_difference_ms"])
    (row,) = crosscheck.table(PAIRS, client_of(PAIRS, SERVER | {3: None}), ["a"]).to_dict("records")
    unknown = ("ttft_excess_native_ms", "ttft_excess_vllm_bench_ms", "ttft_server_difference_ms")
    assert all(pd.isna(row[name]) for name in unknown), "not a mean over other runs than the client's"


def test_what_the_server_counted_takes_its_own_pace_out() -> None:
    (row,) = crosscheck.table(PAIRS, client_of(PAIRS, SERVER), ["a"]).to_dict("records")
    assert row["tpot_over_server_difference"] == pytest.approx(0.01)
    assert pd.isna(row["throughput_over_server_difference"]), "one pair's server latency is not known"
    first = PAIRS[PAIRS["repeat"] < 3].assign(request_rate_req_s=[38.0, 36.1])
    (row,) = crosscheck.table(first, client_of(first, SERVER), ["a"]).to_dict("records")
    assert row["throughput_over_server_native"] == pytest.approx(38 * 0.1 / 4)
    assert row["throughput_over_server_difference"] == pytest.approx(-0.05)


def test_only_whole_pairs_of_one_session_count() -> None:
    failed = PAIRS.assign(status=["ok", "ok", "failed", "ok"])
    (row,) = crosscheck.table(failed, client_of(failed, SERVER), ["a"]).to_dict("records")
    assert row["pairs"] == 1 and row["ttft_vllm_bench_ms"] == 52.0
    elsewhere = PAIRS.assign(session_id=["x", "y", "x", "y"], run_id=["x/1", "y/2", "x/3", "y/4"])
    assert crosscheck.table(elsewhere, client_of(elsewhere, SERVER), ["a"]).empty
    replaced = PAIRS.assign(replaced=[True, True, False, False])
    assert crosscheck.table(replaced, client_of(replaced, SERVER), ["a"])["pairs"].tolist() == [1]


def test_one_client_has_nothing_to_be_held_against() -> None:
    alone = frames.make()
    assert alone["crosscheck"].empty and alone["sweep"]["client"].isna().all()
    assert crosscheck.table(schema.empty("runs"), schema.empty("client"), ["a"]).empty


def test_the_sweep_keeps_the_clients_apart() -> None:
    table = sweep.table(PAIRS, ["a"]).set_index("client")
    assert table["runs"].to_dict() == {"native": 2, "vllm-bench": 2}
    assert table["ttft_mean_ms"].to_dict() == {"native": 50.0, "vllm-bench": 53.0}
    (row,) = sweep.table(PAIRS[PAIRS["client"] == "native"], ["a"]).to_dict("records")
    assert pd.isna(row["client"]) and row["runs"] == 2


def test_the_report_shows_both_and_their_difference(tmp_path: Path) -> None:
    page = render(reportinput.make(frames.make(clients=BOTH, repeats=2)))
    assert "Two load clients on one server" in page and "in pairs that take turns in who goes first" in page
    assert 'data-address="crosscheck:baseline/c8:tpot_difference"' in page
    assert 'data-address="sweep:baseline/c8/native:tpot_mean_ms"' in page
    alone = render(reportinput.make())
    assert "Two load clients on one server" not in alone
    assert 'data-address="sweep:baseline/c8:tpot_mean_ms"' in alone


def test_the_figure_names_each_line_after_arm_and_client(tmp_path: Path) -> None:
    tables = frames.make(clients=BOTH, repeats=2)
    figure_sweep.draw(tables["sweep"], tables["runs"], tmp_path / "sweep.svg", ["baseline", "eager"])
    drawn = (tmp_path / "sweep.svg").read_text(encoding="utf-8")
    for arm in ("baseline", "eager"):
        for client in BOTH:
            assert f"{arm}, {client}" in drawn


# --- a raw session written by hand ---

RULE = {
    "rule": "converged", "min_readings": 6, "throughput_spread": 0.02, "throughput_noise": 0.007, "tpot_spread": 0.01,
    "tpot_slope": 0.0025, "tpot_above_best": 0.02, "stalls_settled_max": 1, "gate_tpot_spread": 0.01,
    "gate_tpot_slope": 0.0025, "max_readings": 10,
}  # fmt: skip


def session(folder: Path, tpots_ms: list[float], *, old: bool = False) -> rawdata.RawSession:
    """Six steady readings at 10 ms by the first client, then runs at `tpots_ms`, by turns.

    `old`: as a Benchbook without a choice of client has left it.
    """
    path = folder / "20260101-000000"
    names = [f"a_c1_r{n}" for n in range(1, len(tpots_ms) + 1)]
    plan = [{"concurrency": 1, "num_prompts": 1, "readings": [], "rerun": [],
             "runs": [{"name": name, "repeat": n, "seed": n} | ({} if old else {"client": BOTH[(n - 1) % 2]})
                      for n, name in enumerate(names, start=1)]}]  # fmt: skip
    value = {"slot": "s1", "arm": "a", "spec_hash": "0" * 12, "warmup": RULE, "plan": plan,
             "workload": {"input_tokens": 8, "output_tokens": 3}}  # fmt: skip
    store.write_json(path / "spec.json", value | ({} if old else {"client": list(BOTH)}))
    store.write_json(path / "session.json", {"status": "complete", "reason": None, "failure": None})
    tasks = [("warmup", f"warmup_c1_w{n}", None, "native", 10.0) for n in range(1, 7)]
    tasks += [("runs", name, n, BOTH[(n - 1) % 2], tpot)
              for n, (name, tpot) in enumerate(zip(names, tpots_ms, strict=True), start=1)]  # fmt: skip
    for at, (kind, name, repeat, client, tpot_ms) in enumerate(tasks):
        record = {
            "run": name, "concurrency": 1, "repeat": repeat, "num_prompts": 1, "seed": 0, "status": "ok",
            "failure_kind": None, "reason": None, "t_start_s": 100.0 + at, "t_end_s": 100.5 + at, "m_start_s": 1.0 * at,
            "m_end_s": 0.5 + at, "throughput_tok_s": 100.0, "tpot_mean_ms": tpot_ms, "stalls": 0, "log_start": None,
            "log_end": None, "client": None,
        }  # fmt: skip
        store.write_json(path / kind / name / "record.json", record | ({} if old else {"client_name": client}))
        store.write_json(path / kind / name / "bench.json", result(tpot_ms / 1000, float(at), client, old))
    return rawdata.RawSession(path, "complete")


def result(gap_s: float, start_s: float, client: str, old: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "duration": 0.5, "ttfts": [0.05], "itls": [[gap_s, gap_s]], "latencies": [0.05 + 2 * gap_s],
        "start_times": [start_s], "input_lens": [8], "output_lens": [3], "errors": [""],
    }  # fmt: skip
    if client == "native" and not old:
        value["benchbook"] = {
            "stream_errors": [None], "usage_tokens": [3], "finished": [True], "chunks": [3], "empty_chunks": [[]],
            "asked_tokens": [3], "failure_kinds": [None], "failure_s": [None], "answer_ttfts": [0.05],
            "send_times": [0.001], "connect_times": [None], "cached_tokens": [0], "chunk_kinds": ["ttt"],
            "chunk_times": [None],
        }  # fmt: skip
    return value


def derived(raw: rawdata.RawSession) -> tuple[pd.DataFrame, ...]:
    readings = warmup.table([raw])
    return readings, *bench.tables([raw], readings, THRESHOLDS, [])


def test_the_gate_is_judged_on_the_client_that_sent_the_readings(tmp_path: Path) -> None:
    apart = session(tmp_path / "a", [10.0, 12.0, 10.0, 12.0])
    readings, *_, runs = derived(apart)
    assert set(readings["gate"]) == {"passed"}, "the other client's 20 % are not the server's"
    assert set(runs["warmup_verdict"]) == {"CONVERGED"} and runs["client"].tolist() == [*BOTH, *BOTH]
    moved = session(tmp_path / "b", [12.0, 10.0, 12.0, 10.0])
    readings, *_, runs = derived(moved)
    assert set(readings["gate"]) == {"failed"} and set(runs["warmup_verdict"]) == {"UNWARMED"}


def test_what_only_the_native_client_says_is_null_for_the_other(tmp_path: Path) -> None:
    _, requests, chunks, _ = derived(session(tmp_path, [10.0, 10.0]))
    ours, theirs = requests.to_dict("records")
    assert (ours["answer_ttft_ms"], ours["send_ms"], ours["cached_tokens"]) == (50.0, 1.0, 0)
    assert all(pd.isna(theirs[name]) for name in ("answer_ttft_ms", "send_ms", "cached_tokens", "failure_kind"))
    assert ours["requested_output_tokens"] == theirs["requested_output_tokens"] == 3
    assert chunks["run_id"].unique().tolist() == ["20260101-000000/a_c1_r1"]
    assert chunks["t_s"].tolist() == pytest.approx([0.05, 0.06, 0.07])
    assert chunks["chunk"].tolist() == [0, 1, 2] and set(chunks["kind"]) == {"answer"}


def test_a_store_of_before_was_measured_by_vllms_client(tmp_path: Path) -> None:
    readings, requests, chunks, runs = derived(session(tmp_path, [10.0, 10.0, 10.0], old=True))
    assert set(readings["gate"]) == {"passed"} and len(requests) == 3 and chunks.empty
    assert set(runs["client"]) == {"vllm-bench"} and sweep.table(runs, ["a"])["client"].isna().all()


def test_a_run_that_was_never_started_is_its_clients(tmp_path: Path) -> None:
    raw = session(tmp_path, [10.0, 10.0])
    for path in (raw.folder / "runs" / "a_c1_r2").iterdir():
        path.unlink()
    *_, runs = derived(raw)
    assert runs.set_index("repeat")["client"].to_dict() == {1: "native", 2: "vllm-bench"}
    assert runs.set_index("repeat").loc[2, "status"] == "missing"
