"""Everything that did not end well, one row each: what, why, what to do, and what it cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.derive.sessions import AGAIN

_REMEDIES = {
    "requests": "Read the run's bench.log and the server's log of that minute.",
    "short_output": "Check that the engine honours ignore_eos and that the output length fits max-model-len.",
    "server_died": "Read the end of the session's server.log.",
    "timeout": "Raise limits.run_s, or ask for fewer prompts.",
    "client_died": "Read the session's client.log.",
    "client_error": "Read the run's bench.log: the benchmark refused its arguments or stopped.",
}


def table(sessions: pd.DataFrame, runs: pd.DataFrame, kinds: dict[str, str]) -> pd.DataFrame:
    """Table `failures` from tables `sessions` and `runs`. `kinds`: failure_kind by run id, from the runs' records.

    Runs that were never measured stand in their session's row and not in one of their own each; a run that failed and
    was measured well later stays listed.
    """
    rows = [
        {
            "failure_id": session["session_id"], "slot": session["slot"], "arm": session["arm"],
            "what": _what(session), "failure_class": session["failure_class"] or "unknown",
            "failure_phase": session["failure_phase"],
            "reason": session["reason"] or "no reason was recorded", "remedy": session["remedy"] or AGAIN,
            "expected": session["expected_failure"], "cost_s": session["wall_s"],
        }
        for session in sessions.to_dict("records")
        if session["status"] != "complete"
    ] + [
        {
            "failure_id": run["run_id"], "slot": run["slot"], "arm": run["arm"], "what": "requests",
            "failure_class": kinds.get(run["run_id"], "unknown"), "failure_phase": None, "reason": run["reason"],
            "remedy": _REMEDIES.get(kinds.get(run["run_id"], ""), AGAIN), "expected": run["expected_failure"],
            "cost_s": run["t_end_s"] - run["t_start_s"],
        }
        for run in runs.to_dict("records")
        if run["status"] in ("failed", "incomplete")
    ]  # fmt: skip
    return schema.check(pd.DataFrame(rows), "failures") if rows else schema.empty("failures")


def unexpected(sessions: pd.DataFrame, runs: pd.DataFrame) -> list[tuple[str, str]]:
    """Id and reason of each failed session and run that the booking does not expect and that still stands.

    A failure is settled by a later success in the same place of the schedule that somebody asked for. The second boot
    that a session makes by itself does not settle it: a server that dies is worth a look. Runs that were measured once
    more because the gate failed are nobody's to ask for again, and neither are those that they replaced.
    """
    asked = sessions[sessions["reboot_of"].isna()]
    complete = asked[asked["status"] == "complete"]
    failed = sessions[(sessions["status"] == "failed") & ~sessions["expected_failure"]]
    standing = [
        (session["session_id"], session["reason"])
        for session in failed.to_dict("records")
        if not ((complete["slot"] == session["slot"]) & (complete["session_id"] > session["session_id"])).any()
    ]
    if runs.empty:
        return standing
    named = runs.assign(name=runs["run_id"].str.partition("/")[2])
    ok = named[(named["status"] == "ok") & named["session_id"].isin(asked["session_id"])]
    due = (named["status"] != "ok") & ~named["expected_failure"] & ~named["spare"] & ~named["replaced"]
    for run in named[due].to_dict("records"):
        later = (ok["slot"] == run["slot"]) & (ok["name"] == run["name"]) & (ok["session_id"] > run["session_id"])
        if not later.any():
            standing.append((run["run_id"], run["reason"]))
    return standing


def _what(session: Mapping[Hashable, Any]) -> str:
    if session["status"] == "set-aside":
        return "interrupted"
    known = session["failure_class"]
    if known in ("client", "teardown", "pipeline"):
        return str(known)
    return "boot" if pd.isna(session["boot_s"]) else "run"
