"""An archive into a folder: every member checked, none outside the folder."""

from __future__ import annotations

import hashlib
import json
import lzma
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from benchbook.errors import ArchiveError, NoArchiveError

FILES = "files.json"
ARCHIVED = "archived.json"
_BLOCK = 1 << 20
_LARGEST_LIST = 256 << 20
# What zipfile raises for a file that is no zip, or a broken, encrypted or unknown kind of one.
UNREADABLE = (
    OSError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error, lzma.LZMAError
)  # fmt: skip


def unpack(archive: Path, into: Path, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, Any]:
    """Unpack the members of `archive` that are `wanted` into the folder `into`; return its archived.json.

    Raises ArchiveError when it is no archive of ours, when a member is missing, is there without being listed in
    files.json, differs from the sha256 or the size listed there, or would lie outside `into`, and when a file would be
    overwritten.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            listed = _listed(archive, opened)
            _check_names(archive, opened, listed)
            for name in sorted(listed):
                _one(archive, opened, name, listed[name], into if wanted(name) else None)
            told: dict[str, Any] = json.loads(opened.read(_archived(archive, listed)))
            return told
    except UNREADABLE as error:
        raise NoArchiveError(f"{archive} cannot be read ({error}). Take another copy of it.") from error


def members(archive: Path) -> dict[str, dict[str, Any]]:
    """sha256 and size_bytes of every member but files.json itself, as files.json lists them."""
    try:
        with zipfile.ZipFile(archive) as opened:
            return _listed(archive, opened)
    except UNREADABLE as error:
        raise NoArchiveError(f"{archive} cannot be read ({error}). Take another copy of it.") from error


def read(archive: Path, name: str) -> bytes:
    """One member, checked. ArchiveError when there is none of that name."""
    try:
        with zipfile.ZipFile(archive) as opened:
            listed = _listed(archive, opened)
            if name not in listed:
                raise ArchiveError(f"{archive} has no member {name}.")
            return _one(archive, opened, name, listed[name], None)
    except UNREADABLE as error:
        raise NoArchiveError(f"{archive} cannot be read ({error}). Take another copy of it.") from error


def _listed(archive: Path, opened: zipfile.ZipFile) -> dict[str, dict[str, Any]]:
    try:
        if opened.getinfo(FILES).file_size > _LARGEST_LIST:
            raise ValueError("too large")
        listed: dict[str, dict[str, Any]] = json.loads(opened.read(FILES))["files"]
        for told in listed.values():
            if not (isinstance(told["sha256"], str) and isinstance(told["size_bytes"], int)):
                raise ValueError("no sha256 or size")
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ArchiveError(f"{archive} is no archive of a booking: it has no readable {FILES}.") from error
    return listed


def _archived(archive: Path, listed: Mapping[str, Any]) -> str:
    found = [name for name in listed if PurePosixPath(name).match(f"results/*/{ARCHIVED}")]
    if len(found) != 1:
        raise ArchiveError(f"{archive} is no archive of a booking: it has no results/BOOKING/{ARCHIVED}.")
    return found[0]


def _check_names(archive: Path, opened: zipfile.ZipFile, listed: Mapping[str, Any]) -> None:
    names = [info.filename for info in opened.infolist() if info.filename != FILES]
    odd = [info.filename for info in opened.infolist()
           if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG)]  # fmt: skip
    if odd:
        raise ArchiveError(f"{archive} has a member that is no plain file: {odd[0]!r}. Do not unpack it.")
    extra = sorted(set(names) - set(listed))
    missing = sorted(set(listed) - set(names))
    if len(names) != len(set(names)):
        raise ArchiveError(f"{archive} has a member twice. Take another copy of it.")
    if missing or extra:
        what = f"lacks {missing[0]}" if missing else f"has {extra[0]}, which {FILES} does not list"
        raise ArchiveError(f"{archive} {what}: it was changed after it was written. Take another copy of it.")
    for name in names:
        path = PurePosixPath(name)
        outside = not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or ":" in path.parts[0]
        if outside or name != str(path):
            raise ArchiveError(f"{archive} has a member that would lie outside the folder: {name!r}. Do not unpack it.")


def _one(archive: Path, opened: zipfile.ZipFile, name: str, told: Mapping[str, Any], into: Path | None) -> bytes:
    """Read a member no further than its listed size; write it below `into` unless that is None."""
    digest, parts, size = hashlib.sha256(), [], 0
    try:
        with opened.open(name) as member:
            while block := member.read(min(_BLOCK, told["size_bytes"] - size + 1)):
                digest.update(block)
                parts.append(block)
                size += len(block)
                if size > told["size_bytes"]:
                    break
    except (zipfile.BadZipFile, zlib.error) as error:
        raise _changed(archive, name) from error
    if size != told["size_bytes"] or digest.hexdigest() != told["sha256"]:
        raise _changed(archive, name)
    data = b"".join(parts)
    if into is not None:
        path = into / name
        if path.exists() or path.is_symlink():
            raise ArchiveError(f"{path} exists already: nothing is overwritten. Move it away, or unpack elsewhere.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return data


def _changed(archive: Path, name: str) -> ArchiveError:
    return ArchiveError(f"{archive}: member {name} is not the one that was archived (sha256 differs). "
                        "Take another copy of the archive.")  # fmt: skip
