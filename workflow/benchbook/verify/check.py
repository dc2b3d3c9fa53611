"""One report verified: files by their hashes first, then everything made anew and compared."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchbook.archive.place import archive_of
from benchbook.archive.unpack import members as listed
from benchbook.archive.unpack import unpack
from benchbook.config.load import load_registry
from benchbook.errors import ArchiveError, BenchbookError, ConfigError
from benchbook.measure.store import sha256
from benchbook.planned import Planned, planned
from benchbook.provenance import sidecar
from benchbook.verify import manifest, members, page, raw, recompute, sidecars, tables
from benchbook.verify.finding import Finding

Say = Callable[[str], None]


@dataclass
class Verified:
    """What was compared, how much of it, and what was found; `seconds` it took."""

    report: str
    source: str = ""
    values: int = 0
    raw_files: int = 0
    members: int = 0
    files: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": not self.findings}


def verify(report: Path, cores: int, say: Say, archived_code: bool = False) -> Verified:
    """Verify the folder reports/BOOKING of a project. Raises BenchbookError when there is nothing to verify it with.

    Raw files come from the archive where there is one, else from results/BOOKING. `archived_code`: make the report anew
    by the code in its archive and not by this one, which may have changed since; it is run as it stands there.
    """
    began = time.monotonic()
    if not (report / "report.html").is_file() or len(report.resolve().parents) < 2:
        raise ArchiveError(f"{report} has no report.html. Name a folder reports/BOOKING, or run snakemake report.")
    project, booking = report.resolve().parents[1], report.resolve().name
    told = Verified(str(report))
    archive = archive_of(report)
    results = project / "results" / booking
    with tempfile.TemporaryDirectory(prefix="benchbook-verify-") as scratch:
        tree = project
        if archive is not None and results.is_dir() and _is_of_an_earlier(report, archive):
            told.remarks.append(f"{archive.name} is of an earlier state of this report: run snakemake archive.")
            archive = None
        if archive is not None:
            say(f"reading every member of {archive.name}")
            found, told.members = members.check(archive)
            told.findings += found
            tree = _unpacked(archive, Path(scratch) / "archive", told)
        if archived_code and tree == project:
            raise ArchiveError(f"{report} has no archive of this report, and so no code of its own. Leave "
                               "--archived-code out, or run snakemake archive first.")  # fmt: skip
        plan = _plan(tree, booking, project)
        told.source = archive.name if archive is not None and tree != project else f"results/{booking}"
        if results.is_dir():
            say(f"reading every raw file of results/{booking}")
            found, told.raw_files = raw.check(results, plan.stores)
            told.findings += found + manifest.check(results, plan.specs)
        told.findings += _pdf(report, archive)
        told.findings += _gone(report, archive)
        say(f"making the report anew from {told.source}, in a fresh process")
        anew = Path(scratch) / "anew"
        anew.mkdir()
        _recompute(tree if archived_code else project, tree, plan, anew, cores, told)
        if (anew / f"reports/{booking}/report.html").exists():
            say("comparing")
            _compare(report, results, anew, booking, told)
    told.seconds = time.monotonic() - began
    return told


def _is_of_an_earlier(report: Path, archive: Path) -> bool:
    """Whether the page was written anew since the archive was: it is as its rule left it, and another than archived."""
    page_now = sha256(report / "report.html")
    try:
        archived = listed(archive)[f"reports/{report.resolve().name}/report.html"]["sha256"]
        written = sidecar.read(report / "report.html")["output"]["sha256"]
        return bool(archived != page_now == written)
    except (BenchbookError, KeyError):
        return False


def _unpacked(archive: Path, into: Path, told: Verified) -> Path:
    """The archive as a project; the project's own tree where the archive cannot be unpacked, which is a finding."""
    try:
        unpack(archive, into)
    except BenchbookError as error:
        if not told.findings:
            told.findings.append(Finding(archive.name, str(error)))
        return archive.resolve().parents[2]
    return into


