"""What each chapter shows: tables, figures and their provenance, ready for the templates."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from benchbook.columns import tag_text
from benchbook.columns.measured import NO_GPU
from benchbook.errors import TableError
from benchbook.present import claim_chapters, leads, summary, svg, wording
from benchbook.present import format as fmt
from benchbook.present.context import FRAMES, ReportInput
from benchbook.present.origin import Origin, origin, summary_origin
from benchbook.present.tables import Col, Part, Table, part, totals
from benchbook.present.tables import build as table

FIGURES = {
    "figure_sweep": ("Throughput and TPOT against concurrency",
                     "Two panels over concurrency on a log2 axis: throughput in tokens per second and mean TPOT in "
                     "milliseconds. One point per run, a line through the means. The table below has the numbers."),
    "figure_warmup": ("TPOT and throughput of every warmup reading",
                      "Two panels per arm and concurrency: mean TPOT in milliseconds and throughput in tokens per "
                      "second against the reading's number, one line per session. The table below has the numbers."),
    "figure_timeline": ("The sessions in time",
                        "One row per session in the order of launch: boot, client start, warmup, measured runs, gaps "
                        "and teardown along minutes. The table below has the numbers."),
    "figure_telemetry": ("Telemetry over time",
                         "One row per session: utilization and CPU time along minutes since launch, measured runs "
                         "marked. The tables below have the means."),
    **claim_chapters.FIGURES,
}
_HOLE = re.compile(r"\[\[(\w+)\]\]")
_GPU = ("gpu_count", "gpu_samples", "gpu_coverage", "gpu_util_naive_pct", "gpu_util_pct", "gpu_util_se_pct",
        "gpu_util_spread_pct", "gpu_power_naive_w", "gpu_power_w", "gpu_power_se_w")
_ACTIVITY = ("gpu_util_fine_pct", "gpu_sm_active_pct", "gpu_tensor_active_pct", "gpu_dram_active_pct",
             "gpu_sm_clock_mhz", "gpu_sm_clock_share", "gpu_throttled_share", "gpu_temperature_c", "gpu_throttled")
_ENERGY = ("gpu_power_limit_w", "gpu_power_share", "gpu_power_peak_w", "gpu_power_energy_w", "gpu_energy_j",
           "gpu_energy_per_token_j", "gpu_energy_run_j", "gpu_energy_run_per_token_j", "gpu_memory_gib")
_ENVIRONMENT = ("engine", "engine_version", "python", "kernel", "cpu_model", "cores", "memory_gib", "gpus", "driver")


def look(item: Part) -> str:
    """The classes of an addressed value."""
    return f"v {'missing' if item.missing else item.tone}".strip()


def value(item: Part) -> Markup:
    """One addressed value as an element."""
    return Markup('<span class="{}" data-address="{}"{}>{}</span>').format(
        look(item), item.address, note(item), item.text)


def note(item: Part) -> Markup:
    """The attributes that say why a value is missing, or what the whole of a shortened one is; none for others."""
    if item.missing:
        return Markup(' data-why="{0}" title="missing: {0}"').format(item.why)
    return Markup(' title="{}"').format(item.whole) if item.whole else Markup("")


def say(sentence: str, parts: Mapping[str, Part]) -> Markup:
    """A sentence of wording.py with its numbers put in."""
    pieces = _HOLE.split(sentence)
    return Markup("").join(value(parts[piece]) if odd % 2 else escape(piece) for odd, piece in enumerate(pieces))


def _tags(runs: pd.DataFrame) -> set[str]:
    return {tag for cell in runs["tags"] for tag in tag_text.listed(cell)}


def _sweep(frame: pd.DataFrame, name: str, caption: str, short: bool = False) -> Table:
    throughput = Col("throughput_tok_s", span=("throughput_min_tok_s", "throughput_max_tok_s"))
    tpot = Col("tpot_mean_ms", span=("tpot_min_ms", "tpot_max_ms"))
    ttft = Col("ttft_mean_ms", span=("ttft_min_ms", "ttft_max_ms"))
    columns: list[str | Col] = ["arm", "concurrency", *_if_any(frame, "client"), throughput, tpot, ttft]
    columns += ["sessions", "runs", "tags"] if short else [
        "itl_p50_ms", "e2el_mean_ms", "sessions", "runs", "runs_not_ok", "tags"]
    return table(frame, "sweep", caption, columns, name=name)


def _at_a_glance(ends: pd.DataFrame, verdicts: pd.DataFrame) -> Table:
    """The ends of each arm's sweep with the level of their throughput; of several clients only one has a level, and
    none is shown."""
    caption = "Each arm at the ends of its sweep"
    if _if_any(ends, "client"):
        return _sweep(ends, "sweep-ends", f"{caption}.", short=True)
    shown = _sweep(ends, "sweep-ends", f"{caption}, and the level of its throughput.", short=True)
    ids = [f"value/{row['arm']}/throughput_tok_s/c{row['concurrency']}" for row in ends.to_dict("records")]
    return claim_chapters.with_level(shown, 3, ids, verdicts)


def _crosscheck(frame: pd.DataFrame) -> Table:
    columns: list[str | Col] = ["arm", "concurrency", "pairs"]
    for name, unit in (("throughput", "_tok_s"), ("tpot", "_ms"), ("ttft", "_ms")):
        columns += _of_both(name, unit)
    return table(frame, "crosscheck", "Two load clients on one server: means over pairs; below a difference its range.",
                 columns)


def _of_both(name: str, unit: str = "") -> list[str | Col]:
    return [f"{name}_native{unit}", f"{name}_vllm_bench{unit}",
            Col(f"{name}_difference", span=(f"{name}_difference_min", f"{name}_difference_max"))]


def _ends(sweep: pd.DataFrame) -> pd.DataFrame:
    """Of each arm the rows of its lowest and its highest concurrency."""
    if sweep.empty:
        return sweep
    levels = sweep.groupby("arm")["concurrency"]
    at_end = (sweep["concurrency"] == levels.transform("min")) | (sweep["concurrency"] == levels.transform("max"))
    return sweep[at_end]


def _readings(warmup: pd.DataFrame) -> dict[str, Any]:
    """One row per session and concurrency, one column per reading; every cell keeps its reading's address."""
    rows = []
    for _, group in warmup.groupby(["session_id", "concurrency"], sort=False):
        records = group.sort_values("reading").to_dict("records")
        last = records[-1]
        rows.append({
            "lead": [part("warmup", last, name) for name in ("session_id", "slot", "arm", "concurrency")],
            "readings": {int(record["reading"]): part("warmup", record, "tpot_mean_ms") for record in records},
            "throughput": {int(record["reading"]): part("warmup", record, "throughput_tok_s") for record in records},
            "marks": {int(record["reading"]): _marks(record) for record in records},
            "end": [part("warmup", last, name) for name in ("verdict", "gate")],
            "why": part("warmup", last, "verdict_reason"),
            "gate": part("warmup", last, "gate_reason"),
        })
    numbers = sorted({int(reading) for reading in warmup["reading"]})
    return {"numbers": numbers, "rows": rows}


