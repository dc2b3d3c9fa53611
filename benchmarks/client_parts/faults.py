"""Five faults of a server, and what each client makes of them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from known_server import KnownServer

from client_parts.clients import NATIVE, VLLM_BENCH, Clients, Load, Ran
from client_parts.figures import Check, table

REQUESTS, CONCURRENCY, OUTPUT_TOKENS = 8, 4, 64
READ_GAP_S, DEADLINE_S = 2.0, 50.0

REASONS: Mapping[str, frozenset[str]] = {
    "http500": frozenset({"http_status"}),
    "errevent": frozenset({"error_event"}),
    "halfclose": frozenset({"no_done", "no_usage", "short_output"}),
    "halfabort": frozenset({"closed", "reset"}),
    "halfstall": frozenset({"read_gap"}),
}


def counted(ran: Ran) -> dict[str, Any]:
    """Successes and failures by reason, as the client itself counts them; none of either when it wrote no result."""
    if ran.result is None:
        return {"succeeded": None, "failed": None, "reasons": {}}
    kinds = (ran.result.get("benchbook") or {}).get("failure_kinds")
    errors = [error.strip().splitlines()[-1] for error in ran.result["errors"] if error.strip()]
    reasons = [kind for kind in kinds if kind] if kinds is not None else errors
    return {"succeeded": ran.result["completed"], "failed": ran.result["failed"], "reasons": dict(Counter(reasons))}


def measure(clients: Clients) -> list[dict[str, Any]]:
    runs = []
    for fault in REASONS:
        with KnownServer("--ttft", "50", "--tpot", "10", "--fault", fault) as server:
            for client in (NATIVE, VLLM_BENCH):
                server.reset()
                load = Load(REQUESTS, CONCURRENCY, output_tokens=OUTPUT_TOKENS,
                            read_gap_s=READ_GAP_S if client == NATIVE else None)  # fmt: skip
                ran = clients.run(client, server.port, load, deadline_s=DEADLINE_S)
                runs.append({"fault": fault, "client": client, "exit_code": ran.exit_code, **counted(ran)})
                print(f"  {fault} {client}: {_outcome(runs[-1])}, {_exit(runs[-1])}", file=sys.stderr)
    return runs


def _outcome(run: Mapping[str, Any]) -> str:
    if run["succeeded"] is None:
        return "no result"
    why = ", ".join(f"{number} x {reason[:60]}" for reason, number in run["reasons"].items())
    return f"{run['succeeded']} succeeded, {run['failed']} failed" + (f" ({why})" if why else "")


def _exit(run: Mapping[str, Any]) -> str:
    return f"killed after {DEADLINE_S:.0f} s" if run["exit_code"] is None else f"exit {run['exit_code']}"


def text(runs: Sequence[Mapping[str, Any]]) -> str:
    rows = [(run["fault"], run["client"], f"{_outcome(run)}; {_exit(run)}") for run in runs]
    width = max(len(row[2]) for row in rows)
    return table(("", "", f"of {REQUESTS} requests".ljust(width)), [(a, b, c.ljust(width)) for a, b, c in rows])


def checks(runs: Sequence[Mapping[str, Any]]) -> list[Check]:
    """The native client counts every request as failed, for the right reason, and exits with 1."""
    return [
        Check(
            f"{run['fault']}: {REQUESTS} failures, {' or '.join(sorted(REASONS[run['fault']]))}, exit 1",
            f"{_outcome(run)}; {_exit(run)}",
            run["succeeded"] == 0 and run["failed"] == REQUESTS and run["exit_code"] == 1
            and sum(run["reasons"].values()) == REQUESTS and set(run["reasons"]) <= REASONS[run["fault"]],
        )
        for run in runs
        if run["client"] == NATIVE
    ]  # fmt: skip
