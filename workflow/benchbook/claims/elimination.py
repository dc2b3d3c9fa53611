"""Which causes can be ruled out for an arm: nine candidates, what each predicts and what was seen (method.md 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims import busy
from benchbook.claims import causes_beside_gpus as beside
from benchbook.claims import causes_on_gpus as on
from benchbook.claims.candidate import NOT_RULED_OUT, UNTESTED, Candidate, Finding, Point
from benchbook.claims.usable import usable
from benchbook.columns import tag_text

CANDIDATES: Sequence[Candidate] = (
    Candidate("compute", "a kernel runs 90 % of the time or more, at 85 % of the power limit or more", "", on.compute,
              on_gpus=True),
    Candidate("memory bandwidth", f"DRAM bandwidth used at {100 * on.DRAM_BOUND:.0f} % or more; a step near its byte "
              "floor", "", on.memory_bandwidth),
    Candidate("power", "power at 95 % of the limit, a clock under 97 % of its highest, or a cap active in over 1 % of "
              "the samples", "THROTTLED", on.power, on_gpus=True),
    Candidate("imbalance", f"some GPUs busier than others by more than {busy.IMBALANCE_PP:g} pp", "", on.imbalance,
              on_gpus=True),
    Candidate("kernel launch", "GPUs idle in every step (utilization under 90 %), idle time not shrinking with batch; "
              "or a kernel always running on few SMs", "", on.kernel_launch, on_gpus=True),
    Candidate("frontend", "requests in flight that the engine does not know of", "FRONTEND", beside.frontend),
    Candidate("client", "mean ITL longer at the client than at the server, a busy core, late sends", "CLIENT",
              beside.client),
    Candidate("prefill interference", "a mean step longer than a step of pure decode by "
              f"{100 * beside.INTERFERENCE_MAX:.0f} % or more", "", beside.prefill_interference),
    Candidate("capture fallback", "steps with more tokens than the largest captured graph", "REGIME",
              beside.capture_fallback),
)  # fmt: skip


def table(
    runs: pd.DataFrame, telemetry: pd.DataFrame, client: pd.DataFrame, scheduler: pd.DataFrame,
    occupancy: pd.DataFrame, fixed_cost: pd.DataFrame, toll: pd.DataFrame, floor: pd.DataFrame,
    sessions: pd.DataFrame, booking: Mapping[str, Any],
) -> pd.DataFrame:  # fmt: skip
    """Table `elimination`: a row for each arm of the booking and each candidate.

    Judged at the arm's highest concurrency that has runs without a tag, on those runs; where every run carries one, at
    the highest concurrency, and nothing is ruled out there. Nor is a candidate whose own tag other runs at that
    concurrency carry: the runs without it were chosen for being without. Where runs above carry it, `why` says so.
    """
    tables = {"telemetry": telemetry, "client": client, "scheduler": scheduler, "occupancy": occupancy}
    good = usable(runs, booking["clients"])
    rows = []
    for arm in booking["arms"]:
        mine = good[good["arm"] == arm["name"]]
        point = None
        if len(mine):
            rows_of = {name: frame[frame["run_id"].isin(mine["run_id"])] for name, frame in tables.items()}
            point = _point(arm, mine, rows_of, sessions, fixed_cost, toll, floor, booking)
        rows += [_row(arm["name"], candidate, point, mine) for candidate in CANDIDATES]
    return schema.check(pd.DataFrame(rows), "elimination") if rows else schema.empty("elimination")


def _point(
    arm: Mapping[str, Any], runs: pd.DataFrame, rows_of: Mapping[str, pd.DataFrame], sessions: pd.DataFrame,
    fixed_cost: pd.DataFrame, toll: pd.DataFrame, floor: pd.DataFrame, booking: Mapping[str, Any],
) -> Point:  # fmt: skip
    clean = runs[runs["tags"] == ""]
    judged = clean if len(clean) else runs
    concurrency, lowest = int(judged["concurrency"].max()), int(judged["concurrency"].min())
    here = judged[judged["concurrency"] == concurrency]
    at = {name: frame[frame["run_id"].isin(here["run_id"])] for name, frame in rows_of.items()}
    accepted = at["occupancy"].loc[at["occupancy"]["utilization"].notna(), "run_id"]
    below = judged.loc[judged["concurrency"] == lowest, "run_id"] if lowest < concurrency else here["run_id"].iloc[:0]
    chosen = fixed_cost[(fixed_cost["response"] == "step") & fixed_cost["chosen"].astype(bool)]
    floor_row = _only(floor, arm["name"], concurrency)
    floor_runs = str(floor_row["run_ids"]).split() if floor_row is not None else []
    return Point(
        arm=arm["name"],
        concurrency=concurrency,
        runs=here,
        tagged="" if len(clean) else tag_text.union(here["tags"]),
        telemetry=at["telemetry"][at["telemetry"]["run_id"].isin(accepted)],
        client=at["client"],
        scheduler=at["scheduler"],
        sessions=sessions[sessions["session_id"].isin(here["session_id"])],
        occupancy=at["occupancy"],
        lowest=rows_of["occupancy"][rows_of["occupancy"]["run_id"].isin(below)],
        fixed_cost=_only(chosen, arm["name"]),
        toll=_only(toll, arm["name"], concurrency),
        floor=floor_row,
        floor_sessions=runs.loc[runs["run_id"].isin(floor_runs), "session_id"].nunique(),
        server_args=arm["server_args"],
        booking=booking,
        left_out=int((runs["concurrency"] == concurrency).sum()) - len(here),
    )


def _only(frame: pd.DataFrame, arm: str, concurrency: int | None = None) -> Mapping[Any, Any] | None:
    mine = frame[frame["arm"] == arm]
    if concurrency is not None:
        mine = mine[mine["concurrency"] == concurrency]
    return mine.to_dict("records")[0] if len(mine) else None


def _row(arm: str, candidate: Candidate, point: Point | None, runs: pd.DataFrame) -> dict[str, Any]:
    row: dict[str, Any] = {"arm": arm, "candidate": candidate.name, "signature": candidate.signature}
    if point is None:
        return row | {"measurement": None, "gate": "not reached: no usable run", "outcome": UNTESTED,
                      "why": "No run of this arm ended well: measure it again.", "concurrency": None, "run_ids": ""}
    finding = _against_tagged(candidate.judge(point), candidate, point, runs)
    tested = finding.outcome != UNTESTED
    return row | {
        "measurement": finding.measurement,
        "gate": finding.gate,
        "outcome": finding.outcome,
        "why": finding.why + _above(candidate, point, runs),
        "concurrency": point.concurrency if tested else None,
        "run_ids": " ".join(point.runs["run_id"]) if tested else "",
    }


def _against_tagged(finding: Finding, candidate: Candidate, point: Point, runs: pd.DataFrame) -> Finding:
    """A candidate is not ruled out by the runs that lack its tag where others beside them carry it, and one that is not
    ruled out says so."""
    carrying = int((_carriers(candidate, runs)["concurrency"] == point.concurrency).sum())
    if not carrying or finding.outcome == UNTESTED:
        return finding
    every = int((runs["concurrency"] == point.concurrency).sum())
    if finding.outcome == NOT_RULED_OUT:
        told = f" {candidate.tag} is on {carrying} of {every} runs at this concurrency."
        return replace(finding, why=finding.why + told)
    return replace(finding, outcome=NOT_RULED_OUT, why=(
        f"{candidate.tag} is on {carrying} of {every} runs at this concurrency, and the cause is absent in the others "
        "only: remove it and measure again."
    ))  # fmt: skip


def _carriers(candidate: Candidate, runs: pd.DataFrame) -> pd.DataFrame:
    """Runs with the candidate's own tag."""
    return runs[[candidate.tag in tag_text.listed(tags) for tags in runs["tags"]]]


def _above(candidate: Candidate, point: Point, runs: pd.DataFrame) -> str:
    """Where runs at a higher concurrency carry the candidate's own tag."""
    found = sorted({int(c) for c in _carriers(candidate, runs)["concurrency"] if c > point.concurrency})
    return f" At concurrency {', '.join(map(str, found))} runs carry {candidate.tag}." if found else ""