def _marks(reading: Mapping[Hashable, Any]) -> list[tuple[str, Part]]:
    """The stalls and the late work of a reading, where it has any, each with the word for it."""
    return [(word, part("warmup", reading, name)) for word, name in (("stalls", "stalls"), ("late work", "late_work"))
            if pd.notna(reading[name]) and reading[name] > 0]  # fmt: skip


def _environments(sessions: pd.DataFrame) -> dict[str, Any]:
    """Sessions grouped by equal environment, so that a difference stands out; values carry the first's address."""
    groups: dict[tuple[str, ...], list[dict[Any, Any]]] = {}
    for row in sessions.to_dict("records"):
        key = tuple(fmt.cell("sessions", name, row[name]).text for name in _ENVIRONMENT)
        groups.setdefault(key, []).append(row)
    columns = [[part("sessions", row, "session_id") for row in rows] for rows in groups.values()]
    facts = []
    for name in _ENVIRONMENT:
        head = table(sessions, "sessions", "", [name]).heads[0]
        cells = [part("sessions", rows[0], name) for rows in groups.values()]
        facts.append({"head": head, "cells": cells, "differs": len({cell.text for cell in cells}) > 1})
    return {"columns": columns, "facts": facts}


def _span(timeline: pd.DataFrame, sessions: pd.DataFrame) -> list[Part]:
    """The first launch and the last recorded end, as addressed times."""
    if sessions.empty:
        return []
    first = sessions.sort_values("t_launch_s", kind="stable").to_dict("records")[0]
    shown = [part("sessions", first, "t_launch_s")]
    if len(timeline):
        shown.append(part("timeline", timeline.sort_values("t_end_s", kind="stable").to_dict("records")[-1], "t_end_s"))
    return shown


