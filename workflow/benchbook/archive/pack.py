"""The zip of an archive: equal bytes for equal members, named after what is in it, written once."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.archive.unpack import FILES
from benchbook.errors import ArchiveError
from benchbook.measure.store import sha256

_WHEN = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16
_STORED = (".gz", ".png")
_ANY_TOOL = ("ABOUT.md",)
NAMED = 12


def listing(members: Mapping[str, bytes]) -> bytes:
    """files.json: size and sha256 of every other member."""
    files = {name: {"sha256": hashlib.sha256(data).hexdigest(), "size_bytes": len(data)}
             for name, data in sorted(members.items())}  # fmt: skip
    return (json.dumps({"schema": 1, "files": files}, indent=1, sort_keys=True) + "\n").encode()


def _write(path: Path, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as opened:
        for name, data in sorted(members.items()):
            info = zipfile.ZipInfo(name, _WHEN)
            info.compress_type = _method(name)
            info.external_attr, info.create_system = _MODE, 3
            opened.writestr(info, data)


def _method(name: str) -> int:
    """Of compression. LZMA takes a third less than deflate of what an archive is most of, the times of every token;
    ABOUT.md, which says what opens it, is for every tool."""
    if name.endswith(_STORED):
        return zipfile.ZIP_STORED
    return zipfile.ZIP_DEFLATED if name in _ANY_TOOL else zipfile.ZIP_LZMA


def pack(members: Mapping[str, bytes], folder: Path, stem: str) -> dict[str, Any]:
    """Write `members` into folder/STEM-CONTENT.zip, CONTENT being a hash over their names and contents.

    An archive of that content that is there already is checked and left. Returns archive (its name), sha256, size_bytes
    and content. Raises ArchiveError when the file there is another.
    """
    listed = listing(members)
    content = hashlib.sha256(listed).hexdigest()
    path = folder / f"{stem}-{content[:NAMED]}.zip"
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _write(part, {**members, FILES: listed})
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ArchiveError(f"{path} cannot be written ({error.strerror or error}). Free the disk or the folder, then "
                           "archive again; nothing else was changed.") from error  # fmt: skip
    digest = sha256(part)
    if path.exists():
        part.unlink()
        if sha256(path) != digest:
            raise ArchiveError(f"{path} is not what it was when it was written, and an archive is never overwritten. "
                               "Move it away, then archive again.")  # fmt: skip
    else:
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        part.chmod(0o444)
        os.rename(part, path)
    return {"archive": path.name, "sha256": digest, "size_bytes": path.stat().st_size, "content": content}
