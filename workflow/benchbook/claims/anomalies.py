"""What is odd in the runs of a booking, one row each, with the points that show it (method.md 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.claims import evidence
from benchbook.claims.usable import counted, usable
from benchbook.columns.metrics import METRICS

RISE_MAX = 1.2
SPREAD_MIN, MADS, MAD_TO_SIGMA = 0.03, 3.5, 1.4826
REPEATS_MIN = 3
REPEATED = ("throughput_tok_s", "tpot_mean_ms")
TTFT = "ttft_mean_ms"


@dataclass(frozen=True)
class Anomaly:
    """One row of table `anomalies` (without its id) and its points."""

    kind: str
    arm: str
    concurrency: int
    run_id: str | None
    metric: str
    found: str
    consequence: str
    points: pd.DataFrame
    voids: str = ""
    size: float | None = None
    size_unit: str = ""

    @property
    def anomaly_id(self) -> str:
        place = self.run_id if self.run_id is not None else f"{self.arm}/c{self.concurrency}"
        ending = f"/{self.metric}" if self.kind == "outlier repeat" else ""
        return f"{self.kind.replace(' ', '-')}/{place}{ending}"


def needed(runs: pd.DataFrame) -> set[str]:
    """Ids of the runs whose requests `tables` looks at: those with two groups of TTFT or a stall."""
    odd = runs["ttft_bimodal"].fillna(False).astype(bool) | (runs["stalls"].fillna(0) > 0)
    return set(runs.loc[odd, "run_id"])


def tables(
    runs: pd.DataFrame, requests: pd.DataFrame, telemetry: pd.DataFrame, booking: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `anomalies` and `evidence`. `requests`: at least those of the runs that `needed` names; where a run has no
    rows in it (a result without single requests), what its row of table `runs` says is told without points."""
    mine, good = counted(runs, booking["clients"]), usable(runs, booking["clients"])
    mine = mine.sort_values("t_start_s", kind="stable")
    by_run = dict(list(requests.groupby("run_id", sort=False)))
    none = requests.iloc[:0]
    found: list[Anomaly] = []
    for run in mine.to_dict("records"):
        of_run = by_run.get(run["run_id"], none)
        if pd.notna(run["ttft_bimodal"]) and run["ttft_bimodal"]:
            found.append(_bimodal(run, of_run))
        if pd.notna(run["stalls"]) and run["stalls"] > 0:
            found.append(_stall(run, of_run))
    for arm in booking["arms"]:
        of_arm = good[good["arm"] == arm["name"]]
        found += _monotonicity(arm["name"], of_arm)
        found += _outliers(arm["name"], of_arm)
        found += _throttling(arm["name"], telemetry[telemetry["run_id"].isin(mine["run_id"])
                                                    & (telemetry["arm"] == arm["name"])])  # fmt: skip
    return _as_tables(found)


def _as_tables(found: list[Anomaly]) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = ("anomaly_id", *(name for name in schema.TABLES["anomalies"] if name != "anomaly_id"))
    rows = [{name: getattr(one, name) for name in names} for one in found]
    points = [evidence.thinned(one.points).assign(anomaly_id=one.anomaly_id) for one in found]
    return (
        schema.check(pd.DataFrame(rows), "anomalies") if rows else schema.empty("anomalies"),
        schema.concat(points, "evidence"),
    )


def _bimodal(run: Mapping[Any, Any], requests: pd.DataFrame) -> Anomaly:
    points, modes = evidence.two_groups(run, requests)
    share, ratio = run["ttft_slow_share"], run["ttft_mode_ratio"]
    middles = f": {_ms(modes.fast)} and {_ms(modes.slow)}" if modes is not None else ""
    holds = f"holds {100 * share:.0f} % of the requests after the first wave" if pd.notna(share) else ""
    takes = f"takes {ratio:.1f} times as long" if pd.notna(ratio) else ""
    of_slow = " and ".join(filter(None, (holds, takes)))
    return Anomaly(
        "bimodal", run["arm"], int(run["concurrency"]), run["run_id"], TTFT,
        f"TTFT falls into two groups{middles}{f'; the slow one {of_slow}' if of_slow else ''}.",
        "Claim no mean or percentile of TTFT here, as it is of neither group, while TPOT stands; find what the slow "
        "requests waited for, then measure again.",
        points,
        voids=",".join(name for name, metric in METRICS.items() if "BIMODAL" in metric.voided_by),
        size=float(ratio) if pd.notna(ratio) else None,
    )  # fmt: skip


