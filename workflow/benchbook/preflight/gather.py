"""What preflight reads from outside: earlier boots of a project, a server's log, the cores of this machine."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchbook.engines import vllm_log
from benchbook.engines.log_lines import records, without_answered
from benchbook.errors import TextError
from benchbook.measure import cgroup
from benchbook.preflight import flags
from benchbook.preflight.asked import Asked
from benchbook.preflight.boots import Boot
from benchbook.preflight.value import Value


def earlier(root: Path, asked: Asked) -> list[Boot]:
    """Boots of the booking's model, engines and node under results/ of the project at `root`, in order of launch."""
    engines = {arm.engine for arm in asked.arms}
    found = []
    for folder in sorted((root / "results").glob("*/raw/*/[0-9]*-[0-9]*"), key=lambda path: path.name):
        spec = _spec(folder)
        if spec is None or spec["model"]["name"] != asked.model["name"] or spec["node"]["name"] != asked.node["name"] \
                or spec["engine"]["name"] not in engines:  # fmt: skip
            continue
        log = (folder / "server.log").read_bytes().decode("utf-8", "replace")
        facts = asdict(vllm_log.boot_facts(log.replace("\r\n", "\n").replace("\r", "\n")))
        found.append(of_spec(f"{spec['booking']} {folder.name}", spec, facts))
    return found


def of_spec(name: str, spec: Mapping[str, Any], facts: Mapping[str, Any]) -> Boot:
    """A boot of a session, from its specification and what its log says (vllm_log.BootFacts)."""
    return Boot(name, spec["model"]["name"], spec["engine"]["name"], spec["node"]["name"],
                flags.named(spec["server"]["args"]), facts)  # fmt: skip


def _spec(folder: Path) -> dict[str, Any] | None:
    """A session's specification; None where it or the server's log is missing or unreadable, and of no help."""
    try:
        spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return spec if (folder / "server.log").is_file() and isinstance(spec, dict) else None


def of_log(path: Path) -> Boot:
    """The boot of a server's log that was named by hand. Raises TextError when it is none of vLLM."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise TextError(f"{path} cannot be unpacked ({error}): restore it from a copy.") from error
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    facts = asdict(vllm_log.boot_facts(text))
    if all(value is None for value in facts.values()):
        raise TextError(f"{path} says nothing of a vLLM server's start: name a server's log.")
    args = vllm_log.facts(records(without_answered(text)))["args"]
    told = {name: value for name, value in args.items() if value is not None} if isinstance(args, dict) else None
    return Boot(path.name, None, None, None, None if told is None else flags.named(told), facts)


def cores(asked: Asked) -> Value[float]:
    """Cores for server and client: what the node's file says; else, where this is the node, what this process may use.

    A node with GPUs is taken for this machine only when this machine has as many.
    """
    declared = asked.node["cores"]
    if declared is not None:
        return Value(float(declared), f"the node has {declared} cores by its file", True)
    gpus = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if asked.has_gpus and gpus < asked.node["gpus"]:
        return Value(None, f"node {asked.node['name']} does not say how many cores it has, and this machine is not it")
    allowed, quota = len(os.sched_getaffinity(0)), cgroup.cpu_quota_cores()
    if quota is not None and quota < allowed:
        return Value(quota, f"the control group allows {quota:g} cores of the {allowed} that this process may use")
    return Value(float(allowed), f"this process may use {allowed} cores (affinity)")
