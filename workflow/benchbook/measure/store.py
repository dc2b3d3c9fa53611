"""The raw folder of one specification: one subfolder per session, each file written whole and then left alone.

    STORE/<session id>/spec.json            what was asked for
                       environment.json     what it ran on
                       server.log           the server's output, whole
                       telemetry.jsonl      samples, one JSON object a line
                       events.jsonl         phases with their times
                       processes/           kernel sessions of server and client, to find what was left of them
                       warmup/<reading>/    record.json, bench.json, bench.log, metrics_before.prom.gz, ..._after...
                       runs/<run>/          the same
                       session.json         status, reason, failure
                       files.json           written last: sha256 of every file above; manifests are made from it

A session folder without session.json was broken off. `set_aside` gives it one that says so: its files stay where they
are, no figure uses them, and the session is measured again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchbook.errors import StoreError


class SupportsWrite(Protocol):
    def write(self, text: str) -> object: ...


SESSION_ID_FORMAT = "%Y%m%d-%H%M%S"
_SESSION_ID = re.compile(r"\d{8}-\d{6}")
FILES = "files.json"
USABLE = ("complete", "failed")


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` under a temporary name, flush it to the disk and give it its name; refuse to replace a file."""
    if path.exists():
        raise StoreError(f"{path} exists already: a raw file is never overwritten. Move it away if you mean to.")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(data)
    seal(part, path)


def seal(part: Path, path: Path) -> None:
    """Flush the finished file `part` to the disk, make it read-only and rename it to `path`."""
    with open(part, "rb") as file:
        os.fsync(file.fileno())
    part.chmod(0o444)
    os.rename(part, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_json(path: Path, value: Any) -> None:
    write_whole(path, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())


def read_json(path: Path) -> Any:
    """The JSON value in `path`; StoreError with the path when it is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({error}). Restore it from a copy, or measure again.") from error


def text_between(path: Path, start: int, end: int) -> str:
    """Bytes `start` to `end` of a file as text; what is no UTF-8 is replaced, what is not there is left out."""
    with open(path, "rb") as file:
        file.seek(start)
        return file.read(max(0, end - start)).decode("utf-8", errors="replace")


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def locked(path: Path, out: SupportsWrite, waiting: str) -> Iterator[None]:
    """Hold the kernel lock on `path`; it ends with the process, however that ends. Tells `waiting` if it must wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDONLY | os.O_CREAT, 0o666)  # another user's lock file is not ours to write
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            out.write(waiting + "\n")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@dataclass(frozen=True)
class Store:
    """The folder of one specification."""

    folder: Path

    def session_folders(self) -> list[Path]:
        """Folders of all sessions, oldest first; a folder of another name is none."""
        if not self.folder.is_dir():
            return []
        return sorted(path for path in self.folder.iterdir() if path.is_dir() and _SESSION_ID.fullmatch(path.name))

    def new_session(self) -> Path:
        """Make and return the folder of a session launched now; its name is its id.

        No two sessions of a booking share an id, whichever of its stores they are in.
        """
        while True:
            name = time.strftime(SESSION_ID_FORMAT, time.gmtime())
            if not any(self.folder.parent.glob(f"*/{name}")):
                (self.folder / name).mkdir(parents=True)
                return self.folder / name
            time.sleep(0.2)

    def set_aside(self, found: str) -> list[str]:
        """Give every session folder without session.json one that says it was broken off; return their ids."""
        broken = []
        for folder in self.session_folders():
            if (folder / "session.json").exists():
                continue
            for part in folder.rglob("*.part"):
                whole = part.with_name(part.name.removesuffix(".part"))
                if whole.suffix in (".jsonl", ".log") and not whole.exists():
                    seal(part, whole)
            write_json(folder / "session.json", {
                "session": folder.name, "status": "set-aside", "reason": found, "failure": None, "phases": [],
                "runs": sorted(path.parent.name for path in folder.glob("runs/*/record.json")),
            })  # fmt: skip
            self.record_hashes(folder)
            broken.append(folder.name)
        return broken

    @staticmethod
    def record_hashes(folder: Path) -> dict[str, str]:
        """Write down the sha256 of every file of a session that ended, once; return them by path in the folder."""
        path = folder / FILES
        if not path.exists():
            write_json(path, {
                str(file.relative_to(folder)): sha256(file)
                for file in sorted(folder.rglob("*"))
                if file.is_file() and not file.name.endswith(".part")
            })  # fmt: skip
        hashes: dict[str, str] = read_json(path)
        return hashes

    def usable_sessions(self) -> list[Path]:
        """Folders of the sessions whose runs count."""
        return [
            folder for folder in self.session_folders()
            if (folder / "session.json").exists() and read_json(folder / "session.json")["status"] in USABLE
        ]  # fmt: skip

    def measured(self) -> set[str]:
        """Names of the runs that have an ok record in a usable session."""
        return {
            record["run"]
            for folder in self.usable_sessions()
            for record in map(read_json, folder.glob("runs/*/record.json"))
            if record["status"] == "ok"
        }

    def lacks(self, spec: Mapping[str, Any]) -> list[str]:
        """Names of the runs that `spec` asks for and that are still to be measured, in its order."""
        measured = self.measured()
        return [run["name"] for block in spec["plan"] for run in block["runs"] if run["name"] not in measured]

    def manifest(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """What this store holds for `spec`: sessions, and the sha256 of each of their files. No time, no host."""
        return {
            "schema": 1,
            "booking": spec["booking"],
            "slot": spec["slot"],
            "arm": spec["arm"],
            "spec_hash": spec["spec_hash"],
            "planned": [run["name"] for block in spec["plan"] for run in block["runs"]],
            "measured": sorted(self.measured()),
            "sessions": [
                {
                    "session": folder.name,
                    "status": read_json(folder / "session.json")["status"],
                    "files": self.record_hashes(folder),
                }
                for folder in self.session_folders()
                if (folder / "session.json").exists() and (folder / "spec.json").exists()
            ],
        }