def _stall(run: Mapping[Any, Any], requests: pd.DataFrame) -> Anomaly:
    count, longest_s, details = int(run["stalls"]), None, ""
    points = evidence.standing_still(run, requests) if len(requests) else evidence.points(evidence.TTFT, [], [])
    marked = points[points["marked"].astype(bool)].sort_values("y", ascending=False, kind="stable").to_dict("records")
    if marked:
        worst = marked[0]
        longest_s = float(worst["y"]) / 1000
        middle_ms = float(points.loc[points["series"] == worst["series"], "y"].median())
        details = (f"; the longest {worst['series'].removeprefix('longest ')} was {longest_s:.2f} s against a median "
                   f"of {_ms(middle_ms)}, in a request sent {worst['x']:.1f} s after the run's start")  # fmt: skip
    completed = int(run["completed"]) if pd.notna(run["completed"]) else len(requests)
    who = f"{count} of {completed} requests" if completed else f"{count} {'request' if count == 1 else 'requests'}"
    return Anomaly(
        "stall", run["arm"], int(run["concurrency"]), run["run_id"],
        TTFT if marked and worst["series"] == evidence.TTFT else "tpot_mean_ms",
        f"{who} stood still{details}.",
        "Claim no difference that rests on this run, as its throughput and latencies hold the standstill; look at the "
        "server's log at that time, remove the cause and measure again.",
        points,
        size=longest_s, size_unit="s" if longest_s is not None else "",
    )  # fmt: skip


def _monotonicity(arm: str, runs: pd.DataFrame) -> Iterator[Anomaly]:
    timed = runs[runs[TTFT].gt(0) & runs[TTFT].lt(np.inf)]
    means = timed.groupby(["concurrency", "session_id"])[TTFT].mean().groupby("concurrency").mean()
    for low, high in zip(means.index[:-1], means.index[1:], strict=True):
        ratio = float(means[low] / means[high])
        if ratio > RISE_MAX:
            yield Anomaly(
                "monotonicity", arm, int(low), None, TTFT,
                f"Mean TTFT is {_ms(means[low])} at concurrency {low} and {_ms(means[high])} at {high}: {ratio:.2f} "
                "times as long under the lighter load.",
                f"Claim no TTFT at concurrency {low} until this is explained, as more load cannot shorten it; look for "
                "a stall or two groups in its runs, then measure it again.",
                evidence.against_concurrency(timed, means, TTFT, int(low)),
                size=ratio,
            )  # fmt: skip


def _outliers(arm: str, runs: pd.DataFrame) -> Iterator[Anomaly]:
    """Within a boot: one boot off the others is their spread, and no repeat of it is odd."""
    in_turn = runs.sort_values("t_start_s", kind="stable")
    for (concurrency, _), group in in_turn.groupby(["concurrency", "session_id"], sort=True):
        for metric in REPEATED:
            known = group[group[metric].gt(0) & group[metric].lt(np.inf)]
            values = known[metric].to_numpy(float)
            if len(values) < REPEATS_MIN:
                continue
            logs = np.log(values)
            middle = float(np.median(logs))
            reach = max(SPREAD_MIN, MADS * MAD_TO_SIGMA * float(np.median(np.abs(logs - middle))))
            for index in np.flatnonzero(np.abs(logs - middle) > reach):
                yield _outlier(arm, int(str(concurrency)), known["run_id"].iloc[index], metric, values, middle, reach,
                               int(index))  # fmt: skip


def _outlier(
    arm: str, concurrency: int, run_id: str, metric: str, values: np.ndarray, middle: float, reach: float, index: int
) -> Anomaly:
    median, label, unit = float(np.exp(middle)), METRICS[metric].label, METRICS[metric].unit
    deviation_pct = 100 * float(values[index] / median - 1)
    limit_pct = 100 * abs(float(np.expm1(np.copysign(reach, deviation_pct))))
    return Anomaly(
        "outlier repeat", arm, concurrency, run_id, metric,
        f"Its {label} of {_number(float(values[index]))} {unit} lies {abs(deviation_pct):.1f} % "
        f"{'above' if deviation_pct > 0 else 'below'} the median of its boot's {len(values)} repeats, "
        f"{_number(median)} {unit}; their spread reaches {limit_pct:.1f} %.",
        "Claim no mean that hides it: measure this repeat once more, keep both, and report the spread.",
        evidence.repeats(values, median, reach, index),
        size=deviation_pct, size_unit="%",
    )  # fmt: skip


def _throttling(arm: str, telemetry: pd.DataFrame) -> Iterator[Anomaly]:
    for concurrency, group in telemetry.groupby("concurrency"):
        held = group[group["gpu_throttled"].notna()]
        if held.empty:
            continue
        worst = held.sort_values("gpu_throttled_share", ascending=False, kind="stable").to_dict("records")[0]
        share = worst["gpu_throttled_share"]
        yield Anomaly(
            "throttling", arm, int(str(concurrency)), held["run_id"].item() if len(held) == 1 else None,
            "throughput_tok_s",
            f"The GPUs were held back in {len(held)} of {len(group)} runs, most in {worst['run_id']}: "
            f"{worst['gpu_throttled']}.",
            "Claim no difference between arms here that clocks or power could make; lock the clocks, raise the limit "
            "or cool the node, then measure again.",
            evidence.throttling(telemetry, held["run_id"]),
            size=float(share) if pd.notna(share) else None,
        )  # fmt: skip


def _ms(value: float) -> str:
    return f"{_number(value)} ms"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
