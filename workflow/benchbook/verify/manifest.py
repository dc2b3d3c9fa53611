"""The manifests of a booking's sessions against what lies in its raw folder: neither may hold more than the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchbook.errors import BenchbookError
from benchbook.measure.store import Store, read_json
from benchbook.verify.finding import Finding

OF_A_STORE = (".lock", ".compile-cache")  # what a session leaves beside its sessions' folders
AGAIN = "restore it from a copy, or take it away and run snakemake report"


def check(results: Path, specs: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Everything in results/BOOKING/raw and sessions/ that no manifest accounts for, and every manifest of the stores
    `specs` that says other things than its store gives.

    Stores of earlier specifications stay on disk and are listed as superseded; their manifests may stay too.
    """
    return [*_beside_the_stores(results), *(finding for store, spec in specs.items()
                                            for finding in _of_store(results, store, spec))]  # fmt: skip


def _beside_the_stores(results: Path) -> Iterator[Finding]:
    raw, sessions = results / "raw", results / "sessions"
    stores = {path.name for path in raw.iterdir() if path.is_dir()} if raw.is_dir() else set()
    for path in sorted(raw.iterdir()) if raw.is_dir() else []:
        if not path.is_dir():
            yield Finding(f"raw/{path.name}", f"is no store and stands in no manifest; {AGAIN}")
        elif not Store(path).session_folders() and any(path.rglob("*")):
            yield Finding(f"raw/{path.name}", f"holds files and no session; {AGAIN}")
    for path in sorted(sessions.iterdir()) if sessions.is_dir() else []:
        if path.suffix != ".json" or path.stem not in stores:
            yield Finding(f"sessions/{path.name}", f"is the manifest of no store in raw/; {AGAIN}")


def _of_store(results: Path, store: str, spec: Mapping[str, Any]) -> Iterator[Finding]:
    folder, name = Store(results / "raw" / store), f"sessions/{store}.json"
    try:
        manifest = read_json(results / name)
        listed = [session["session"] for session in manifest["sessions"]]
    except (BenchbookError, KeyError, TypeError):
        return  # raw.check says so
    there = {path.name for path in folder.session_folders()}
    for session in sorted(there - set(listed)):
        yield Finding(f"raw/{store}/{session}", f"is a session that {name} does not list; {AGAIN}",
                      rests=(f"sessions:{session}:*",))  # fmt: skip
    for path in sorted(folder.folder.iterdir()) if folder.folder.is_dir() else []:
        if path.name not in there and path.name not in OF_A_STORE:
            yield Finding(f"raw/{store}/{path.name}", f"belongs to no session; {AGAIN}")
    if not there >= set(listed):
        return  # raw.check names each missing file
    try:
        made = folder.manifest(spec)
    except (BenchbookError, KeyError, TypeError):
        return
    differing = [key for key in sorted({*made, *manifest}) if made.get(key) != manifest.get(key)]
    for key in differing:
        have, want = (_said(value.get(key)) for value in (manifest, made))
        yield Finding(name, f"says another {key} than its store gives", have, want,
                      tuple(f"sessions:{session}:*" for session in listed))  # fmt: skip


def _said(value: Any) -> str:
    """A manifest's entry, short: sessions by their ids and states."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(f"{item.get('session')} {item.get('status')}, {len(item.get('files', ()))} files"
                         for item in value)[:160]  # fmt: skip
    return ("nothing" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value))[:160]