def _tables(frames: Mapping[str, pd.DataFrame]) -> dict[str, Table]:
    runs, sessions, telemetry = frames["runs"], frames["sessions"], frames["telemetry"]
    return {
        "ends": _at_a_glance(_ends(frames["sweep"]), frames["verdicts"]),
        "sweep": _sweep(frames["sweep"], "sweep", "Mean over sessions; below it the lowest to the highest run."),
        "sessions": table(sessions, "sessions", "Where the time of each session went.", [
            "session_id", "slot", "arm", "status", "boot_s", "client_start_s", "warmup_s", "runs_s", "teardown_s",
            "wall_s", "run_share", "gap_median_s", "gap_max_s", Col("runs_done", of="runs_planned")], dense=True),
        "startup": table(sessions, "sessions", "Start-up as the server’s log tells it, and what sampling cost.", [
            "session_id", "slot", "arm", "boot_s", "load_s", "compile_s", "init_s", "kv_cache_tokens",
            "sampler_cpu_share", "sampler_node_ms", *_if_any(sessions, "sampler_gpu_ms"),
            *_if_any(sessions, "server_cpus"), *_if_any(sessions, "server_cpus_held")], name="startup",
            dense=True),
        "memory": table(sessions, "sessions", "What the server’s log says of its memory and its captured graphs.", [
            "session_id", "slot", "arm", "weights_gib", "kv_memory_gib", "kv_cache_tokens", "graphs_piecewise",
            "graphs_full", "capture_s", "capture_gib"], name="memory", dense=True),
        "steady": table(runs, "runs", "Steady window, whole waves and Little’s check of every run.", [
            "run_id", "slot", *_client_if_several(runs), "window_s", "throughput_tok_s", "window_throughput_tok_s",
            "waves", "whole_waves", "in_flight_mean", "fill", "little_delta", "little", "warmup_verdict", "tags"],
            name="steady", dense=True),
        "latencies": table(runs, "runs", "Latencies of every run; percentiles where there are requests enough.", [
            "run_id", "slot", *_client_if_several(runs), "completed", "ttft_mean_ms", "ttft_p50_ms", "ttft_p90_ms",
            "ttft_p99_ms", "tpot_mean_ms", "step_ms", "itl_p50_ms", "tokens_per_chunk", "tokens_per_step",
            "throughput_peak_tok_s", "stalls", "ttft_slow_share", "ttft_mode_ratio"], name="latencies", dense=True),
        "host": table(telemetry, "telemetry", "Host: the naive mean beside the one in the run.", [
            "run_id", "slot", "window_s", "samples", "coverage", "cpu_util_naive_pct", "cpu_util_pct",
            "cpu_util_max_core_pct", "server_cpu_cores", "client_cpu_cores", "server_memory_gib",
            "client_memory_gib", *_if_any(telemetry, "cpu_refused")], name="telemetry-host", dense=True),
        "scheduler": table(frames["scheduler"], "scheduler", "Scheduler: what the engine was busy with in the run.", [
            "run_id", "slot", "concurrency", "scrapes", "running_mean", "waiting_mean", "waiting_max", "outside_mean",
            "outside_share", "engine_arrival_rate_req_s", "kv_cache_usage_max", "preemptions", "prefix_hit_rate",
            "engine_steps", "tokens_per_engine_step"], dense=True),
        "crosscheck": _crosscheck(frames["crosscheck"]),
        "paced_crosscheck": table(frames["crosscheck"], "crosscheck",
                                  "The same over what the server counted of each run itself.", [
            "arm", "concurrency", "pairs", *_of_both("throughput_over_server"), *_of_both("tpot_over_server")],
            name="crosscheck-server"),
        "ttft_crosscheck": table(frames["crosscheck"], "crosscheck", "Where the two clients’ TTFT differ.", [
            "arm", "concurrency", "pairs", "ttft_native_ms", "ttft_vllm_bench_ms", "ttft_difference_ms",
            "ttft_excess_native_ms", "ttft_excess_vllm_bench_ms", "ttft_server_difference_ms"],
            name="crosscheck-ttft"),
        "client": table(frames["client"], "client", "Load client: its own load, and its figures beside the server’s.", [
            "run_id", "slot", "client", *_if_any(frames["client"], "loop"), *_processes(frames["client"]),
            "client_cpu_cores", *_if_any(frames["client"], "receive_wait_mean_ms"),
            "loop_lag_p99_ms", "resend_gap_median_ms",
            "itl_client_mean_ms", "itl_server_mean_ms", "itl_ratio", "ttft_client_mean_ms", "ttft_server_mean_ms",
            "ttft_excess_ms", "saturated"], dense=True),
        "reconciliation": table(frames["reconciliation"], "reconciliation",
                                "Three counts of every run: client, /metrics, server log.", [
            "run_id", "quantity", "client", "metrics", "log", "difference", "outcome"], dense=True),
        "gpu": table(telemetry, "telemetry", "GPU: the naive mean beside the one in the run; power per GPU.", [
            "run_id", "slot", *_GPU, *_if_any(telemetry, "gpu_refused")], name="telemetry-gpu", dense=True),
        "activity": table(telemetry, "telemetry", "GPU: what it did in the run, and whether it was held back.", [
            "run_id", "slot", *_ACTIVITY], name="telemetry-activity", dense=True),
        "energy": table(telemetry, "telemetry", "GPU: power per GPU, energy and memory of all, in the run.", [
            "run_id", "slot", *_ENERGY, *_if_any(telemetry, "gpu_note")], name="telemetry-energy", dense=True),
        "failures": table(frames["failures"], "failures", "What failed, why, and what it cost.", [
            "failure_id", "slot", "arm", "what", "failure_class", *_if_any(frames["failures"], "failure_phase"),
            "reason", "remedy", "expected", "cost_s"]),
        **_preflight(frames["preflight"]),
        "index": table(runs, "runs", "Every run asked for.", [
            Col("run_id", anchor=True), "slot", "client", "status", "tags", "t_start_s", "duration_s", "gap_before_s",
            "num_prompts", "completed", "spec_hash", "reason"], name="run-index", dense=True),
    }


