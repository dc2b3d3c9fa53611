"""The usable runs of one arm at one concurrency as ln of a metric, session by session: what is compared and spread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from benchbook.columns.metrics import METRICS

_LAUNCHED = "%Y%m%d-%H%M%S"


@dataclass(frozen=True)
class Side:
    """`runs`: the runs that have a value, with their id, session, tags and start. By session, in order of their ids:
    `logs`, the ln of the runs' values; `times_s`, the mean of the runs' known starts, else the launch that the
    session's id names (Unix s, nan where it names none); `bookings`, the booking of each, empty where the runs are of
    one."""

    runs: pd.DataFrame
    logs: list[np.ndarray]
    times_s: np.ndarray
    bookings: list[str]

    @property
    def sessions(self) -> int:
        return len(self.logs)

    @property
    def means(self) -> np.ndarray:
        """Mean of ln over the runs of each session: the replicates of an arm (method.md 4)."""
        return np.array([logs.mean() for logs in self.logs])

    @property
    def value(self) -> float | None:
        """Geometric mean over sessions of their runs' geometric means, in the metric's unit."""
        return float(np.exp(self.means.mean())) if self.logs else None

    @property
    def repeats_share(self) -> float:
        """Mean over sessions of 1 / runs: the repeats' variance that is left in a session mean."""
        return float(np.mean([1 / logs.size for logs in self.logs]))


def of_interest(runs: pd.DataFrame) -> pd.DataFrame:
    """Table `runs` without the columns that no comparison asks for."""
    of_run = ("run_id", "session_id", "booking", "arm", "concurrency", "status", "tags", "t_start_s")
    return runs[[name for name in (*of_run, *METRICS) if name in runs]]


def side(runs: pd.DataFrame, metric: str) -> Side:
    """`runs`: usable runs of one arm at one concurrency. Those without a finite value above 0 have no ln and are left
    out."""
    keys = ["session_id", "booking"] if "booking" in runs else ["session_id"]
    values = runs[metric].to_numpy(float, na_value=np.nan)
    known = np.isfinite(values) & (values > 0)
    mine, values = runs.loc[known, ["run_id", "tags", "t_start_s", *keys]], values[known]
    starts = mine["t_start_s"].to_numpy(float, na_value=np.nan)
    places = mine.groupby(keys, sort=True).indices
    return Side(
        mine, [np.log(values[at]) for at in places.values()],
        np.array([_time_s(starts[at], mine["session_id"].iloc[at[0]]) for at in places.values()], float),
        [str(mine["booking"].iloc[at[0]]) for at in places.values()] if "booking" in mine else [],
    )  # fmt: skip


def _time_s(starts: np.ndarray, session_id: str) -> float:
    known = starts[np.isfinite(starts)]
    if known.size:
        return float(known.mean())
    try:
        return datetime.strptime(session_id, _LAUNCHED).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return float("nan")
