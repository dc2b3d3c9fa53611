"""A recorded session written into the raw folder of a booking, in the form that measuring leaves."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchbook.adopt import agreement, clock, log_place
from benchbook.adopt.recording import Recorded, RecordedSession
from benchbook.derive.reconcile import Busy, busy_stretches
from benchbook.engines import facts
from benchbook.engines.vllm_stats import INTERVAL_S, stat_lines
from benchbook.errors import StoreError
from benchbook.measure import bench_result, store
from benchbook.measure.bench_run import Outcome
from benchbook.measure.store import SESSION_ID_FORMAT, Store

GIB = 2**30
SETTLED_S = 0.5
NEAR_S = 5.0
ERROR_MAX_S = 1.0


def adopt(recorded: RecordedSession, spec: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Write `recorded` as a session of `spec` into the store `folder`, once, and return the store's manifest.

    The session's id is the recorded launch. Runs are named as `spec` plans them. Raises StoreError when the recording
    has a run that is not planned, or when the folder holds an adoption of other content.
    """
    raw = Store(folder)
    for earlier in raw.session_folders():
        if store.read_json(earlier / "session.json").get("recording_sha256") != recorded.sha256:
            raise StoreError(
                f"{earlier} was adopted from the recording as it was before a change; move that folder out of results "
                "(it can be made again from the recording as it was), then try again."
            )
        return raw.manifest(spec)
    log = recorded.server_log.decode("utf-8", "replace")
    told = facts.read(log) or {}
    agreement.check(recorded, told.get("args"), spec)
    busy = busy_stretches(stat_lines(log, recorded.launched_s))
    named = _named(recorded, spec)
    everything = [*recorded.readings, *recorded.runs]
    lines = [item.telemetry for item in everything]
    aligned = clock.align([item.result for item in everything], lines, recorded.utc_offset_h)
    samples = _samples(lines)
    if aligned.error_s > ERROR_MAX_S and samples:
        raise StoreError(
            f"the results' clock cannot be put onto the telemetry's: {aligned.error_s:.1f} s stay open (by "
            f"{aligned.by}). Check utc_offset_h, and that each result names the telemetry of its own time, with "
            "scrapes of /metrics in it; or leave telemetry out."
        )
    whole = folder / time.strftime(SESSION_ID_FORMAT, time.gmtime(recorded.launched_s))
    session = folder / f".{whole.name}.part"
    shutil.rmtree(session, ignore_errors=True)
    session.mkdir(parents=True)
    store.write_json(session / "spec.json", spec)
    store.write_json(session / "environment.json", _environment(recorded.node))
    store.write_whole(session / "server.log", recorded.server_log)
    store.write_whole(session / "telemetry.jsonl", "".join(json.dumps(line) + "\n" for line in samples).encode())
    records = [
        _write(item, name, kind, session, spec, aligned.offset_s, samples, busy, recorded)
        for kind, name, item in named
    ]  # fmt: skip
    store.write_whole(session / "events.jsonl", _events(recorded.launched_s, told.get("boot_total_s"), records))
    store.write_json(session / "session.json", {
        "session": whole.name, "status": "complete", "reason": None, "failure": None, "reboot_of": None,
        "planned": [run["name"] for block in spec["plan"] for run in block["runs"]],
        "t_launch_s": recorded.launched_s, "t_end_s": max(record["t_end_s"] for record in records),
        "recording_sha256": recorded.sha256, "clock": asdict(aligned),
    })  # fmt: skip
    os.rename(session, whole)
    return raw.manifest(spec)


