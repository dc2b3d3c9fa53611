"""What each boot of a store cost and said: facts of the server's log, or its failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchbook.engines import vllm_log
from benchbook.rawdata import RawSession


def facts(sessions: Sequence[RawSession]) -> list[dict[str, Any]]:
    """For each session: id, status, `facts` (vllm_log.BootFacts) and `failure` (vllm_log.Failure) or None.

    A failure is looked for only where the session says that its server failed: a log full of errors beside a session
    that ended well is no failure, and a success line in the log of a failed one is no success (engines.md 1).
    """
    return [
        {
            "session": session.session_id,
            "status": session.status,
            "facts": asdict(vllm_log.boot_facts(session.server_log)),
            "failure": asdict(_failure(session)) if _server_failed(session) else None,
        }
        for session in sessions
    ]


def _server_failed(session: RawSession) -> bool:
    failure = session.ending["failure"]
    return failure is not None and failure["what"] in ("boot", "run")


def _failure(session: RawSession) -> vllm_log.Failure:
    reason = session.ending["failure"]["reason"]
    if "is in use by another process" in reason:
        return vllm_log.Failure("port_in_use", "benchbook", reason, "Free the port, or leave server.port out.")
    if "cannot be started" in reason:
        return vllm_log.Failure("no_command", "benchbook", reason, "Correct the engine's command or interpreter.")
    found = vllm_log.failure(session.server_log)
    if found.failure_class == "silent" and session.ending["failure"].get("oom_kills"):
        return vllm_log.Failure("host_oom", "kernel", "the control group counted an out-of-memory kill",
                                "Lower the memory that the engine takes, or hire a node with more.")  # fmt: skip
    if found.failure_class == "silent" and "was not ready within" in reason:
        return vllm_log.Failure("not_ready", "benchbook", reason, "Raise limits.ready_s, or see where the log stops.")
    return found
