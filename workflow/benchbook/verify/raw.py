"""Raw files against the manifests of their sessions: none missing, none changed, none added."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchbook import rawdata
from benchbook.errors import BenchbookError
from benchbook.measure.store import FILES, read_json, sha256
from benchbook.verify.finding import Finding

_RUN = re.compile(r"(?P<arm>.+)_c(?P<level>\d+)_r\d+")
_READING = re.compile(r"warmup_c\d+_w\d+")


def check(results: Path, stores: Iterable[str]) -> tuple[list[Finding], int]:
    """Everything wrong with the raw files of `stores` in results/BOOKING, and how many files were read."""
    found: list[Finding] = []
    count = 0
    try:
        covered = rawdata.scrubbed(results)
    except BenchbookError as error:
        return [Finding(rawdata.SCRUBBED, f"cannot be read ({error})")], 0
    for store in stores:
        path = results / f"sessions/{store}.json"
        try:
            manifest = read_json(path)
            sessions: list[Mapping[str, Any]] = list(manifest["sessions"])
        except (BenchbookError, KeyError, TypeError) as error:
            found.append(Finding(f"sessions/{store}.json", f"cannot be read ({error})"))
            continue
        for session in sessions:
            more, files = _session(results, store, session, covered)
            found += more
            count += files
    return found, count


def _session(
    results: Path, store: str, session: Mapping[str, Any], covered: Mapping[tuple[str, str], str | None]
) -> tuple[list[Finding], int]:
    found = []
    name, folder = session["session"], f"raw/{store}/{session['session']}"
    listed: Mapping[str, str] = session["files"]
    for file, digest in listed.items():
        place = f"{folder}/{file}"
        path, now = results / place, covered.get((place, digest), digest)
        if now is None:
            continue
        if not path.is_file():
            found.append(_of(place, name, file, "is missing"))
        elif sha256(path) != now:
            found.append(_of(place, name, file, "is not the file that was measured (sha256 differs)"))
    own = results / folder / FILES
    if not own.is_file():
        found.append(_of(f"{folder}/{FILES}", name, FILES, "is missing"))
    elif own.read_text(encoding="utf-8", errors="replace") != _listing(listed):
        found.append(_of(f"{folder}/{FILES}", name, FILES, "does not list what the session's manifest lists"))
    there = {str(path.relative_to(results / folder)) for path in (results / folder).rglob("*") if path.is_file()}
    kept = {file for file, digest in listed.items() if covered.get((f"{folder}/{file}", digest), digest) is not None}
    for file in sorted(there - kept - {FILES}):
        found.append(_of(f"{folder}/{file}", name, file, "is listed in no manifest"))
    return found, len(kept) + 1


def _listing(listed: Mapping[str, str]) -> str:
    return json.dumps(dict(listed), indent=1, sort_keys=True) + "\n"


def _of(place: str, session: str, file: str, what: str) -> Finding:
    return Finding(place, what, rests=tuple(addresses(session, file)))


def addresses(session: str, file: str) -> list[str]:
    """The addresses that rest on a raw file of a session, most directly first; "*" stands for every column."""
    parts = file.split("/")
    if parts[0] == "runs" and len(parts) > 2:
        run = _RUN.fullmatch(parts[1])
        point = [f"sweep:{run['arm']}/c{run['level']}:*"] if run else []
        return [f"runs:{session}/{parts[1]}:*", *point]
    if parts[0] == "warmup" and len(parts) > 2 and _READING.fullmatch(parts[1]):
        return [f"warmup:{session}/{parts[1]}:*"]
    return [f"sessions:{session}:*"]