def _samples(lines: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """All telemetry in the order of time, each line once: results may name the same file."""
    once = {json.dumps(line, sort_keys=True): line for part in lines for line in part}
    return sorted(once.values(), key=lambda line: float(line["t"]))


def _named(recorded: RecordedSession, spec: Mapping[str, Any]) -> list[tuple[str, str, Recorded]]:
    """Kind, name and content of every reading and run."""
    planned = {(block["concurrency"], run["repeat"]): run["name"] for block in spec["plan"] for run in block["runs"]}
    counts: dict[int, int] = {}
    named = []
    for item in recorded.readings:
        level = int(item.result["max_concurrency"])
        counts[level] = counts.get(level, 0) + 1
        named.append(("warmup", f"warmup_c{level}_w{counts[level]}", item))
    for item in recorded.runs:
        place = int(item.result["max_concurrency"]), item.repeat
        if place not in planned:
            raise StoreError(
                f"{item.source} is repeat {place[1]} at concurrency {place[0]}, which the booking does not plan; "
                "correct workload.concurrency and repeats in the booking file, or leave the result out."
            )
        named.append(("runs", planned[place], item))
    names = [name for _, name, _ in named]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise StoreError(f"the recording lists {', '.join(sorted(twice))} twice; give each its own repeat.")
    return named


def _write(
    item: Recorded, name: str, kind: str, session: Path, spec: Mapping[str, Any], offset_s: float,
    samples: Sequence[Mapping[str, Any]], busy: Sequence[Busy], recorded: RecordedSession,
) -> dict[str, Any]:
    """One reading's or run's folder; returns its record."""
    result, folder = item.result, session / kind / name
    asked = item.output_tokens or spec["workload"]["output_tokens"]
    judged = bench_result.judge(result, result["num_prompts"], asked)
    summary = bench_result.summarise(result, int(result["max_concurrency"]))
    m_start_s = min(result["start_times"])
    t_start_s = m_start_s + offset_s
    t_end_s = t_start_s + result["duration"]
    log_start, log_end = log_place.between(recorded.server_log, t_start_s, t_end_s, recorded.utc_offset_h)
    outcome = Outcome(
        run=name, concurrency=int(result["max_concurrency"]), repeat=item.repeat, num_prompts=result["num_prompts"],
        seed=0, status=judged.status, failure_kind=judged.kind, reason=judged.reason, t_start_s=t_start_s,
        t_end_s=t_end_s, m_start_s=m_start_s, m_end_s=m_start_s + result["duration"],
        throughput_tok_s=summary.throughput_tok_s, tpot_mean_ms=summary.tpot_mean_ms,
        tpot_first_wave_ms=summary.tpot_first_wave_ms,
        stalls=bench_result.stalls(bench_result.requests(result)), log_start=log_start, log_end=log_end,
    )  # fmt: skip
    store.write_json(folder / "bench.json", result)
    for when, scrape in zip(("before", "after"), _around(samples, outcome, busy), strict=True):
        if scrape is not None:
            page = "".join(f"{family} {value}\n" for family, value in scrape.items())
            store.write_whole(folder / f"metrics_{when}.prom.gz", gzip.compress(page.encode(), mtime=0))
    times = [line["t"] for line in item.telemetry]
    record = asdict(outcome) | {"sampled": [min(times), max(times)] if times else None}
    store.write_json(folder / "record.json", record)
    return record


def _around(
    lines: Sequence[Mapping[str, Any]], outcome: Outcome, busy: Sequence[Busy]
) -> tuple[Mapping[str, float] | None, Mapping[str, float] | None]:
    """The last scrape before a benchmark and one after it: the first that is settled, or else the last there is.

    Scrapes of the whole session, because telemetry often stops with the client, before the last counters are in. One
    that is farther off than NEAR_S stands for the run's own only where the server's log shows it idle in between: a
    recording may leave out what else was measured.
    """
    scrapes = [line for line in lines if line.get("src") == "metrics"]
    before = [line for line in scrapes if line["t"] < outcome.t_start_s]
    after = [line for line in scrapes if line["t"] > outcome.t_end_s]
    settled = [line for line in after if line["t"] > outcome.t_end_s + SETTLED_S]
    first, last = before[-1] if before else None, settled[0] if settled else after[-1] if after else None
    return (
        first["v"] if first and _idle(busy, first["t"], outcome.t_start_s, outcome) else None,
        last["v"] if last and _idle(busy, outcome.t_end_s, last["t"], outcome) else None,
    )


def _idle(busy: Sequence[Busy], start_s: float, end_s: float, outcome: Outcome) -> bool:
    """Whether nothing else ran between a benchmark and a scrape of it, from `start_s` to `end_s`."""
    if end_s - start_s <= NEAR_S:
        return True
    others = [item for item in busy if item.start_s >= outcome.t_end_s or item.end_s <= outcome.t_start_s]
    own = [item for item in busy if item not in others]
    within = all(outcome.t_start_s - INTERVAL_S - 1 <= item.start_s and item.end_s <= outcome.t_end_s + INTERVAL_S + 1
                 for item in own)  # fmt: skip
    return bool(own) and within and not any(item.start_s < end_s and start_s < item.end_s for item in others)


def _environment(node: Mapping[str, Any]) -> dict[str, Any]:
    """environment.json: what the recording says of its node, null where it says nothing."""
    gpus = node.get("gpus") or []
    return {
        "node": {
            "cores": node.get("cores"),
            "memory_bytes": node["memory_gib"] * GIB if "memory_gib" in node else None,
            "cpu_model": node.get("cpu_model"),
            "kernel": node.get("kernel", "not recorded"),
            "gpu": {
                "why_none": None if gpus else "the recording names none",
                "driver": node.get("driver"),
                "devices": [
                    {
                        "name": gpu.get("name"),
                        "memory_bytes": gpu["memory_gib"] * GIB if "memory_gib" in gpu else None,
                        "power_limit_w": gpu.get("power_limit_w"),
                        "mig": None,
                    }
                    for gpu in gpus
                ],
            },
        },
        "engine": None,
        "client": None,
    }


def _events(launched_s: float, ready_s: float | None, records: Sequence[Mapping[str, Any]]) -> bytes:
    """events.jsonl. A boot lasts from the launch to the server's own word that it is ready, where the log has that."""
    events = []
    if ready_s is not None:
        events.append({"phase": "boot", "label": "boot", "concurrency": None, "ok": True,
                       "t_start_s": launched_s, "t_end_s": launched_s + ready_s})  # fmt: skip
    for record in records:
        events.append({
            "phase": "warmup" if record["repeat"] is None else "run", "label": record["run"],
            "concurrency": record["concurrency"], "ok": record["status"] == "ok", "t_start_s": record["t_start_s"],
            "t_end_s": record["t_end_s"],
        })  # fmt: skip
    return "".join(json.dumps(event) + "\n" for event in events).encode()
