"""Runs of several bookings together, compared side against side (method.md 4 and 10).

The replicate is the booking: what a node, an engine version or a week brings along, all sessions of a booking share.
With fewer than three bookings a side nothing is claimed (CONFOUNDED by BOOKING), however many runs there are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.bookings.taken import Taken
from benchbook.claims import comparisons, noise, remedies, sentences, verdicts
from benchbook.claims.levels import BOOKINGS_MIN, CONFOUNDED, REFUSED
from benchbook.claims.records import records
from benchbook.columns import tag_text

_SAME = ("model", "workload")
_SEVERAL = "several"


def arm_of(arm: str, side: str) -> str:
    return f"{arm} on {side}"


def pooled(taken: Sequence[Taken]) -> pd.DataFrame:
    """Table `runs` of all bookings with a column `booking`; arms, sessions and runs are named with their side or
    booking, since two nodes may boot in the same second."""
    frames = []
    for one in taken:
        runs = one.runs.copy()
        runs["arm"] = [arm_of(arm, one.side) for arm in runs["arm"]]
        for name in ("run_id", "session_id"):
            runs[name] = one.booking + "/" + runs[name]
        frames.append(runs.assign(booking=one.booking))
    return pd.concat(frames, ignore_index=True)


def bookings(taken: Sequence[Taken]) -> pd.DataFrame:
    """Table `bookings`: one row per booking, what it ran and on what."""
    rows = []
    judged = [one.claims["thresholds"] for one in taken]
    apart = sorted(name for name in set().union(*judged) if len({limits.get(name) for limits in judged}) > 1)
    for one in taken:
        about, sessions = one.claims, one.sessions
        rows.append({
            "booking": one.booking, "side": one.side, "node": about["node"]["name"], "model": about["model"]["name"],
            "workload": _workload(about),
            "limits": ", ".join(f"{name} {about['thresholds'].get(name)}" for name in apart) or None,
            **{name: _one(sessions[name]) for name in
                                             ("engine_version", "kernel", "cpu_model", "gpus", "driver")},
            "sessions": len(sessions), "runs": len(one.runs), "runs_tagged": int((one.runs["tags"] != "").sum()),
            "last_session": str(sessions["session_id"].max()) if len(sessions) else None, "sha256": one.sha256,
        })  # fmt: skip
    return schema.check(pd.DataFrame(rows), "bookings")


def _workload(about: Mapping[str, Any]) -> str:
    said = about["workload"]
    content = ", ".join(f"{name} {json.dumps(value)}" for name, value in sorted(said["content"].items()))
    return f"{said['kind']}: {content}; client {', '.join(about['clients'])}"


def _one(values: pd.Series) -> str | None:
    found = sorted({str(value) for value in values.dropna()})
    return found[0] if len(found) == 1 else f"{_SEVERAL}: {', '.join(found)}" if found else None


def compared(taken: Sequence[Taken], name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `comparisons` and `verdicts`: every arm on each side against the same arm on the first side, at every
    concurrency that both have. Where sides ran different models or workloads the claim is REFUSED."""
    runs, about = pooled(taken), _asked(taken, name)
    found = comparisons.table(runs, about, [], noise.prior([]))
    nothing = {table: schema.empty(table) for table in ("repeatability", "fixed_cost", "toll", "floor", "occupancy")}
    judged = verdicts.table(runs, found, nothing["repeatability"], nothing["fixed_cost"], nothing["toll"],
                            nothing["floor"], nothing["occupancy"], about)  # fmt: skip
    return found, _with_bookings(judged, found, bookings(taken))


def _asked(taken: Sequence[Taken], name: str) -> dict[str, Any]:
    """What claims.comparisons is to compare, in the form of config.claims_facts: the limits of the first booking."""
    first = taken[0]
    said, base = first.claims["comparisons"], first.side
    arms = list(dict.fromkeys(arm["name"] for one in taken for arm in one.claims["arms"]))
    sides = list(dict.fromkeys(one.side for one in taken))
    levels = sorted({int(level) for one in taken for level in one.runs["concurrency"].unique()})
    pairs = [
        {"name": "", "arm": arm_of(arm, side), "baseline": arm_of(arm, base), "metric": metric, "concurrency": levels}
        for arm in arms for side in sides if side != base for metric in said["metrics"]
    ]  # fmt: skip
    return {
        "id": name, "node": first.claims["node"], "clients": first.claims["clients"], "arms": [], "hypotheses": pairs,
        "comparisons": {**said, "baseline": "", "concurrency": []},
        "schedule": {**first.claims["schedule"], "sessions_per_arm": BOOKINGS_MIN},
    }  # fmt: skip


def _with_bookings(judged: pd.DataFrame, found: pd.DataFrame, about: pd.DataFrame) -> pd.DataFrame:
    """`judged` with the claims refused whose sides did not serve the same model the same requests, and with what lifts
    those that lack bookings: more of them."""
    ran = {name: {side: set(of_side[name]) for side, of_side in about.groupby("side")} for name in _SAME}
    count = {str(side): len(names) for side, names in about.groupby("side")}
    rows = {row["comparison_id"]: row for row in records(found)}
    told = []
    for verdict in records(judged):
        row = rows[verdict["claim_id"]]
        sides = [row[name].rpartition(" on ")[2] for name in ("arm", "baseline")]
        other = [name for name in _SAME if len(set.union(*(ran[name][side] for side in sides))) > 1]
        if other:
            verdict |= {"level": REFUSED, "because": f"the bookings ran different {' and '.join(map(_many, other))}",
                        "replicate": "book both sides with the same model and workload"}  # fmt: skip
        elif verdict["level"] == CONFOUNDED and "BOOKING" in verdict["because"]:
            verdict["replicate"] = _more(sides, count, tag_text.listed(verdict["tags"]))
        if other or verdict["level"] == CONFOUNDED:
            verdict["sentence"] = sentences.comparison(
                row, verdict["level"], verdict["because"], verdict["replicate"])
        told.append(verdict)
    return schema.check(pd.DataFrame(told), "verdicts") if told else schema.empty("verdicts")


def _many(name: str) -> str:
    return f"{name}s"


def _more(sides: Sequence[str], count: Mapping[str, int], tags: frozenset[str]) -> str:
    """What lifts a claim across bookings: three of each side, and nothing else the matter with them."""
    lacking = [f"{side} {BOOKINGS_MIN - count[side]} more"
               for side in dict.fromkeys(sides) if count[side] < BOOKINGS_MIN]  # fmt: skip
    steps = [f"book each side {BOOKINGS_MIN} times ({', '.join(lacking)})"] if lacking else []
    others = tags - {"BOOKING"}
    return "; ".join([*steps, *([remedies.to_do(others)] if others else [])])
