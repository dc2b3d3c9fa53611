"""What each boot of a store cost and said: facts of the server's log, or its failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from benchbook.engines import vllm_log
from benchbook.engines.facts import find_failure
from benchbook.engines.failures import Failure
from benchbook.engines.log_lines import records
from benchbook.rawdata import RawSession


def facts(sessions: Sequence[RawSession]) -> list[dict[str, Any]]:
    """For each session: id, status, `facts` (vllm_log.BootFacts) and `failure` (failures.Failure and remedy) or None.

    A failure is looked for only where the session says that its server failed: a log full of errors beside a session
    that ended well is no failure, and a success line in the log of a failed one is no success (engines.md 1).
    """
    return [
        {
            "session": session.session_id,
            "status": session.status,
            "facts": asdict(vllm_log.boot_facts(session.server_log)),
            "failure": _told(_failure(session)) if _server_failed(session) else None,
        }
        for session in sessions
    ]


def _told(failure: Failure) -> dict[str, Any]:
    return {**asdict(failure), "remedy": failure.remedy}


def _server_failed(session: RawSession) -> bool:
    failure = session.ending["failure"]
    return failure is not None and failure["what"] in ("boot", "run")


def _failure(session: RawSession) -> Failure:
    told = session.ending["failure"]
    if "is in use by another process" in told["reason"]:
        return Failure("port_in_use", "bind", "benchbook", told["reason"])
    if "cannot be started" in told["reason"]:
        return Failure("no_command", "process_start", "benchbook", told["reason"])
    found = find_failure(
        records(session.server_log), "vllm", failed=True, exit_code=told.get("exit_code"),
        oom_kills=told.get("oom_kills"),
    )  # fmt: skip
    assert found is not None, "with failed=True there always is one"
    if found.failure_class == "silent_stop" and "was not ready within" in told["reason"]:
        return replace(found, failure_class="not_ready", reported_by="benchbook", root_cause=told["reason"])
    return found
