"""The raw folder as derive reads it: checked against its manifest, then handed on as plain values.

Rule `boot`, the first of a store, checks every file (`sessions`); the others check what they read, when they read it
(`as_listed`), so that a large store is not read once more by each of them.

Texts are handed on with secrets and names covered (masking.py). So they come out the same from the raw files of an
archive, in which they are covered already: `scrubbed.json` beside raw/ says what each file was before, and which
files the archive is without.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from benchbook import masking
from benchbook.errors import StoreError
from benchbook.measure import store
from benchbook.measure.telemetry import parse_metrics

SCRUBBED = "scrubbed.json"
# The times of every token of a warmup reading, on which no figure rests: its record has what the warmup is judged by.
_UNREAD = re.compile(r"(?:raw/[^/]+/[^/]+/)?warmup/[^/]+/bench\.json")


@dataclass(frozen=True)
class RawSession:
    """One session's folder. Properties are read when asked for; what the session never wrote is None or empty.

    `digests`: sha256 by path in the folder. A file that has one is refused when it is another by now (StoreError).
    `measured`: the same as the manifest has them; an archive may have covered a file since.
    """

    folder: Path
    status: str
    digests: Mapping[str, str] = field(default_factory=dict)
    measured: Mapping[str, str] = field(default_factory=dict)

    @property
    def session_id(self) -> str:
        return self.folder.name

    @property
    def usable(self) -> bool:
        return self.status in store.USABLE

    @cached_property
    def ending(self) -> dict[str, Any]:
        """session.json: status, reason, failure, launch and end (Unix s), sampler cost."""
        value: dict[str, Any] = self._covered_json("session.json")
        return value

    @cached_property
    def spec(self) -> dict[str, Any]:
        value: dict[str, Any] = self._covered_json("spec.json")
        return value

    @cached_property
    def environment(self) -> dict[str, Any] | None:
        return self._covered_json("environment.json") if (self.folder / "environment.json").exists() else None

    @cached_property
    def identity(self) -> masking.Identity:
        """Who measured this session where, as it wrote down; nobody where it did not."""
        if not (self.folder / "environment.json").exists():
            return masking.NOBODY
        return masking.of(self._json("environment.json"), self._json("spec.json"))

    @cached_property
    def server_log(self) -> str:
        text = (self._log or b"").decode("utf-8", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @cached_property
    def _log(self) -> bytes | None:
        if not (self.folder / "server.log").exists():
            return None
        return masking.cover(self._bytes("server.log"), self.identity)[0]

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """Phases in the order they ended: phase, label, concurrency, ok, t_start_s, t_end_s (Unix s)."""
        return list(self._json_lines("events.jsonl"))

    @cached_property
    def telemetry(self) -> list[dict[str, Any]]:
        """Samples as measure/telemetry.py describes them."""
        return list(self._json_lines("telemetry.jsonl"))

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        """Records of the runs, in the order they were started."""
        return self._records("runs")

    @cached_property
    def readings(self) -> list[dict[str, Any]]:
        """Records of the warmup readings, in the order they were started."""
        return self._records("warmup")

    def _records(self, kind: str) -> list[dict[str, Any]]:
        records = [self._covered_json(f"{kind}/{path.parent.name}/record.json")
                   for path in self.folder.glob(f"{kind}/*/record.json")]  # fmt: skip
        return sorted(records, key=lambda record: float(record["t_start_s"]))

    def result(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """The benchmark's own result of a run or reading; None when it wrote none."""
        kind = "warmup" if record["repeat"] is None else "runs"
        name = f"{kind}/{record['run']}/bench.json"
        return _errors_covered(self._json(name), self.identity) if (self.folder / name).exists() else None

    def log_of(self, record: dict[str, Any]) -> str | None:
        """What the server logged in the course of a run or reading; None when the record does not say where that is."""
        start, end = record.get("log_start"), record.get("log_end")
        if start is None or end is None or self._log is None:
            return None
        return self._log[start : max(start, end)].decode("utf-8", "replace")

    def log_lines(self, record: dict[str, Any]) -> tuple[int, int] | None:
        """First and last line, from 1, of what `log_of` gives; None where that is nothing."""
        start, end = record.get("log_start"), record.get("log_end")
        if start is None or end is None or self._log is None or end <= start:
            return None
        return self._log.count(b"\n", 0, start) + 1, self._log.count(b"\n", 0, end - 1) + 1

    def scrapes(self, record: dict[str, Any]) -> tuple[dict[str, float], dict[str, float]] | None:
        """/metrics just before and just after a run, gauges and counters by full name; None unless both answered."""
        names = [f"runs/{record['run']}/metrics_{when}.prom.gz" for when in ("before", "after")]
        if not all((self.folder / name).exists() for name in names):
            return None
        before, after = (parse_metrics(gzip.decompress(self._bytes(name)).decode("utf-8", "replace")) for name in names)
        return before, after

    def verify(self) -> None:
        """Read every file that has a digest; StoreError names the first that is missing or differs."""
        for name, digest in self.digests.items():
            if store.sha256(self.folder / name) != digest:
                raise _changed(self.folder / name)

    def _bytes(self, name: str) -> bytes:
        data = (self.folder / name).read_bytes()
        if name in self.digests and hashlib.sha256(data).hexdigest() != self.digests[name]:
            raise _changed(self.folder / name)
        return data

    def _json(self, name: str) -> Any:
        """store.read_json, several times as fast. What it does not take (NaN, Infinity, which load clients write) and
        what is no JSON goes to that one, for the same value or the same words."""
        try:
            return orjson.loads(self._bytes(name))
        except (OSError, orjson.JSONDecodeError):
            return store.read_json(self.folder / name)

    def _covered_json(self, name: str) -> Any:
        """The value with its texts covered; what is no JSON is refused in the words of `_json`."""
        try:
            return orjson.loads(masking.cover(self._bytes(name), self.identity)[0])
        except (OSError, orjson.JSONDecodeError):
            return self._json(name)

    def _json_lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Objects of a JSON-lines file; a last line cut short by a kill is left out, a broken one elsewhere is an
        error."""
        path = self.folder / name
        if not path.exists():
            return
        lines = self._bytes(name).splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                yield _json_line(line)
            except ValueError as error:
                if number == len(lines):
                    return
                raise StoreError(f"{path}, line {number}: not JSON ({error}). Restore the file from a copy.") from error


def _errors_covered(result: dict[str, Any], who: masking.Identity) -> dict[str, Any]:
    """A benchmark's result with the texts of its failures covered; there are none in one that went well."""
    for holder, name in ((result, "errors"), (result.get("benchbook"), "stream_errors")):
        texts = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and isinstance(texts, list) and any(texts):
            holder[name] = [masking.cover_text(text, who) if isinstance(text, str) else text for text in texts]
    return result


