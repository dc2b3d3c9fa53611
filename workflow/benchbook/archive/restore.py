"""An archive into a clone of the project: raw files, configuration and what the booking knows of itself."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from benchbook import registry
from benchbook.archive import members
from benchbook.archive.restored import Restored, from_json
from benchbook.archive.unpack import ARCHIVED, read, unpack
from benchbook.archive.unpack import members as listed
from benchbook.errors import ArchiveError
from benchbook.measure.store import sha256
from benchbook.provenance.code import fingerprint
from benchbook.rawdata import SCRUBBED

_KEPT = ("raw", "sessions", "specs", ARCHIVED, SCRUBBED)


@dataclass(frozen=True)
class CodeDifference:
    """How the code of a clone differs from an archive's: files changed, gone, and new since."""

    changed: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    commit: str

    @property
    def any(self) -> bool:
        return bool(self.changed or self.gone or self.new)


def restore(archive: Path, root: Path) -> Restored:
    """Put the booking of `archive` into results/BOOKING of the project at `root`; its configuration into
    results/BOOKING/archived, so that a file of the same name in the clone is neither used nor changed; its files of the
    registry to where they were.

    Raises ArchiveError when there is a booking of that name already, when a raw file is not the one that was measured,
    and as unpack does.
    """
    booking = _booking(archive)
    results, report = root / "results" / booking, root / "reports" / booking
    for there in (results, report / "report.html"):
        if there.exists():
            raise ArchiveError(f"{there} exists already: nothing is overwritten. Move it away, or restore into another "
                               "clone of the project.")  # fmt: skip
    restored = _told(archive, booking)
    registered = [name for name in restored.registered if not Path(name).is_absolute()]
    beside = {*restored.configuration, *registered, "config/config.yaml"}
    part = results.with_name(f".{booking}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        unpack(archive, part, lambda name: name in beside or _is_kept(name, booking))
        inside = part / "results" / booking
        for name in beside - set(registered):
            if (part / name).exists():
                _move(part / name, inside / "archived" / name)
        for path in (inside / "raw").rglob("*"):
            if path.is_file():
                path.chmod(0o444)
        members.measured(inside, restored.stores)
        new = [name for name in registered if _is_new(part / name, root / name)]
        for name in new:
            _move(part / name, root / name)
        results.parent.mkdir(parents=True, exist_ok=True)
        inside.rename(results)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return restored


def _told(archive: Path, booking: str) -> Restored:
    try:
        told = from_json(json.loads(read(archive, f"results/{booking}/{ARCHIVED}")))
    except ValueError as error:
        raise ArchiveError(f"{archive}: its {ARCHIVED} is no JSON ({error}). Take another copy of it.") from error
    if told.booking != booking:
        raise ArchiveError(f"{archive} has the booking {told.booking} in the place of {booking}: it was changed. Do "
                           "not restore it.")  # fmt: skip
    return told


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    source.rename(target)


def _is_new(source: Path, target: Path) -> bool:
    """Whether a file of the registry is to be put to `target`; False where it is there."""
    if not source.is_file():
        raise ArchiveError(f"the archive names {target.name} and does not hold it: it was changed. Take another copy.")
    registry.read(source)
    if not target.exists():
        return True
    if sha256(source) == sha256(target):
        return False
    raise ArchiveError(f"{target} is another file than the one in the archive, and the registry is never overwritten. "
                       "Restore into another clone of the project.")  # fmt: skip


def code_difference(restored: Restored, root: Path) -> CodeDifference:
    """How the code at `root` differs from the one that wrote the archive."""
    now = fingerprint(sorted(members.code(root).values()), root)
    before: Mapping[str, str] = restored.code
    return CodeDifference(
        tuple(name for name in before if name in now and now[name] != before[name]),
        tuple(name for name in before if name not in now), tuple(name for name in now if name not in before),
        restored.commit,
    )  # fmt: skip


def _booking(archive: Path) -> str:
    places = map(PurePosixPath, listed(archive))
    found = [place.parts[1] for place in places if place.match(f"results/*/{ARCHIVED}")]
    if len(found) != 1 or found[0] in ("", ".", ".."):
        raise ArchiveError(f"{archive} is no archive of a booking: it has no results/BOOKING/{ARCHIVED}.")
    return found[0]


def _is_kept(name: str, booking: str) -> bool:
    parts = PurePosixPath(name).parts
    return len(parts) > 2 and parts[:2] == ("results", booking) and parts[2] in _KEPT


def make_report(booking: str, root: Path, cores: int) -> int:
    """Run the pipeline's rules up to the report; return Snakemake's exit code. Its progress goes to standard error."""
    words = ["snakemake", "--cores", str(cores), "--config", f"booking={booking}", "--", "report"]
    return subprocess.run([sys.executable, "-P", "-m", *words], cwd=root, check=False).returncode


def same_report(archive: Path, booking: str, root: Path) -> bool:
    """Whether the report in the project is the archived one, byte for byte."""
    name = f"reports/{booking}/report.html"
    return read(archive, name) == (root / name).read_bytes()
