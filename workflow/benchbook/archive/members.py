"""Which files an archive holds, by their place in it, which is the place where the pipeline looks for them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbook import rawdata
from benchbook.archive.restored import Restored
from benchbook.errors import ArchiveError
from benchbook.measure.store import FILES, read_json, sha256

CODE = ("Snakefile", "pyproject.toml", "requirements.lock", "LICENSE", "README.md", "workflow/**/*", "scripts/*.py",
        "profiles/**/*", "reports/templates/*", "reports/style/*", "reports/script/*")  # fmt: skip
_ABOUT = """# Benchmark booking {booking}

Everything that reports/{booking}/report.html rests on: raw files of every session (results/{booking}/raw), the tables
and figures made of them, configuration, code (git commit {commit}; diff.patch has what was changed since), packages.

The zip is compressed with LZMA: python3 -m zipfile -e THIS.zip FOLDER opens it, 7-Zip and bsdtar do, too.

To make the report anew, without engine or GPU, in a clone of Benchbook:

    benchbook restore THIS.zip
    benchbook verify reports/{booking}

files.json has the sha256 of every file; scrubbed.json lists the files in which secrets, user names, host names and home
paths were covered with x, and those that are not here: the times of every token of warmup readings, on which no figure
rests; ro-crate-metadata.json the whole as a Workflow Run RO-Crate.
"""
_CACHES = ("__pycache__", ".mypy_cache", ".ruff_cache")
# Every token's time once more, as in the raw results, at three times their size; rule `bench` makes them again.
_RAW_AGAIN = ("requests.parquet", "chunks.parquet", "requests.parquet.prov.json", "chunks.parquet.prov.json")
_OWN_LOGS = ("archive.log", "verify.log")


def code(root: Path) -> dict[str, Path]:
    """The code of the project at `root`: place in the archive to file."""
    found = (path for pattern in CODE for path in root.glob(pattern))
    return {path.relative_to(root).as_posix(): path for path in found
            if path.is_file() and not set(path.parts) & set(_CACHES) and not path.name.startswith(".")}  # fmt: skip


def configuration(root: Path, names: Iterable[str]) -> dict[str, Path]:
    """The configuration files `names`, which lie below `root`."""
    return {name: root / name for name in names}


def measured(results: Path, stores: Sequence[str]) -> dict[str, Path]:
    """Specifications, manifests and raw files of `stores` below results/BOOKING. ArchiveError for a file that a
    manifest lists and that is gone, or is another than the one that was measured."""
    base, covered = f"results/{results.name}", rawdata.scrubbed(results)
    found: dict[str, Path] = {}
    for store in stores:
        manifest = results / f"sessions/{store}.json"
        found[f"{base}/sessions/{store}.json"] = manifest
        spec = results / f"specs/{store}.json"
        if spec.exists():
            found[f"{base}/specs/{store}.json"] = spec
        for session in read_json(manifest)["sessions"]:
            folder = f"raw/{store}/{session['session']}"
            for name, digest in (*session["files"].items(), (FILES, None)):
                if digest is not None and rawdata.is_left_out(name):
                    continue
                path = results / folder / name
                if not path.is_file():
                    raise ArchiveError(f"{path} is missing: the manifest lists it. Restore it from a copy.")
                if digest is not None and sha256(path) != covered.get((f"{folder}/{name}", digest), digest):
                    raise ArchiveError(f"{path} is not the file that was measured (its sha256 is not the one in "
                                       f"{manifest}). Restore it from a copy.")  # fmt: skip
                found[f"{base}/{folder}/{name}"] = path
    return found


def left_out(results: Path, stores: Sequence[str]) -> dict[str, str]:
    """The raw files of `stores` that an archive is without: place below results/BOOKING to sha256 as measured."""
    return {f"raw/{store}/{session['session']}/{name}": digest for store in stores
            for session in read_json(results / f"sessions/{store}.json")["sessions"]
            for name, digest in session["files"].items() if rawdata.is_left_out(name)}  # fmt: skip


def derived(results: Path, stores: Sequence[str]) -> dict[str, Path]:
    """Tables, figures and logs of results/BOOKING, each with its sidecar; without the tables of requests and chunks."""
    patterns = (*(f"derived/{store}/*" for store in stores), "tables/*", "figures/*", "logs/*", "acceptance.json*")
    found = sorted(path for pattern in patterns for path in results.glob(pattern) if path.is_file())
    return {f"results/{results.name}/{path.relative_to(results).as_posix()}": path
            for path in found if path.name not in (*_OWN_LOGS, *_RAW_AGAIN)}  # fmt: skip


def report(folder: Path) -> dict[str, Path]:
    """The report in reports/BOOKING with its tables as CSV; its Parquet tables and figures are those of results/."""
    found = [*folder.glob("report.*"), *folder.glob("tables/*.csv")]
    return {f"reports/{folder.name}/{path.relative_to(folder).as_posix()}": path for path in sorted(found)}


def written(booking: str, restored: Restored, revision: Mapping[str, Any], packages: Sequence[str]) -> dict[str, bytes]:
    """The members that are made for the archive: what the booking knows of itself, revision and packages."""
    base = f"results/{booking}"
    return {
        "ABOUT.md": _ABOUT.format(booking=booking, commit=restored.commit or "not known").encode(),
        "config/config.yaml": f"booking: {booking}\n".encode(),
        f"{base}/archived.json": _json(restored.to_json()),
        "git.json": _json({name: value for name, value in revision.items() if name != "diff"}),
        "diff.patch": str(revision["diff"]).encode("utf-8", "surrogateescape"),
        "environment/packages.txt": ("\n".join(packages) + "\n").encode(),
    }


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
