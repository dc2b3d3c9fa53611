"""What a restored booking knows of itself: neither the schedule nor the registry of its time is at hand any more."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from benchbook.archive.unpack import ARCHIVED
from benchbook.errors import ArchiveError

SCHEMA = 1
_BOOKING = re.compile(r"[a-z0-9][a-z0-9._-]*")
_STORE = re.compile(r"s\d+-[a-z0-9-]+-[0-9a-f]{12}")
_OF_THE_PROJECT = ("workflow", "scripts", "config", "profiles", "reports", "results", "tests", "docs", "benchmarks")
_NOISE = re.compile(r"(?:^|/)node_kind=[^/]+/\d{8}-\d{6}_[^/]+\.parquet$")


@dataclass(frozen=True)
class Restored:
    """`stores` in the order of the schedule; `superseded`: stores of earlier specifications, as the report lists them;
    `registered`: the files of the registry that its noise was taken from; `configuration`: the files that configure it;
    `commit` of the code ("" for none) and `code`, path to sha256."""

    booking: str
    stores: tuple[str, ...]
    superseded: tuple[str, ...]
    registered: tuple[str, ...]
    configuration: tuple[str, ...]
    commit: str
    code: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    def specs(self, results: Path) -> dict[str, dict[str, Any]]:
        """The specification of each store by its name, in order."""
        return {store: json.loads(_spec(results, store).read_text(encoding="utf-8")) for store in self.stores}


def _spec(results: Path, store: str) -> Path:
    """Where the specification of a store is: in specs/, or, of a recording that was adopted, in its session."""
    path = results / f"specs/{store}.json"
    found = [path] if path.exists() else sorted(results.glob(f"raw/{store}/*/spec.json"))
    if not found:
        raise ArchiveError(f"{path} is missing. Restore the archive again.")
    return found[-1]


def from_json(value: Any) -> Restored:
    """What an archive says of its booking. ArchiveError for anything that this does not write itself: names end up as
    paths in somebody's project."""
    try:
        told = Restored(
            value["booking"], tuple(value["stores"]), tuple(value["superseded"]), tuple(value["registered"]),
            tuple(value["configuration"]), value["commit"], value["code"],
        )  # fmt: skip
    except (KeyError, TypeError) as error:
        raise ArchiveError(f"{ARCHIVED} lacks {error}: it was written by another Benchbook, or changed.") from error
    texts = (told.booking, told.commit, *told.stores, *told.superseded, *told.registered, *told.configuration)
    listed = all(isinstance(value[name], list) for name in ("stores", "superseded", "registered", "configuration"))
    if not (listed and all(isinstance(text, str) for text in texts) and isinstance(told.code, dict)):
        raise ArchiveError(f"{ARCHIVED} is not in the form that an archive has: it was changed. Take another copy.")
    odd = [told.booking] * (not _BOOKING.fullmatch(told.booking))
    odd += [name for name in told.stores if not _STORE.fullmatch(name)]
    odd += [name for name in told.configuration if not _inside(name)]
    odd += [name for name in told.registered if not Path(name).is_absolute() and not _in_a_registry(name)]
    if odd:
        raise ArchiveError(f"{ARCHIVED} names {odd[0]!r}, which no archive does: it was changed. Do not restore it.")
    return told


def _inside(name: str) -> bool:
    """Whether a path from the project's folder stays below it."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and name == str(path)


def _in_a_registry(name: str) -> bool:
    parts = name.split("/")
    return (_inside(name) and bool(_NOISE.search(name)) and parts[0] not in _OF_THE_PROJECT
            and not any(part.startswith(".") for part in parts))  # fmt: skip


def read(results: Path) -> Restored | None:
    """What results/BOOKING was restored with; None when it was measured here."""
    path = results / ARCHIVED
    if not path.exists():
        return None
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ArchiveError(f"{path} is no JSON ({error}). Restore the archive again.") from error


def configured_in(results: Path) -> Path:
    """The folder whose config/ a restored booking is configured by: results/BOOKING/archived in a clone, else the
    project itself, which then is the unpacked archive."""
    kept = results / "archived"
    return kept if kept.is_dir() else results.parents[1]
