"""The raw folder as derive reads it: checked against its manifest, then handed on as plain values."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from benchbook.errors import StoreError
from benchbook.measure import store
from benchbook.measure.telemetry import parse_metrics


@dataclass(frozen=True)
class RawSession:
    """One session's folder. Properties are read when asked for; what the session never wrote is None or empty."""

    folder: Path
    status: str

    @property
    def session_id(self) -> str:
        return self.folder.name

    @property
    def usable(self) -> bool:
        return self.status in store.USABLE

    @cached_property
    def ending(self) -> dict[str, Any]:
        """session.json: status, reason, failure, launch and end (Unix s), sampler cost."""
        value: dict[str, Any] = _read_json(self.folder / "session.json")
        return value

    @cached_property
    def spec(self) -> dict[str, Any]:
        value: dict[str, Any] = _read_json(self.folder / "spec.json")
        return value

    @cached_property
    def environment(self) -> dict[str, Any] | None:
        path = self.folder / "environment.json"
        return _read_json(path) if path.exists() else None

    @cached_property
    def server_log(self) -> str:
        path = self.folder / "server.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """Phases in the order they ended: phase, label, concurrency, ok, t_start_s, t_end_s (Unix s)."""
        return list(_json_lines(self.folder / "events.jsonl"))

    @cached_property
    def telemetry(self) -> list[dict[str, Any]]:
        """Samples as measure/telemetry.py describes them."""
        return list(_json_lines(self.folder / "telemetry.jsonl"))

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        """Records of the runs, in the order they were started."""
        return self._records("runs")

    @cached_property
    def readings(self) -> list[dict[str, Any]]:
        """Records of the warmup readings, in the order they were started."""
        return self._records("warmup")

    def _records(self, kind: str) -> list[dict[str, Any]]:
        records = [_read_json(path) for path in self.folder.glob(f"{kind}/*/record.json")]
        return sorted(records, key=lambda record: float(record["t_start_s"]))

    def result(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """The benchmark's own result of a run or reading; None when it wrote none."""
        kind = "warmup" if record["repeat"] is None else "runs"
        path = self.folder / kind / record["run"] / "bench.json"
        return _read_json(path) if path.exists() else None

    def log_of(self, record: dict[str, Any]) -> str | None:
        """What the server logged in the course of a run or reading; None when the record does not say where that is."""
        start, end = record.get("log_start"), record.get("log_end")
        path = self.folder / "server.log"
        return store.text_between(path, start, end) if start is not None and end is not None else None

    def scrapes(self, record: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]] | None:
        """/metrics just before and just after a run, gauges and counters by full name; None unless both answered."""
        paths = [self.folder / "runs" / record["run"] / f"metrics_{when}.prom.gz" for when in ("before", "after")]
        if not all(path.exists() for path in paths):
            return None
        before, after = (parse_metrics(gzip.decompress(path.read_bytes()).decode("utf-8", "replace")) for path in paths)
        return before, after


def _read_json(path: Path) -> Any:
    """store.read_json, several times as fast. What it does not take (NaN, Infinity, which load clients write) and what
    is no JSON goes to that one, for the same value or the same words."""
    try:
        return orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return store.read_json(path)


def _json_line(line: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line)


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Objects of a JSON-lines file; a last line cut short by a kill is left out, a broken one elsewhere is an error."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            yield _json_line(line)
        except ValueError as error:
            if number == len(lines):
                return
            raise StoreError(f"{path}, line {number}: not JSON ({error}). Restore the file from a copy.") from error


def sessions(manifest: dict[str, Any], folder: Path) -> list[RawSession]:
    """Every session that `manifest` lists, after each of its files was found and had the sha256 written down for it.

    StoreError names the first file that is missing or differs.
    """
    found = []
    for entry in manifest["sessions"]:
        for name, digest in entry["files"].items():
            path = folder / entry["session"] / name
            if not path.exists():
                raise StoreError(f"{path} is missing: the manifest lists it. Restore it from a copy, or measure again.")
            if store.sha256(path) != digest:
                raise StoreError(f"{path} is not the file that was measured (sha256 differs). Restore it from a copy.")
        found.append(RawSession(folder / entry["session"], entry["status"]))
    return found
