"""The points that show an anomaly: what a figure draws, no more of it than a reader can see (method.md 8).

Every function gives columns series, x, y and marked; `thinned` holds an anomaly to POINTS_MAX rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchbook.derive import bimodal, stalls
from benchbook.derive.answered import answered

POINTS_MAX = 400
FAST, SLOW, FIRST_WAVE = "fast group", "slow group", "first wave, not judged"
TTFT, GAP = "TTFT", "longest time between two chunks"
RUN, MEAN, MEDIAN, LIMIT = "run", "mean over sessions", "median", "limit"
SIGNS = {"gpu_throttled_share": "samples throttled", "gpu_sm_clock_share": "SM clock over its highest",
         "gpu_power_share": "power over its limit"}  # fmt: skip
_COLUMNS = ["series", "x", "y", "marked"]


def points(series: str, x: Any, y: Any, marked: Any = False) -> pd.DataFrame:
    """Points of one series; `marked` is one value or one a point. Points without a value are left out."""
    frame = pd.DataFrame({"x": np.asarray(x, float), "y": np.asarray(y, float)}).assign(series=series, marked=marked)
    return frame.dropna()[_COLUMNS]


def two_groups(run: Mapping[Any, Any], requests: pd.DataFrame) -> tuple[pd.DataFrame, bimodal.Modes | None]:
    """TTFT (ms) of a run's ok requests against their send (s since the run's start), in the groups of rule G, and those
    groups. A request belongs to the group whose middle is nearer in ln TTFT; those of the first wave are not judged."""
    good = _sent(requests).dropna(subset=["ttft_ms"])
    first, later = good.iloc[: int(run["concurrency"])], good.iloc[int(run["concurrency"]) :]
    modes = bimodal.modes(later["ttft_ms"].to_numpy(float))
    if modes is None:
        return points(TTFT, [], []), None
    slow = (later["ttft_ms"] > np.sqrt(modes.fast * modes.slow)).to_numpy()
    since_s = later["t_send_s"].to_numpy(float) - float(run["t_start_s"])
    ttft_ms = later["ttft_ms"].to_numpy(float)
    return pd.concat([
        points(FAST, since_s[~slow], ttft_ms[~slow]),
        points(SLOW, since_s[slow], ttft_ms[slow], True),
        points(FIRST_WAVE, first["t_send_s"].to_numpy(float) - float(run["t_start_s"]), first["ttft_ms"]),
    ], ignore_index=True), modes  # fmt: skip


def standing_still(run: Mapping[Any, Any], requests: pd.DataFrame) -> pd.DataFrame:
    """TTFT and longest time between two chunks (ms) of a run's ok requests against their send (s since its start); what
    makes a request a stalled one is marked."""
    good = _sent(requests)
    since_s = good["t_send_s"].to_numpy(float) - float(run["t_start_s"])
    ttft_ms = good["ttft_ms"].to_numpy(float)
    gap_ms = np.where(good["itl_ms"].map(len).to_numpy(int) > 0, stalls.longest_gap_ms(good), np.nan)
    return pd.concat([points(TTFT, since_s, ttft_ms, stalls.late(ttft_ms)),
                      points(GAP, since_s, gap_ms, gap_ms > stalls.LONG_MS)], ignore_index=True)  # fmt: skip


def against_concurrency(runs: pd.DataFrame, means: pd.Series, metric: str, flagged: int) -> pd.DataFrame:
    """`metric` of one arm's runs and its `means` by concurrency, those at the flagged concurrency marked."""
    return pd.concat([
        points(RUN, runs["concurrency"], runs[metric], (runs["concurrency"] == flagged).to_numpy(bool)),
        points(MEAN, means.index, means, np.asarray(means.index == flagged)),
    ], ignore_index=True)  # fmt: skip


def repeats(values: np.ndarray, median: float, reach: float, outlier: int) -> pd.DataFrame:
    """Repeats in the order of time, counted from 1, with their median and the limits exp(+-reach) around it; the
    outlier, by its index, is marked."""
    ends, order = [1, len(values)], np.arange(1, len(values) + 1)
    return pd.concat([
        points(RUN, order, values, order == outlier + 1),
        points(MEDIAN, ends, [median, median]),
        points(f"lower {LIMIT}", ends, [median * np.exp(-reach)] * 2),
        points(f"upper {LIMIT}", ends, [median * np.exp(reach)] * 2),
    ], ignore_index=True)  # fmt: skip


def throttling(telemetry: pd.DataFrame, flagged: pd.Series) -> pd.DataFrame:
    """The signs of throttling (shares) of one arm's runs against concurrency; those of the `flagged` runs are marked,
    every sign of them, as any may be the one."""
    marked = telemetry["run_id"].isin(flagged).to_numpy(bool)
    return pd.concat([points(name, telemetry["concurrency"], telemetry[column], marked)
                      for column, name in SIGNS.items()], ignore_index=True)  # fmt: skip


def thinned(frame: pd.DataFrame, most: int = POINTS_MAX) -> pd.DataFrame:
    """At most `most` points: of each series the lowest, the highest, the first and the last stay, of each kind marked
    and not; of the others evenly many over x, the marked ones first, up to half of the room."""
    if len(frame) <= most:
        return frame
    ordered = frame.sort_values("x", kind="stable").reset_index(drop=True)
    kept: set[int] = set()
    for _, mine in ordered.groupby(["series", "marked"], sort=True):
        heights, places = mine["y"].to_numpy(float), mine.index.to_numpy()
        kept |= {int(places[at]) for at in (heights.argmin(), heights.argmax(), 0, len(places) - 1)}
    rest = ordered.drop(index=sorted(kept))
    marked = rest.index[rest["marked"].astype(bool)].to_numpy()
    others = rest.index[~rest["marked"].astype(bool)].to_numpy()
    room = most - len(kept)
    for_marked = min(len(marked), max(room // 2, room - len(others)))
    kept |= _evenly(marked, for_marked) | _evenly(others, room - for_marked)
    return ordered.loc[sorted(kept)].reset_index(drop=True)


def _evenly(indices: np.ndarray, count: int) -> set[int]:
    if count <= 0 or not len(indices):
        return set()
    return {int(index) for index in indices[np.unique(np.linspace(0, len(indices) - 1, count).round().astype(int))]}


def _sent(requests: pd.DataFrame) -> pd.DataFrame:
    return answered(requests).dropna(subset=["t_send_s"]).sort_values("t_send_s", kind="stable")
