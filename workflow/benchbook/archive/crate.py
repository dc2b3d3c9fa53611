"""The description of an archive as a Workflow Run RO-Crate (profile 0.5): what ran, on what, and what came of it.

    https://www.researchobject.org/workflow-run-crate/profiles/workflow_run_crate
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

METADATA = "ro-crate-metadata.json"
_PROFILES = (
    ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"),
    ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate", "1.0"),
)
_FORMATS = {
    ".json": "application/json", ".jsonl": "application/jsonl", ".html": "text/html", ".pdf": "application/pdf",
    ".svg": "image/svg+xml", ".csv": "text/csv", ".parquet": "application/vnd.apache.parquet",
    ".gz": "application/gzip", ".log": "text/plain", ".txt": "text/plain", ".yaml": "application/yaml",
    ".py": "text/x-python",
    ".md": "text/markdown", ".toml": "application/toml", ".css": "text/css", ".js": "text/javascript",
    ".patch": "text/x-diff",
}  # fmt: skip
_MAIN = "workflow/Snakefile"
_LICENSE = "https://spdx.org/licenses/Apache-2.0"


@dataclass(frozen=True)
class Run:
    """What the crate says of the booking. Times are Unix seconds, None where no session wrote one.

    `engines`: versions of the engine that its servers were; `versions`: of Benchbook and of Snakemake.
    """

    booking: str
    title: str
    t_start_s: float | None
    t_end_s: float | None
    engines: Sequence[str]
    benchbook: str
    snakemake: str
    commit: str


def describe(members: Mapping[str, bytes], run: Run) -> bytes:
    """ro-crate-metadata.json for `members`. Equal input, equal bytes: its date is that of the last session's end."""
    crate = ROCrate(version="1.1")
    for identifier, name, version in _PROFILES:
        crate.add(ContextEntity(crate, identifier, properties={
            "@type": "CreativeWork", "name": name, "version": version}))  # fmt: skip
    about = {
        **_properties(_MAIN, members[_MAIN]), "name": f"Benchbook {run.benchbook}", "encodingFormat": "text/plain",
        "version": run.commit or run.benchbook, "license": {"@id": _LICENSE},
    }
    workflow = crate.add_workflow(
        None, _MAIN, main=True, lang="snakemake", lang_version=run.snakemake, properties=about
    )
    crate.add(ContextEntity(crate, _LICENSE, properties={"@type": "CreativeWork", "name": "Apache License 2.0"}))
    files = {name: crate.add_file(name, dest_path=name, properties=_properties(name, data))
             for name, data in sorted(members.items()) if name != _MAIN}  # fmt: skip
    engine = crate.add(ContextEntity(crate, "#snakemake", properties={
        "@type": "SoftwareApplication", "name": "Snakemake", "softwareVersion": run.snakemake,
        "url": "https://snakemake.readthedocs.io"}))  # fmt: skip
    for version in sorted(set(run.engines)):
        crate.add(ContextEntity(crate, f"#engine-{_slug(version)}", properties={
            "@type": "SoftwareApplication", "name": "Engine of the servers", "softwareVersion": version,
            "url": "https://docs.vllm.ai"}))  # fmt: skip
    agent = crate.add(ContextEntity(crate, "#measured-by", properties={
        "@type": "Organization", "name": "whoever booked the node (not published)"}))  # fmt: skip
    action = crate.add(ContextEntity(crate, "#booking", properties={
        "@type": "CreateAction", "name": f"Booking {run.booking}: {run.title}",
        "description": "The sessions of a booking, measured, and the report that was made of them.",
        "actionStatus": "http://schema.org/CompletedActionStatus",
        **_when("startTime", run.t_start_s), **_when("endTime", run.t_end_s)}))  # fmt: skip
    action["instrument"] = workflow
    action["agent"] = agent
    action["object"] = [files[name] for name in files if _is_object(name)]
    action["result"] = [files[name] for name in files if _is_result(name)]
    root = crate.root_dataset
    root["name"] = f"Booking {run.booking}"
    root["description"] = f"{run.title}. A benchmark booking with everything its report rests on."
    root["license"] = {"@id": _LICENSE}
    root["datePublished"] = _iso(run.t_end_s) if run.t_end_s is not None else "1980-01-01T00:00:00+00:00"
    root["conformsTo"] = [{"@id": identifier} for identifier, *_ in _PROFILES]
    root["mentions"] = [action, engine]
    return (json.dumps(crate.metadata.generate(), indent=1, sort_keys=True) + "\n").encode()


def _properties(name: str, data: bytes) -> dict[str, str]:
    suffix = "." + name.rsplit(".", 1)[-1]
    return {"name": name, "sha256": hashlib.sha256(data).hexdigest(), "contentSize": str(len(data)),
            "encodingFormat": _FORMATS.get(suffix, "application/octet-stream")}  # fmt: skip


def _is_object(name: str) -> bool:
    return name.startswith("config/") or (name.startswith("results/") and name.split("/")[2] in ("raw", "specs"))


def _is_result(name: str) -> bool:
    return (name.startswith("reports/") and name.split("/")[1] not in ("templates", "style", "script")) or (
        name.startswith("results/") and name.split("/")[2] in ("tables", "figures"))  # fmt: skip


def _when(name: str, unix_s: float | None) -> dict[str, str]:
    return {} if unix_s is None else {name: _iso(unix_s)}


def _iso(unix_s: float) -> str:
    return datetime.fromtimestamp(round(unix_s), tz=UTC).isoformat()


def _slug(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text)
