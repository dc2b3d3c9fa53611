"""The archive of a finished report, from the project's files to the zip."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchbook import __version__, masking
from benchbook.archive import covered, crate, members, pack, revision
from benchbook.archive.restored import Restored
from benchbook.errors import ArchiveError
from benchbook.measure.store import read_json
from benchbook.provenance.code import fingerprint
from benchbook.rawdata import SCRUBBED


@dataclass(frozen=True)
class Asked:
    """What is archived: the booking with its title, stores and registry files, and the files of its configuration,
    which lie in the folder `configured_in`."""

    booking: str
    title: str
    stores: Sequence[str]
    superseded: Sequence[str]
    registered: Sequence[str]
    configuration: Sequence[str]
    configured_in: str


def write(root: Path, asked: Asked, who: masking.Identity) -> dict[str, Any]:
    """Write the archive of reports/BOOKING below `root` into that folder; return what archive.json says.

    `who`: user, host, home and secrets of this machine. Raises ArchiveError when something is missing, or when the
    report shows what may not be published.
    """
    results, report = root / "results" / asked.booking, root / "reports" / asked.booking
    manifests = {store: read_json(results / f"sessions/{store}.json") for store in asked.stores}
    outside = [name for name in (*asked.registered, *asked.configuration)
               if not (root / name).resolve().is_relative_to(root.resolve()) or Path(name).is_absolute()]  # fmt: skip
    if outside:
        raise ArchiveError(f"{outside[0]} lies outside the project, where an archive has no place for it. Move it into "
                           "the project's folder and name it from there.")  # fmt: skip
    files = {
        **members.configuration(root / asked.configured_in, asked.configuration),
        **members.configuration(root, asked.registered),
        **members.measured(results, asked.stores),
        **members.derived(results, asked.stores),
        **members.report(report),
    }
    state = revision.revision(root)
    code = fingerprint(sorted(members.code(root).values()), root)
    restored = Restored(asked.booking, tuple(asked.stores), tuple(asked.superseded), tuple(asked.registered),
                        tuple(asked.configuration), state["commit"], code)  # fmt: skip
    open_code = {name: _without_secrets(name, path.read_bytes()) for name, path in members.code(root).items()}
    raw = {name: path.read_bytes() for name, path in files.items()}
    raw |= members.written(asked.booking, restored, state, revision.packages())
    held = {**open_code, **_covered(results, manifests, raw, who)}
    return {"schema": 1, "booking": asked.booking,
            **pack.pack({**held, crate.METADATA: crate.describe(held, _run(results, asked, state["commit"]))},
                        report, f"{asked.booking}-{_last(manifests)}")}  # fmt: skip


def _covered(
    results: Path, manifests: Mapping[str, Any], raw: Mapping[str, bytes], who: masking.Identity
) -> dict[str, bytes]:
    public = [manifest[name] for manifest in manifests.values() for name in ("booking", "arm")]
    covering = covered.Covering((who.but([*public, *raw]),), covered.earlier(results))
    sessions = covered.identities(results, manifests)
    covering.leave_out(members.left_out(results, list(manifests)))
    held = {name: covering.member(name, data, covered.owners(name, sessions)) for name, data in sorted(raw.items())}
    listed = covering.listed()
    return {**held, SCRUBBED: listed, f"results/{results.name}/{SCRUBBED}": listed}


def _without_secrets(name: str, code: bytes) -> bytes:
    """Code goes into the archive as it is, since it is run from there."""
    found = set(masking.cover(code)[1]) & {"token", "private key"}
    if found:
        raise ArchiveError(f"{name} holds what looks like a secret ({', '.join(sorted(found))}), and code is archived "
                           "as it is. Take it out, or move the file elsewhere, and archive again.")  # fmt: skip
    return code


def _run(results: Path, asked: Asked, commit: str) -> crate.Run:
    sessions = pd.read_parquet(results / "tables/sessions.parquet")
    timeline = pd.read_parquet(results / "tables/timeline.parquet")
    starts, ends = sessions["t_launch_s"].dropna(), timeline["t_end_s"].dropna()
    return crate.Run(
        asked.booking, asked.title,
        float(starts.min()) if len(starts) else None, float(ends.max()) if len(ends) else None,
        [str(version) for version in sessions["engine_version"].dropna()], __version__,
        importlib.metadata.version("snakemake"), commit,
    )  # fmt: skip


def _last(manifests: Mapping[str, Any]) -> str:
    """The id of the last session."""
    ids = [session["session"] for manifest in manifests.values() for session in manifest["sessions"]]
    return max(ids, default="none")
