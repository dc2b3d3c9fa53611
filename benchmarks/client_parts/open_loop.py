"""Latency under arrivals that do not wait for answers, against queueing theory.

The server has K places and a service time of its own that is exact; the theory is computed over the very arrival times
that the client drew, and from closed forms. Where the queue stands in the server, latency from send holds it; where the
client itself holds requests back (a cap on concurrency), only latency from schedule does.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchbook.measure import bench_result
from benchbook.measure.client import arrivals
from known_server import KnownServer, Truth

from client_parts import queueing
from client_parts.clients import NATIVE, Clients, Load, Ran
from client_parts.figures import Check, table

TOLERANCE = 2.0
SAMPLES, STANDARD_ERRORS = 400, 3


@dataclass(frozen=True)
class Case:
    """`places` in the server, each `service_ms`; `requests` at `rate` per second; `cap` of the client, or None."""

    name: str
    arrivals: str
    rate: float
    service_ms: float
    places: int
    requests: int
    cap: int | None = None

    @property
    def load(self) -> float:
        """Offered load per place: rho."""
        return self.rate * self.service_ms / 1000 / self.places


CASES = (
    Case("M/D/1, queue in the server", "poisson", 5.0, 100.0, 1, 400),
    Case("M/D/1, queue in the client", "poisson", 5.0, 100.0, 1, 400, cap=1),
    Case("M/D/4, queue in the server", "poisson", 32.0, 100.0, 4, 1600),
    Case("D/D/1 overload, queue in the server", "constant", 10.0, 500.0, 1, 8),
    Case("D/D/1 overload, queue in the client", "constant", 10.0, 500.0, 1, 8, cap=1),
)
QUICK_REQUESTS = 200
DRAWN, DRAWN_RATE, DRAWN_SERVICE_S = 400_000, 12.5, 0.04


def figures(case: Case, ran: Ran, truth: Truth) -> dict[str, Any]:
    """Latencies in ms; `difference`: measured mean from schedule over the recursion's, minus 1, in percent;
    `server_difference`: the same of the server's own latencies over the recursion on its own arrivals, so that what the
    server lacks is not laid on the client. late_ms: mean from schedule until sent, where nothing held a request back.
    """
    assert ran.result is not None
    listed = bench_result.requests(ran.result)
    if any(not request.ok for request in listed) or len(listed) != case.requests:
        raise SystemExit(f"{case.name}: not every request ended well.\n{ran.said}")
    scheduled_s = np.array(ran.result["benchbook"]["scheduled_times"], dtype=float)
    started_s = np.array([request.start_s for request in listed], dtype=float)
    e2el_s = np.array([request.e2el_s for request in listed], dtype=float)
    order = np.argsort(scheduled_s, kind="stable")
    theory_ms = 1000 * queueing.latencies_s(list(scheduled_s[order]), case.service_ms / 1000, case.places)
    measured_ms = 1000 * (started_s + e2el_s - scheduled_s)[order]
    arrivals_s = [served.arrival_s for served in truth.requests]
    served_s = np.mean([served.ttft_s or np.nan for served in truth.requests])
    faithful_s = queueing.latencies_s(arrivals_s, case.service_ms / 1000, case.places).mean()
    found = {
        "server_difference": float(100 * (served_s / faithful_s - 1)),
        "late_ms": None if case.cap else float(1000 * (started_s - scheduled_s).mean()),
        "schedule_ms": float(measured_ms.mean()),
        "schedule_p99_ms": float(np.percentile(measured_ms, 99)),
        "send_ms": float(1000 * e2el_s.mean()),
        "theory_ms": float(theory_ms.mean()),
        "theory_p99_ms": float(np.percentile(theory_ms, 99)),
        "worst_ms": float(np.abs(measured_ms - theory_ms).max()),
    }
    difference = float(100 * (measured_ms.mean() / theory_ms.mean() - 1))
    return {"difference": difference, **found, **_closed_form(case)}


def _closed_form(case: Case) -> dict[str, Any]:
    """closed_ms, None where there is no closed form; closed_sigma_ms: how far a run of so many requests lies from it by
    chance, one standard deviation."""
    service_s = case.service_ms / 1000
    if case.arrivals == "constant":
        closed_s = queueing.dd_overload_mean_s(case.rate, service_s, case.requests)
        return {"closed_ms": 1000 * closed_s, "closed_sigma_ms": 0.0}
    if case.places > 1:
        return {"closed_ms": None, "closed_sigma_ms": None}
    means_s = queueing.md1_means_s(case.rate, service_s, case.requests, SAMPLES, seed=1)
    return {"closed_ms": 1000 * queueing.md1_mean_s(case.rate, service_s),
            "closed_sigma_ms": 1000 * float(means_s.std())}  # fmt: skip


def measure(clients: Clients, quick: bool) -> list[dict[str, Any]]:
    runs = []
    for case in CASES:
        if quick:
            case = Case(case.name, case.arrivals, case.rate, case.service_ms, case.places,
                        min(case.requests, QUICK_REQUESTS), case.cap)  # fmt: skip
        with KnownServer("--ttft", str(case.service_ms), "--tpot", "1", "--exact", "--max-running",
                         str(case.places)) as server:  # fmt: skip
            load = Load(case.requests, case.cap, output_tokens=1, rate=case.rate, arrivals=case.arrivals)
            ran = clients.run(NATIVE, server.port, load, watch_s=0.1)
            if ran.exit_code != 0 or ran.result is None:
                raise SystemExit(f"{case.name}: the client ended with {ran.exit_code}:\n{ran.said}")
            found = figures(case, ran, server.truth())
            runs.append({"case": case.name, "requests": case.requests, "rho": case.load, "capped": case.cap is not None,
                         **found})  # fmt: skip
            print(f"  {case.name}: {found['schedule_ms']:.2f} ms, theory {found['theory_ms']:.2f}", file=sys.stderr)
    return runs


def text(runs: Sequence[Mapping[str, Any]]) -> str:
    head = ("", "requests", "rho", "from schedule ms", "recursion ms", "difference %", "closed form ms", "p99 ms",
            "recursion p99", "from send ms", "sent late ms", "server itself %")  # fmt: skip
    rows = [
        (
            run["case"], f"{run['requests']:,}", f"{run['rho']:.2f}", f"{run['schedule_ms']:,.2f}",
            f"{run['theory_ms']:,.2f}", f"{run['difference']:+.2f}",
            "–" if run["closed_ms"] is None else f"{run['closed_ms']:,.2f} ± {run['closed_sigma_ms']:.2f}",
            f"{run['schedule_p99_ms']:,.1f}", f"{run['theory_p99_ms']:,.1f}", f"{run['send_ms']:,.2f}",
            "–" if run["late_ms"] is None else f"{run['late_ms']:.2f}", f"{run['server_difference']:+.2f}",
        )
        for run in runs
    ]  # fmt: skip
    return table(head, rows)


def _drawn() -> Check:
    """A run of bearable length lies some percent from M/D/1's mean by chance; so many arrivals as the client draws them
    do not."""
    drawn_s = arrivals.times(arrivals.POISSON, DRAWN_RATE, DRAWN, seed=1)
    mean_s = float(queueing.latencies_s(drawn_s, DRAWN_SERVICE_S, 1).mean())
    closed_s = queueing.md1_mean_s(DRAWN_RATE, DRAWN_SERVICE_S)
    return Check(
        f"M/D/1: recursion over {DRAWN:,} of the client's arrivals within {TOLERANCE:g} % of the closed form",
        f"{1000 * mean_s:.2f} ms of {1000 * closed_s:.2f}", abs(mean_s / closed_s - 1) <= TOLERANCE / 100,
    )  # fmt: skip


def checks(runs: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Mean latency from schedule is the theory's; where the client holds requests back, latency from send is not."""
    found = [_drawn()]
    for run in runs:
        found.append(Check(f"{run['case']}: mean from schedule within {TOLERANCE:g} % of the recursion's",
                           f"{run['difference']:+.2f} %", abs(run["difference"]) <= TOLERANCE))  # fmt: skip
        if run["closed_ms"] is not None:
            away_ms = run["schedule_ms"] - run["closed_ms"]
            allowed_ms = TOLERANCE / 100 * run["closed_ms"] + STANDARD_ERRORS * run["closed_sigma_ms"]
            chance = f" and {STANDARD_ERRORS} standard errors of a run so long" if run["closed_sigma_ms"] else ""
            figure = f"{away_ms:+.2f} ms of {run['closed_ms']:,.2f}"
            found.append(Check(f"{run['case']}: within {TOLERANCE:g} %{chance} of the closed form", figure,
                               abs(away_ms) <= allowed_ms))  # fmt: skip
        if run["capped"]:
            found.append(Check(f"{run['case']}: latency from send differs", f"{run['send_ms']:,.2f} ms against "
                               f"{run['schedule_ms']:,.2f}", run["send_ms"] < 0.9 * run["schedule_ms"]))  # fmt: skip
    return found
