"""The manifest of a recording, recording.yaml, and the files that it names.

    sessions:                                 # in the booking's schedule: s1, s2, ...
      - slot: s1
        launched: 2026-11-30T14:56:12Z        # when the server was started
        utc_offset_h: 0                       # of the `date` in the results (default 0)
        server_log: base.server.log           # each file may be gzipped, with .gz in its name
        node: {cores: 16, memory_gib: 128, gpus: [{name: NVIDIA H200, memory_gib: 139.8, power_limit_w: 700}]}
        readings:                             # warmup, in the order it was done
          - {result: w1.bench.json, telemetry: w1.telemetry.jsonl, output_tokens: 64}
        runs:
          - {result: c1.bench.json, telemetry: c1.telemetry.jsonl, repeat: 1}

Results are those of `vllm bench serve --save-result --save-detailed`, telemetry lines those of measure/telemetry.py.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from benchbook.errors import StoreError

NAME = "recording.yaml"
_NEEDED = ("ttfts", "itls", "output_lens", "input_lens", "start_times", "errors", "max_concurrency", "num_prompts",
           "duration", "date")  # fmt: skip


@dataclass(frozen=True)
class Recorded:
    """One benchmark of a recording: its result, the telemetry lines around it (none where it names no file), and for a
    run its repeat.

    `output_tokens`: those asked for, None for the booking's own.
    """

    source: str
    result: Mapping[str, Any]
    telemetry: list[dict[str, Any]]
    repeat: int | None
    output_tokens: int | None


@dataclass(frozen=True)
class RecordedSession:
    """`sha256`: of its manifest entry and all that it names."""

    slot: str
    launched_s: float
    utc_offset_h: float
    server_log: bytes
    node: Mapping[str, Any]
    readings: list[Recorded]
    runs: list[Recorded]
    sha256: str


def read(folder: Path, slot: str) -> RecordedSession:
    """The session of `slot` in the recording in `folder`.

    Raises StoreError, with the file and what to do, when the manifest or a file of it is missing or not what it should
    be.
    """
    path = folder / NAME
    try:
        manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
        entries = [entry for entry in manifest["sessions"] if str(entry["slot"]) == slot]
        others = ", ".join(str(entry["slot"]) for entry in manifest["sessions"])
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is no manifest of a recording ({error}); see recordings/README.md.") from error
    if len(entries) != 1:
        count = "no session" if not entries else f"{len(entries)} sessions"
        raise StoreError(f"{path} has {count} for {slot} of the schedule (it lists {others}); give each slot one.")
    try:
        return _session(folder, entries[0])
    except KeyError as error:
        raise StoreError(f"{path}, session {slot}: key {error} is missing; add it (recordings/README.md).") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StoreError(f"{path}, session {slot}: {error}; correct it (recordings/README.md has the form).") from error


def _session(folder: Path, entry: Mapping[str, Any]) -> RecordedSession:
    offset_h = float(entry.get("utc_offset_h", 0))
    if not -14 <= offset_h <= 14:
        raise ValueError(f"utc_offset_h {offset_h} is not a time zone's distance from UTC in hours")
    node = entry.get("node") or {}
    if not isinstance(node, dict) or not all(isinstance(gpu, dict) for gpu in node.get("gpus") or []):
        raise ValueError("node and each of its gpus are maps")
    log = _content(folder, entry["server_log"])
    readings = [_recorded(folder, item, None) for item in entry.get("readings") or []]
    runs = [_recorded(folder, item, int(item["repeat"])) for item in entry.get("runs") or []]
    if not runs:
        raise ValueError("it has no runs")
    everything = [(item.result, item.telemetry, item.output_tokens) for item in (*readings, *runs)]
    digest = hashlib.sha256(log)
    digest.update(json.dumps([entry, everything], sort_keys=True, default=str).encode())
    return RecordedSession(
        slot=str(entry["slot"]), launched_s=_unix_s(entry["launched"]), utc_offset_h=offset_h, server_log=log,
        node=node, readings=readings, runs=runs, sha256=digest.hexdigest(),
    )  # fmt: skip


def _recorded(folder: Path, item: Mapping[str, Any], repeat: int | None) -> Recorded:
    name = item["result"]
    try:
        result = json.loads(_content(folder, name))
        text = _content(folder, item["telemetry"]) if item.get("telemetry") else b""
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise StoreError(f"{folder / name} or its telemetry is not JSON ({error}); restore it from a copy.") from error
    missing = [key for key in _NEEDED if key not in result] if isinstance(result, dict) else list(_NEEDED)
    if missing:
        raise StoreError(f"{folder / name} lacks {', '.join(missing)}: results are adopted that --save-detailed wrote.")
    problem = _wrong(result) or next((f"a line of its telemetry has no time: {str(line)[:80]}" for line in lines
                                      if not _is_sample(line)), None)  # fmt: skip
    if problem is not None:
        raise StoreError(f"{folder / name}: {problem}. Correct it, or leave it out of {NAME}.")
    return Recorded(name, result, lines, repeat, item.get("output_tokens"))


def _wrong(result: Mapping[str, Any]) -> str | None:
    """Why a result cannot be a session's run; None when it can."""
    lists = [result[name] for name in ("ttfts", "itls", "output_lens", "input_lens", "start_times", "errors")]
    if not all(isinstance(values, list) for values in lists) or len({len(values) for values in lists}) != 1:
        return "its lists of requests are not equally long"
    for name in ("max_concurrency", "num_prompts"):
        if not isinstance(result[name], int) or result[name] < 1:
            return f"{name} is {result[name]!r}: it was not run with --max-concurrency, and a booking needs one"
    if not isinstance(result["duration"], int | float) or not 0 < result["duration"] < 1e7:
        return f"its duration is {result['duration']!r}"
    if not all(isinstance(error, str) for error in result["errors"]):
        return "its errors are not texts"
    if not all(isinstance(start, int | float) and 0 <= start < 1e11 for start in result["start_times"]):
        return "its start_times are not times"
    if not any(result["output_lens"]):
        return "no request of it got a token, so it says nothing"
    return None


def _is_sample(line: Any) -> bool:
    return isinstance(line, dict) and isinstance(line.get("t"), int | float) and isinstance(line.get("src"), str)


def _content(folder: Path, name: str) -> bytes:
    path = folder / str(name)
    if folder.resolve() not in path.resolve().parents:
        raise StoreError(f"{NAME} names {name}, which lies outside of {folder}; put it inside.")
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError) as error:
        raise StoreError(f"{path}, named in {NAME}, cannot be read ({error}); restore it or name another.") from error


def _unix_s(value: Any) -> float:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
