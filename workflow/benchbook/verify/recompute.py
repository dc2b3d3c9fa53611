"""The pipeline's own rules once more, in a fresh folder and process, on raw files alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchbook.archive import members
from benchbook.archive.restored import Restored
from benchbook.archive.unpack import ARCHIVED
from benchbook.errors import StoreError
from benchbook.planned import Planned
from benchbook.rawdata import SCRUBBED

# What a user has set for Snakemake or Python elsewhere must not change what is made here.
PASSED_ON = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "XDG_CACHE_HOME", "VIRTUAL_ENV",
             "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE")  # fmt: skip


def lay_out(code: Path, tree: Path, planned: Planned, into: Path) -> None:
    """Make a project in the empty folder `into` of the code of the project `code` and, from `tree`, of the booking's
    raw files, specifications and configuration; no table and no figure. The raw files are linked, not copied."""
    for name, path in members.code(code).items():
        _copy(path, into / name)
    booking = planned.booking.id
    (into / "config").mkdir(exist_ok=True)
    (into / "config/config.yaml").write_text(f"booking: {booking}\n", encoding="utf-8")
    results, place = tree / "results" / booking, into / "results" / booking
    place.mkdir(parents=True)
    for store in planned.stores:
        _copy(results / f"sessions/{store}.json", place / f"sessions/{store}.json")
    for store, spec in planned.specs.items():
        (place / "specs").mkdir(exist_ok=True)
        (place / f"specs/{store}.json").write_text(json.dumps(spec), encoding="utf-8")
    (place / "raw").symlink_to((results / "raw").resolve(), target_is_directory=True)
    if (results / SCRUBBED).exists():
        _copy(results / SCRUBBED, place / SCRUBBED)
    for name in planned.configuration:
        _copy(tree / planned.configured_in / name, place / "archived" / name)
    for name in (name for name in planned.registered if not Path(name).is_absolute()):
        _copy(tree / name if (tree / name).exists() else code / name, into / name)
    told = Restored(booking, tuple(planned.stores), planned.superseded, planned.registered, planned.configuration,
                    commit="", code={})  # fmt: skip
    (place / ARCHIVED).write_text(json.dumps(told.to_json()), encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError as error:
        raise StoreError(f"{source} is missing: the report cannot be made anew without it. Restore it from a copy, or "
                         "from the booking's archive.") from error  # fmt: skip


def run(folder: Path, booking: str, cores: int) -> tuple[int, str]:
    """Make reports/BOOKING/report.html in `folder` with its tables and figures; return Snakemake's exit code and the
    end of what it printed."""
    report = f"reports/{booking}/report.html"
    words = ["snakemake", "--cores", str(cores), "--config", f"booking={booking}", "--", report]
    environment = {name: value for name, value in os.environ.items() if name in PASSED_ON}
    done = subprocess.run([sys.executable, "-P", "-m", *words], cwd=folder, env=environment, check=False, text=True,
                          capture_output=True, errors="replace")  # fmt: skip
    return done.returncode, (done.stdout + done.stderr)[-4000:]
