"""The members of an archive as they may be published, and the list of what was covered in them (masking.py)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import masking, rawdata
from benchbook.errors import ArchiveError
from benchbook.rawdata import SCRUBBED, scrubbed

_BINARY = (".pdf", ".png", ".parquet")
_PROOF = ("report.html", "tables/", "figures/", "derived/")


class Covering:
    """Covers members one by one and remembers what it did.

    `who`: identities beside the one that each session wrote down. `before`: what an earlier archive, from which the
    booking was restored, covered already.
    """

    def __init__(self, who: tuple[masking.Identity, ...], before: Mapping[tuple[str, str], str | None]) -> None:
        self._who = who
        self._earlier = {(file, after): digest for (file, digest), after in before.items() if after is not None}
        self._files: list[dict[str, Any]] = []

    def leave_out(self, files: Mapping[str, str]) -> None:
        """Note raw files, by their place below results/BOOKING, that the archive is without: sha256 as measured."""
        for place, digest in sorted(files.items()):
            self._files.append({"file": place, "in_results": True, "covered": {}, "before": digest, "after": None})

    def member(self, name: str, data: bytes, owners: tuple[masking.Identity, ...] = ()) -> bytes:
        """`data` as it may be published. ArchiveError where a report, a table or a figure would have to be changed."""
        if name.endswith(_BINARY):
            self._refuse_in_table(name, data)
            return data
        if name.endswith(".gz"):
            plain, found = masking.cover(gzip.decompress(data), *owners, *self._who)
            covered = gzip.compress(plain, mtime=0) if found else data
        else:
            covered, found = masking.cover(data, *owners, *self._who)
        if found and _is_proof(name):
            raise _proof(name, found)
        self._note(name, data, covered, dict(found))
        return covered

    def _note(self, name: str, data: bytes, covered: bytes, kinds: dict[str, int]) -> None:
        digest, place = hashlib.sha256(data).hexdigest(), _below_results(name)
        measured = self._earlier.get((place, digest), digest) if place else digest
        if covered != data or measured != digest:
            self._files.append({
                "file": place or name, "in_results": place is not None, "covered": dict(sorted(kinds.items())),
                "before": measured, "after": hashlib.sha256(covered).hexdigest(),
            })  # fmt: skip

    def _refuse_in_table(self, name: str, data: bytes) -> None:
        if name.endswith(".parquet"):
            for text in _texts(data):
                _, found = masking.cover(text, *self._who)
                if found:
                    raise _proof(name, found)

    def listed(self) -> bytes:
        """scrubbed.json: every file that was covered, its sha256 before and after, and how often each kind was."""
        value = {
            "about": "Covered with x, byte for byte, before this archive was written: secrets, user names, host names "
            "and home paths. Files without a sha256 after are left out: the times of every token of warmup readings. "
            "The session manifests in sessions/ keep the sha256 of the files as they were measured.",
            "files": self._files,
        }  # fmt: skip
        return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def identities(results: Path, stores: Mapping[str, Any]) -> dict[str, masking.Identity]:
    """The identity that each session of `stores` (name to manifest) wrote down, by its folder below results/BOOKING."""
    found = {}
    for store, manifest in stores.items():
        for session in manifest["sessions"]:
            folder = f"raw/{store}/{session['session']}"
            told = rawdata.RawSession(results / folder, session["status"])
            found[folder] = told.identity
    return found


def earlier(results: Path) -> Mapping[tuple[str, str], str | None]:
    """What the archive covered that `results` was restored from."""
    return scrubbed(results)


def owners(name: str, sessions: Mapping[str, masking.Identity]) -> tuple[masking.Identity, ...]:
    """Whom a member may name: the identity of the session that it belongs to; those of all sessions for the logs of the
    booking's rules, nobody else."""
    place = PurePosixPath(_below_results(name) or "")
    if place.parts[:1] == ("logs",):
        return tuple(dict.fromkeys(sessions.values()))
    return (sessions.get("/".join(place.parts[:3]), masking.NOBODY),)


def _below_results(name: str) -> str | None:
    parts = PurePosixPath(name).parts
    return "/".join(parts[2:]) if parts[0] == "results" and len(parts) > 2 and parts[-1] != SCRUBBED else None


def _is_proof(name: str) -> bool:
    """Whether covering a member would break what the archive proves: report, tables and figures, not their sidecars."""
    place = name if name.startswith("reports/") else _below_results(name) or ""
    inner = "/".join(PurePosixPath(place).parts[2:]) if place.startswith("reports/") else place
    return inner.startswith(_PROOF) and not name.endswith(".prov.json")


def _texts(data: bytes) -> Iterator[bytes]:
    """The texts of a Parquet file, column by column, each once."""
    table = pq.read_table(io.BytesIO(data))
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            texts = (text for text in column.unique().to_pylist() if text is not None)
            yield "\n".join(texts).encode("utf-8", "surrogateescape")


def _proof(name: str, found: Mapping[str, int]) -> ArchiveError:
    kinds = ", ".join(sorted(found))
    return ArchiveError(
        f"{name} shows what may not be published ({kinds}), and covering it there would break the proof. Take it out "
        "of the booking file (a secret belongs into the environment of snakemake, which servers inherit), run "
        "snakemake report, then archive again."
    )
