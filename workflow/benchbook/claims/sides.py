"""The usable runs of one arm at one concurrency as ln of a metric, session by session: what is compared and spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Side:
    """`runs`: the rows of table `runs` that have a value. By session, in order of their ids: `logs`, the ln of the
    runs' values; `times_s`, the mean of the runs' starts (Unix s, nan where one is not known); `bookings`, the booking
    of each, empty where the runs are of one."""

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


def side(runs: pd.DataFrame, metric: str) -> Side:
    """`runs`: usable runs of one arm at one concurrency. Those without a value above 0 have no ln and are left out."""
    mine = runs[(runs[metric] > 0).fillna(False).astype(bool)]
    several = "booking" in mine
    logs, times, bookings = [], [], []
    for key, group in mine.groupby(["session_id", "booking"] if several else ["session_id"], sort=True):
        logs.append(np.log(group[metric].to_numpy(float)))
        times.append(group["t_start_s"].to_numpy(float, na_value=np.nan).mean())
        if several:
            bookings.append(str(key[1]))
    return Side(mine, logs, np.array(times), bookings)
