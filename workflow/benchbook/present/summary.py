"""Counts and sums for the first chapter, as a small table so that each of them has an address too."""

from __future__ import annotations

import pandas as pd

from benchbook.present.levels import LEVELS

COLUMNS = ("key", "value", "unit")
NO_WALL = "the wall time of a session was not recorded"

WHY = {
    "wall_s": NO_WALL,
    "run_share": NO_WALL,
    "gap_max_s": "fewer than two runs or readings in every session",
    "cost_usd": "the node's description gives no price, or a wall time was not recorded",
    "price_usd_per_hour": "the node's description gives no price",
    "failures_cost_s": "the time that a failure took was not recorded",
}
CLAIMS = ("claims", "values")
RUN_STATES = ("ok", "incomplete", "failed", "missing")
SESSION_STATES = ("complete", "failed", "set-aside")


def _strict_sum(values: pd.Series) -> float | None:
    """The sum, or None as soon as one addend is missing or there is none."""
    return None if values.empty or values.isna().any() else float(values.sum())


def build(
    runs: pd.DataFrame, sessions: pd.DataFrame, failures: pd.DataFrame, price_usd_per_hour: float | None = None
) -> pd.DataFrame:
    """The summary table (key, value, unit); `WHY` says why a value is missing.

    Counts have unit "", times "s", `run_share` "share", money "USD". A wall time that is missing makes the total and
    the cost missing, not smaller. `runs_s` adds nothing for a session that ran none.
    """
    wall = _strict_sum(sessions["wall_s"])
    in_runs = float(sessions["runs_s"].fillna(0.0).sum())
    gaps = sessions["gap_max_s"].dropna()
    tagged = (runs["tags"] != "") & (runs["status"] == "ok")
    unexpected_runs = (runs["status"] != "ok") & ~runs["expected_failure"]
    unexpected_sessions = (sessions["status"] == "failed") & ~sessions["expected_failure"]
    rows: list[tuple[str, float | None, str]] = [
        ("arms", float(sessions["arm"].nunique()), ""),
        ("sessions", float(len(sessions)), ""),
        *((f"sessions_{state.replace('-', '_')}", float((sessions["status"] == state).sum()), "")
          for state in SESSION_STATES),
        ("sessions_unexpected", float(unexpected_sessions.sum()), ""),
        ("runs", float(len(runs)), ""),
        *((f"runs_{state}", float((runs["status"] == state).sum()), "") for state in RUN_STATES),
        ("runs_not_ok", float((runs["status"] != "ok").sum()), ""),
        ("runs_unexpected", float(unexpected_runs.sum()), ""),
        ("runs_tagged", float(tagged.sum()), ""),
        ("little_refused", float((runs["little"] == "refused").fillna(False).sum()), ""),
        ("little_warn", float((runs["little"] == "warn").fillna(False).sum()), ""),
        ("failures", float(len(failures)), ""),
        ("failures_expected", float(failures["expected"].sum()), ""),
        ("failures_cost_s", 0.0 if failures.empty else _strict_sum(failures["cost_s"]), "s"),
        ("wall_s", wall, "s"),
        ("runs_s", in_runs, "s"),
        ("run_share", in_runs / wall if wall else None, "share"),
        ("gap_max_s", None if gaps.empty else float(gaps.max()), "s"),
        ("price_usd_per_hour", price_usd_per_hour, "USD/h"),
        ("cost_usd", None if wall is None or price_usd_per_hour is None else wall / 3600 * price_usd_per_hour, "USD"),
    ]
    return _table(rows)


def claims(verdicts: pd.DataFrame) -> pd.DataFrame:
    """How many verdicts there are, in the form of the summary table: `claims` and `values` (single values, which no
    comparison is made of), and of both those of each level, e.g. `claims_within_noise`."""
    single = verdicts["kind"] == "value"
    rows: list[tuple[str, float | None, str]] = []
    for name, of in zip(CLAIMS, (verdicts[~single], verdicts[single]), strict=True):
        rows.append((name, float(len(of)), ""))
        rows += [(f"{name}_{level.key}", float((of["level"] == level.name).sum()), "") for level in LEVELS]
    return _table(rows)


def _table(rows: list[tuple[str, float | None, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"key": "string", "value": "Float64", "unit": "string"})
