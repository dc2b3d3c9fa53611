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
    """One benchmark of a recording: its result, the telemetry lines around it, and for a run its repeat.

    `output_tokens`: those asked for, None for the booking's own.
    """

    source: str
    result: Mapping[str, Any]
    telemetry: list[dict[str, Any]]
    repeat: int | None
    output_tokens: int | None


@dataclass(frozen=True)
class RecordedSession:
    slot: str
    launched_s: float
    utc_offset_h: float
    server_log: bytes
    node: Mapping[str, Any]
    readings: list[Recorded]
    runs: list[Recorded]


def read(folder: Path, slot: str) -> RecordedSession:
    """The session of `slot` in the recording in `folder`.

    Raises StoreError, with the file and what to do, when the manifest or a file of it is missing or not what it should
    be.
    """
    path = folder / NAME
    try:
        manifest = yaml.safe_load(path.read_text(encoding="utf-8"))
        sessions = {entry["slot"]: entry for entry in manifest["sessions"]}
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is no manifest of a recording ({error}); see adopt/recording.py.") from error
    if slot not in sessions:
        raise StoreError(f"{path} has no session for {slot} of the schedule, only {', '.join(sessions)}; add it.")
    entry = sessions[slot]
    try:
        return RecordedSession(
            slot=slot,
            launched_s=_unix_s(entry["launched"]),
            utc_offset_h=float(entry.get("utc_offset_h", 0)),
            server_log=_content(folder, entry["server_log"]),
            node=entry.get("node") or {},
            readings=[_recorded(folder, item, None) for item in entry.get("readings") or []],
            runs=[_recorded(folder, item, int(item["repeat"])) for item in entry.get("runs") or []],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}, session {slot}: {type(error).__name__} {error}; see adopt/recording.py.") from error


def _recorded(folder: Path, item: Mapping[str, Any], repeat: int | None) -> Recorded:
    name = item["result"]
    try:
        result = json.loads(_content(folder, name))
        lines = [json.loads(line) for line in _content(folder, item["telemetry"]).splitlines() if line.strip()]
    except ValueError as error:
        raise StoreError(f"{folder / name} or its telemetry is not JSON ({error}); restore it from a copy.") from error
    missing = [key for key in _NEEDED if key not in result] if isinstance(result, dict) else list(_NEEDED)
    if missing:
        raise StoreError(f"{folder / name} lacks {', '.join(missing)}: results are adopted that --save-detailed wrote.")
    return Recorded(name, result, lines, repeat, item.get("output_tokens"))


def _content(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError) as error:
        raise StoreError(f"{path}, named in {NAME}, cannot be read ({error}); restore it or name another.") from error


def _unix_s(value: Any) -> float:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