def _changed(path: Path) -> StoreError:
    return StoreError(f"{path} is not the file that was measured (sha256 differs). Restore it from a copy.")


def _json_line(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line)


def sessions(manifest: dict[str, Any], folder: Path) -> list[RawSession]:
    """Every session that `manifest` lists, after each of its files was found and had the sha256 written down for it.

    StoreError names the first file that is missing or differs.
    """
    found = as_listed(manifest, folder)
    for session in found:
        session.verify()
    return found


def as_listed(manifest: dict[str, Any], folder: Path) -> list[RawSession]:
    """The same after each file was found; that it is the one that was measured is checked when it is read."""
    found, covered = [], scrubbed(folder.parents[1])
    for entry in manifest["sessions"]:
        digests = {}
        for name, digest in entry["files"].items():
            path = folder / entry["session"] / name
            now = covered.get((f"raw/{folder.name}/{entry['session']}/{name}", digest), digest)
            if now is not None:
                digests[name] = now
                if not path.exists():
                    raise StoreError(f"{path} is missing: the manifest lists it. Restore it from a copy, or measure "
                                     "again.")  # fmt: skip
        found.append(RawSession(folder / entry["session"], entry["status"], digests, entry["files"]))
    return found


def scrubbed(results: Path) -> dict[tuple[str, str], str | None]:
    """What an archive covered of the raw files of `results`, a booking's folder: (path in it, sha256 as measured) to
    sha256 now, None for a file that the archive is without. Empty where the files are those that were measured."""
    path = results / SCRUBBED
    if not path.exists():
        return {}
    return {(entry["file"], entry["before"]): entry["after"] for entry in store.read_json(path)["files"]
            if entry["after"] is not None or is_left_out(entry["file"])}  # fmt: skip


def is_left_out(name: str) -> bool:
    """Whether an archive is without a raw file of a session, by its path in the session's folder or in the results."""
    return bool(_UNREAD.fullmatch(name))