def _plan(tree: Path, booking: str, project: Path) -> Planned:
    try:
        noise = load_registry(project)
    except ConfigError:
        noise = Path("registry")
    return planned(tree, booking, noise)


def _recompute(code_of: Path, tree: Path, plan: Planned, anew: Path, cores: int, told: Verified) -> None:
    try:
        recompute.lay_out(code_of, tree, plan, anew)
    except BenchbookError as error:
        told.findings.append(Finding(f"results/{plan.booking.id}", str(error)))
        return
    code, printed = recompute.run(anew, plan.booking.id, cores)
    if code:
        told.findings.append(Finding("report", "cannot be made anew", _last_words(printed)))


def _last_words(printed: str) -> str:
    said = [line.strip() for line in printed.splitlines() if line.strip()]
    ours = [line for line in said if line.split(":")[0].isidentifier() and " " in line]
    return " ".join((ours or said)[:1])[:400]


def _compare(report: Path, results: Path, anew: Path, booking: str, told: Verified) -> None:
    fresh = (anew / f"reports/{booking}/report.html").read_bytes().decode("utf-8", "surrogateescape")
    shown = (report / "report.html").read_bytes().decode("utf-8", "surrogateescape")
    told.values = page.values(fresh)
    told.findings += page.compare(shown, fresh)
    told.findings += sidecars.check(report, anew / f"reports/{booking}")
    made = anew / "results" / booking
    for folder, kind in ((report / "tables", "tables"), (report / "figures", "figures"), (results / "tables", "tables"),
                         (results / "figures", "figures")):  # fmt: skip
        found, count = tables.check(folder, made / kind)
        found += sidecars.check(folder, made / kind)
        if folder.is_relative_to(results) and results.is_dir():
            found += tables.gone(folder, made / kind)
        told.findings += found
        told.files += count
    told.remarks += sidecars.other_code(report, anew / f"reports/{booking}")


def _gone(report: Path, archive: Path | None) -> list[Finding]:
    """Tables and figures that were published beside the report, as its archive knows, and that are not there."""
    if archive is None or not archive.is_file():
        return []
    booking = report.resolve().name
    try:
        names = [Path(name) for name in listed(archive)]
    except BenchbookError:
        return []
    tables_of = [name.name for name in names if name.parts[:3] == ("reports", booking, "tables")]
    wanted = {f"tables/{name}" for name in tables_of}
    wanted |= {f"tables/{Path(name).stem}.parquet" for name in tables_of if name.endswith(".csv")}
    wanted |= {f"figures/{name.name}" for name in names if name.parts[:3] == ("results", booking, "figures")}
    return [Finding(name, "is missing beside the report; run snakemake archive again")
            for name in sorted(wanted) if not (report / name).exists()]  # fmt: skip


def _pdf(report: Path, archive: Path | None) -> list[Finding]:
    """report.pdf is not made anew; it is the one that was archived, else the one that its rule wrote."""
    path = report / "report.pdf"
    try:
        if archive is not None and archive.is_file():
            wanted = listed(archive)[f"reports/{report.resolve().name}/report.pdf"]["sha256"]
        elif not path.exists() and not sidecar.path_of(path).exists():
            return []
        else:
            wanted = sidecar.read(path)["output"]["sha256"]
    except (BenchbookError, KeyError):
        return [Finding("report.pdf", "has neither an archive nor a sidecar that says what it was")]
    if not path.is_file():
        return [Finding("report.pdf", "is missing")]
    return [] if sha256(path) == wanted else [Finding("report.pdf", "is not the one that was written (sha256 differs)")]


def summary(told: Verified) -> str:
    """What was compared, in one line."""
    parts = [f"{told.values:,} shown values", f"{told.files} table and figure files"]
    parts += [f"{told.raw_files:,} raw files"] if told.raw_files else []
    parts += [f"{told.members:,} archive members"] if told.members else []
    return f"{', '.join(parts)}; made anew from {told.source} in {told.seconds:.0f} s"


def dumped(told: Verified) -> str:
    return json.dumps(told.to_json(), indent=1)