def _preflight(found: pd.DataFrame) -> dict[str, Table]:
    """Errors that the booking lets stand and all else that stands against it, and the notes."""
    allowed, is_note = found["allowed"].notna(), found["severity"] == "note"
    columns: list[str | Col] = [
        "rule", "severity", *_if_any(found, "arm"), "evidence", "arithmetic", "remedy", "source"]
    against = found[~is_note & ~allowed]
    return {
        "overrides": table(found[allowed], "preflight", "Errors of preflight that the booking file lets stand.", [
            "rule", *_if_any(found[allowed], "arm"), "allowed", "evidence", "arithmetic", "source"],
            name="preflight-allowed"),
        "pitfalls": table(against, "preflight", "What preflight finds in the booking as it was measured.",
                          columns, dense=True),
        "preflight_notes": table(found[is_note], "preflight", "Notes of preflight.", columns, name="preflight-notes",
                                 dense=True),
    }


def _without_warmup(runs: pd.DataFrame, warmup: pd.DataFrame) -> int:
    """How many concurrencies of a session were measured without any reading there."""
    places = [set(zip(frame["session_id"], frame["concurrency"], strict=True)) for frame in (runs, warmup)]
    return len(places[0] - places[1])


def _client_if_several(runs: pd.DataFrame) -> list[str]:
    return ["client"] if runs["client"].nunique() > 1 else []


def _processes(client: pd.DataFrame) -> list[str]:
    return ["processes"] if (client["processes"].fillna(1) > 1).any() else []


def _if_any(frame: pd.DataFrame, column: str) -> list[str]:
    """The column when any row has a value in it: a remark that no run needs is no column."""
    return [column] if frame[column].notna().any() else []


def _root_causes(sessions: pd.DataFrame) -> list[list[Part]]:
    found = sessions[sessions["root_cause"].notna()]
    return [[part("sessions", row, "session_id"), part("sessions", row, "root_cause")]
            for row in found.to_dict("records")]


def _inputs_of_rules(origins: Mapping[str, Origin]) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Names of the tables and figures that one rule made from the same inputs, and those inputs with their sha256."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for name, item in origins.items():
        if name != "summary":
            groups.setdefault((item.rule, item.inputs), []).append(name)
    return [(", ".join(names), inputs) for (_, inputs), names in groups.items()]


