"""Where the hired time of a booking went, item by item, and what all of it makes of a token (method.md 9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims import price

MEASURED, WARMUPS, BOOTS = "measured runs", "warmups", "boots"
FAILED_BOOTS, FAILED_RUNS, IDLE, ALL = "failed boots", "failed runs", "idle and teardown", "all"
ITEMS = (MEASURED, WARMUPS, BOOTS, FAILED_BOOTS, FAILED_RUNS, IDLE)
_HOLDS = {
    MEASURED: "runs that ended well, those measured once more and those of a second client among them",
    FAILED_BOOTS: "whole sessions whose server never got ready, and boots that were interrupted",
    FAILED_RUNS: "runs that failed, fell short, or belong to an interrupted session",
    IDLE: "start of the client, pauses between runs, teardown",
}


def table(
    sessions: pd.DataFrame, timeline: pd.DataFrame, runs: pd.DataFrame, booking: Mapping[str, Any]
) -> pd.DataFrame:
    """Table `bill`: the items for all arms and then for each arm, each group closed by its row `all`.

    A session's time is its wall time, from launch to the last process gone; every second of it belongs to one item, so
    the items add up to `all`. A session whose end was not recorded leaves `idle and teardown` and `all` null, as nobody
    knows how long it held the node. Time between sessions is in no row: whether the node was held then is not recorded.
    """
    if sessions.empty:
        return schema.empty("bill")
    good = runs[(runs["status"] == "ok") & runs["session_id"].isin(_counting(sessions))]
    spent = {
        session["session_id"]: _session(session, timeline[timeline["session_id"] == session["session_id"]],
                                        set(good["run_id"]))
        for session in sessions.to_dict("records")
    }  # fmt: skip
    whole_s = _total(spent.values(), ALL)
    groups: list[tuple[str | None, pd.DataFrame]] = [(None, sessions)]
    groups += [(arm["name"], sessions[sessions["arm"] == arm["name"]]) for arm in booking["arms"]]
    rows: list[dict[str, Any]] = []
    for arm, mine in groups:
        of_arm = good if arm is None else good[good["arm"] == arm]
        rows += _group(arm, mine, spent, int(of_arm["output_tokens"].sum()), whole_s,
                       booking["node"]["price_usd_per_hour"])  # fmt: skip
    return schema.check(pd.DataFrame(rows), "bill")


def _counting(sessions: pd.DataFrame) -> pd.Series:
    return sessions.loc[sessions["status"] != "set-aside", "session_id"]


def _session(session: Mapping[Any, Any], timeline: pd.DataFrame, good: set[str]) -> dict[str, float | None]:
    """Seconds of one session by item; only those that occurred."""
    start_s, wall_s = float(session["t_launch_s"]), session["wall_s"]
    end_s = start_s + float(wall_s) if pd.notna(wall_s) else None
    booted = bool(((timeline["phase"] == "boot") & timeline["ok"].astype(bool)).any()) or pd.notna(session["boot_s"])
    failed = not booted and session["status"] != "set-aside"
    spent: defaultdict[str, float | None] = defaultdict(float)
    if failed:
        spent[FAILED_BOOTS] = None if end_s is None else end_s - start_s
    else:
        for event, time_s in _apart(timeline, start_s, end_s):
            item = _item(event, f"{session['session_id']}/{event['label']}" in good)
            spent[item] = (spent[item] or 0.0) + time_s
        if end_s is None:
            spent[IDLE] = None
        else:
            spent[IDLE] = max(0.0, end_s - start_s - sum(value or 0.0 for value in spent.values())) + (
                spent[IDLE] or 0.0)  # fmt: skip
    spent[ALL] = None if end_s is None else end_s - start_s
    return dict(spent)


def _apart(timeline: pd.DataFrame, start_s: float, end_s: float | None) -> Iterator[tuple[Mapping[Any, Any], float]]:
    """The events of a session in order, each with its seconds inside the session that no earlier one has taken."""
    taken_s = start_s
    for event in timeline.sort_values(["t_start_s", "t_end_s"], kind="stable").to_dict("records"):
        until_s = event["t_end_s"] if end_s is None else min(event["t_end_s"], end_s)
        yield event, max(0.0, until_s - max(event["t_start_s"], taken_s))
        taken_s = max(taken_s, until_s)


def _item(event: Mapping[Any, Any], good: bool) -> str:
    if event["phase"] == "run":
        return MEASURED if good else FAILED_RUNS
    if event["phase"] == "boot":
        return BOOTS if event["ok"] else FAILED_BOOTS
    return WARMUPS if event["phase"] == "warmup" else IDLE


def _total(spent: Iterable[Mapping[str, float | None]], item: str) -> float | None:
    """Sum over sessions; None where one of them is not known."""
    values = [one[item] for one in spent if item in one]
    return None if None in values else sum(value for value in values if value is not None)


def _group(
    arm: str | None, sessions: pd.DataFrame, spent: Mapping[str, Mapping[str, float | None]], tokens: int,
    whole_s: float | None, usd_per_hour: float | None,
) -> list[dict[str, Any]]:  # fmt: skip
    mine = {session: spent[session] for session in sessions["session_id"]}
    rows = []
    for item in (*ITEMS, ALL):
        time_s = _total(mine.values(), item)
        usd = price.usd(usd_per_hour, time_s) if usd_per_hour is not None and time_s is not None else None
        rows.append({
            "item": item,
            "arm": arm,
            "sessions": sum(1 for one in mine.values() if one.get(item, 0.0) != 0.0),
            "time_s": time_s,
            "share": price.share(time_s, whole_s) if time_s is not None and whole_s else None,
            "usd": usd,
            "tokens": tokens if item in (MEASURED, ALL) else None,
            "usd_per_mtok": price.MTOK * usd / tokens if item == ALL and usd is not None and tokens else None,
            "note": _unknown(item, mine) or (_between(sessions) if item == ALL and arm is None else _HOLDS.get(item)),
        })
    return rows


def _unknown(item: str, spent: Mapping[str, Mapping[str, float | None]]) -> str | None:
    """Why the time of an item is not known; None where it is."""
    ids = [session for session, one in spent.items() if item in one and one[item] is None]
    if not ids:
        return None
    return f"the end of session {', '.join(ids)} was not recorded; take its time from the provider's bill"


def _between(sessions: pd.DataFrame) -> str | None:
    """How long no session ran from the first launch to the last end; None where one followed the other at once."""
    starts, ends = sessions["t_launch_s"], sessions["t_launch_s"] + sessions["wall_s"]
    between_s = float(ends.max() - starts.min() - sessions["wall_s"].sum())
    if between_s <= 0:
        return None
    return f"without {between_s:.0f} s between sessions: whether the node was held then is not recorded"
