"""Where a report's raw files and tables are: in the project that made it, or in the archive beside it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchbook.archive.unpack import unpack
from benchbook.errors import ArchiveError, NoArchiveError

NOTE = "archive.json"


def archive_of(report: Path) -> Path | None:
    """The archive of `report`, a folder reports/BOOKING; None where none was written."""
    note = report / NOTE
    if not note.exists():
        return None
    try:
        name = json.loads(note.read_text(encoding="utf-8"))["archive"]
        if not isinstance(name, str) or name != Path(name).name:
            raise ValueError("archive is no name of a file beside it")
        return report / name
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"{note} cannot be read ({error}). Run snakemake archive again.") from error


@contextmanager
def tree_of(report: Path) -> Iterator[Path]:
    """A folder that holds results/BOOKING for `report`, a folder reports/BOOKING: the project's own, or the archive
    unpacked for as long as the context lasts. ArchiveError when there is neither."""
    if not report.is_dir() or len(report.resolve().parents) < 2:
        raise NoArchiveError(f"{report} is no folder of a report: name the folder reports/BOOKING of a project.")
    booking, root = report.resolve().name, report.resolve().parents[1]
    if (root / "results" / booking / "sessions").is_dir():
        yield root
        return
    archive = archive_of(report)
    if archive is None:
        raise NoArchiveError(f"{report} has neither results/{booking} beside it nor an {NOTE}: name the folder "
                           "reports/BOOKING of a project, or restore its archive.")  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="benchbook-") as folder:
        unpack(archive, Path(folder))
        yield Path(folder)