def _figures(context: ReportInput) -> dict[str, dict[str, Any]]:
    figures = {}
    for name, (title, description) in FIGURES.items():
        drawing = svg.inline(context.figures[name], name.replace("_", "-"), title, description)
        figures[name] = {"name": name, "svg": drawing, "title": title}
    return figures


def _check(context: ReportInput) -> None:
    missing = (
        [f"table {name}" for name in FRAMES if name not in context.frames]
        + [f"figure {name}" for name in FIGURES if name not in context.figures]
        + [f"sidecar of {name}" for name in (*FRAMES, *FIGURES) if name not in context.sidecars]
    )
    if missing:
        raise TableError(f"report {context.booking_id}: missing {', '.join(missing)}. Rerun the rules that make them.")


def build(context: ReportInput) -> dict[str, Any]:
    """Everything that the templates of `context` need beside itself. Raises TableError when a part is missing."""
    _check(context)
    frames = context.frames
    runs, warmup, telemetry = frames["runs"], frames["warmup"], frames["telemetry"]
    facts = pd.concat([
        summary.build(runs, frames["sessions"], frames["failures"], context.price_usd_per_hour),
        summary.claims(frames["verdicts"]),
    ], ignore_index=True)
    counts = {str(row["key"]): float(row["value"]) for row in facts.dropna(subset=["value"]).to_dict("records")}
    parts = totals(facts)
    run_tags = _tags(runs)
    ok_tags = _tags(runs[runs["status"] == "ok"])
    ends = warmup.drop_duplicates(["session_id", "concurrency"], keep="last")
    origins: dict[str, Origin] = {
        name: origin(name, context.sidecars[name], runs) for name in (*FRAMES, *FIGURES)
    }
    origins["summary"] = summary_origin([origins[name] for name in ("runs", "sessions", "failures", "verdicts")], runs)
    return {
        "totals": parts,
        "counts": counts,
        "status": wording.status(counts, ok_tags),
        "say": lambda sentence: say(sentence, parts),
        "value": value,
        "look": look,
        "note": note,
        "tables": _tables(frames) | claim_chapters.tables(frames),
        **claim_chapters.views(frames),
        "says_of": leads.says(frames["verdicts"]),
        "lead": {chapter: say(sentence, parts) for chapter, sentence in leads.COUNTS.items()},
        "wording_of": wording,
        "figures": _figures(context),
        "origins": origins,
        "inputs_of_rules": _inputs_of_rules(origins),
        "span": _span(frames["timeline"], frames["sessions"]),
        "engines": _engines(frames["sessions"]),
        "tags": wording.tags_explained(run_tags),
        "readings": _readings(warmup),
        "warmup_sentence": wording.warmup_counts(int((ends["verdict"] == "CONVERGED").sum()),
                                                 int((ends["verdict"] == "UNWARMED").sum()), ends["gate"].dropna(),
                                                 _without_warmup(runs, warmup)),
        "has_memory": bool(frames["sessions"][["weights_gib", "capture_s"]].notna().any().any()),
        "has_gpu": bool(telemetry[list(_GPU)].notna().any().any()),
        "no_gpu": wording.no_gpu(NO_GPU),
        "naive": wording.NAIVE,
        "gpu_activity": wording.GPU_ACTIVITY,
        "gpu_energy": wording.GPU_ENERGY,
        "sampling_cost": wording.SAMPLING_COST,
        "of_client": wording.CLIENT,
        "of_crosscheck": wording.CROSSCHECK,
        "of_scheduler": wording.SCHEDULER,
        "of_reconciliation": wording.RECONCILIATION,
        "no_failures": wording.no_failures(),
        "of_preflight": wording.preflight(len(frames["preflight"]), int(frames["preflight"]["allowed"].notna().sum())),
        "root_causes": _root_causes(frames["sessions"]),
        "environments": _environments(frames["sessions"]),
        "thresholds": {
            "changed": [item for item in context.thresholds if item.value != item.default],
            "kept": [item for item in context.thresholds if item.value == item.default],
        },
        "relaxed": wording.relaxed(item.name for item in context.thresholds if item.relaxed),
        "definitions": wording.DEFINITIONS,
        "with_unit": fmt.with_unit,
    }


def _engines(sessions: pd.DataFrame) -> list[Part]:
    """The engine versions seen, each once."""
    seen = sessions.dropna(subset=["engine_version"]).drop_duplicates("engine_version")
    return [part("sessions", row, "engine_version") for row in seen.to_dict("records")]
