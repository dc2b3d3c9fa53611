"""An archive's members against its own list, every one of them."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

from benchbook.archive.place import NOTE
from benchbook.archive.unpack import FILES, UNREADABLE
from benchbook.measure.store import sha256
from benchbook.verify import raw
from benchbook.verify.finding import Finding


def check(archive: Path) -> tuple[list[Finding], int]:
    """Everything wrong with `archive`, beside its archive.json, and how many members were read."""
    if not archive.is_file():
        return [Finding(archive.name, f"is missing, and {NOTE} names it")], 0
    note = json.loads((archive.parent / NOTE).read_text(encoding="utf-8"))
    found = []
    try:
        if sha256(archive) != note.get("sha256"):
            found.append(Finding(archive.name, f"is not the archive that was written (sha256 differs from {NOTE})"))
        with zipfile.ZipFile(archive) as opened:
            listed = json.loads(opened.read(FILES))["files"]
            names = {info.filename for info in opened.infolist()} - {FILES}
            for name in sorted(set(listed) | names):
                if name not in names:
                    found.append(_of(archive, name, "is missing"))
                elif name not in listed:
                    found.append(_of(archive, name, f"is not listed in {FILES}"))
                elif not _is(opened, name, listed[name]["sha256"]):
                    found.append(_of(archive, name, "is not what was archived (sha256 differs)"))
            return found, len(listed)
    except (*UNREADABLE, KeyError, TypeError, ValueError) as error:
        return [*found, Finding(archive.name, f"cannot be read ({error})")], 0


def _of(archive: Path, name: str, what: str) -> Finding:
    return Finding(f"{archive.name}/{name}", what, rests=tuple(addresses(name)))


def addresses(name: str) -> list[str]:
    """The addresses that rest on a member; "*" stands for every row or column. Nothing where all of them do."""
    parts = name.split("/")
    if parts[0] == "results" and len(parts) > 5 and parts[2] == "raw":
        return raw.addresses(parts[4], "/".join(parts[5:]))
    if parts[0] in ("results", "reports") and len(parts) == 4 and parts[2] == "tables":
        return [f"{parts[3].split('.')[0]}:*:*"]
    return []


def _is(opened: zipfile.ZipFile, name: str, digest: str) -> bool:
    try:
        return hashlib.sha256(opened.read(name)).hexdigest() == digest
    except UNREADABLE:
        return False
