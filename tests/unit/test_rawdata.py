"""Which files of a raw folder are held against their manifest, and when."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchbook import rawdata
from benchbook.errors import StoreError
from benchbook.measure.store import sha256

RECORD = {"run": "a", "repeat": 1, "t_start_s": 1.0, "log_start": 0, "log_end": 3}
FILES = {
    "session.json": b"{}", "spec.json": b"{}", "environment.json": b"{}", "server.log": b"one\r\ntwo\n",
    "events.jsonl": b'{"phase": 1}\n', "telemetry.jsonl": b'{"t": 1}\n{"t": 2}\n{"t"',
    "runs/a/record.json": json.dumps(RECORD).encode(), "runs/a/bench.json": b'{"ttfts": [NaN]}',
    "warmup/w/record.json": b'{"run": "w", "repeat": null, "t_start_s": 0.5}', "warmup/w/bench.json": b"{}",
    "runs/a/metrics_before.prom.gz": gzip.compress(b"a 1"), "runs/a/metrics_after.prom.gz": gzip.compress(b"a 2"),
}  # fmt: skip
READERS: dict[str, Callable[[rawdata.RawSession], Any]] = {
    "session.json": lambda raw: raw.ending, "spec.json": lambda raw: raw.spec,
    "environment.json": lambda raw: raw.environment, "events.jsonl": lambda raw: raw.events,
    "telemetry.jsonl": lambda raw: raw.telemetry, "server.log": lambda raw: raw.server_log,
    "runs/a/record.json": lambda raw: raw.runs, "runs/a/bench.json": lambda raw: raw.result(RECORD),
    "warmup/w/record.json": lambda raw: raw.readings,
    "warmup/w/bench.json": lambda raw: raw.result({"run": "w", "repeat": None}),
    "runs/a/metrics_before.prom.gz": lambda raw: raw.scrapes(RECORD),
    "runs/a/metrics_after.prom.gz": lambda raw: raw.scrapes(RECORD),
}  # fmt: skip
REFUSED = r" is not the file that was measured \(sha256 differs\)\. Restore it from a copy\.$"


@pytest.fixture
def stored(tmp_path: Path) -> tuple[dict[str, Any], Path]:
    for name, data in FILES.items():
        path = tmp_path / "s" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    digests = {name: sha256(tmp_path / "s" / name) for name in FILES}
    return {"sessions": [{"session": "s", "status": "complete", "files": digests}]}, tmp_path


def test_what_was_measured_is_read(stored):
    for (raw,) in (rawdata.sessions(*stored), rawdata.as_listed(*stored)):
        assert raw.server_log == "one\ntwo\n" and raw.log_of(RECORD) == "one"
        assert raw.telemetry == [{"t": 1}, {"t": 2}] and raw.runs == [RECORD]
        assert raw.scrapes(RECORD) == ({"a": 1.0}, {"a": 2.0})
        assert str(raw.result(RECORD)) == "{'ttfts': [nan]}"


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_stops_who_reads_it_and_nobody_else(stored, name):
    manifest, folder = stored
    (folder / "s" / name).write_bytes(FILES[name] + b" ")
    with pytest.raises(StoreError, match=name + REFUSED):
        rawdata.sessions(manifest, folder)
    (raw,) = rawdata.as_listed(manifest, folder)
    with pytest.raises(StoreError, match=name + REFUSED):
        READERS[name](raw)
    (other,) = rawdata.as_listed(manifest, folder)
    # Texts are covered by the identity in environment.json, less the names in spec.json: both are read for them.
    texts = ("server.log", "session.json", "spec.json", "environment.json", "record.json", "bench.json")
    left = {file for file in READERS if file != name and "metrics" not in file + name}
    for file in left - {file for file in left if name in ("environment.json", "spec.json") and file.endswith(texts)}:
        READERS[file](other)


def test_a_changed_log_stops_who_reads_a_part_of_it(stored):
    (stored[1] / "s" / "server.log").write_bytes(b"one\r\nTWO\n")
    (raw,) = rawdata.as_listed(*stored)
    with pytest.raises(StoreError, match="server.log" + REFUSED):
        raw.log_of(RECORD)


@pytest.mark.parametrize("read", [rawdata.sessions, rawdata.as_listed])
@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_stops_every_rule(stored, name, read):
    (stored[1] / "s" / name).unlink()
    with pytest.raises(StoreError, match=f"{name} is missing: the manifest lists it"):
        read(*stored)
