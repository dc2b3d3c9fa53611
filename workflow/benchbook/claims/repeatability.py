"""Table `repeatability`: the level of every metric at every point, and how far it scatters (method.md 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchbook import schema
from benchbook.claims import noise
from benchbook.claims.noise import Noise, Prior
from benchbook.claims.sides import Side, of_interest, side
from benchbook.claims.usable import counted
from benchbook.columns import tag_text
from benchbook.columns.metrics import METRICS
from benchbook.statistics import power
from benchbook.statistics.intervals import Interval, hierarchical_bootstrap, range_coverage, t_interval
from benchbook.statistics.variance import components

_SCATTER = 0.05


def table(runs: pd.DataFrame, clients: Sequence[str], own: pd.DataFrame, prior: Prior) -> pd.DataFrame:
    """One row per arm, concurrency and metric, from table `runs`; arms in the order of their first session. `own`: the
    booking's table `noise`, `prior`: what was known before.

    The interval is by t on session means of ln y: a server flag acts on the boot, and repeats inside one boot are no
    replicates of it. The range beside it asks for no distribution. Runs that are not ok enter no figure.
    """
    rows: list[dict[str, Any]] = []
    mine = of_interest(counted(runs, clients)).sort_values("session_id", kind="stable")
    known = {metric: noise.known(own, prior, metric) for metric in METRICS}
    for arm, of_arm in mine.groupby("arm", sort=False):
        for concurrency, group in of_arm.groupby("concurrency", sort=True):
            good = group[group["status"] == "ok"]
            for metric in METRICS.values():
                found = side(good, metric.name)
                rows.append({
                    "arm": arm, "concurrency": concurrency, "metric": metric.name, "unit": metric.unit,
                    **_figures(found), **_band(found, known[metric.name]), "tags": tag_text.union(found.runs["tags"]),
                    "run_ids": " ".join(found.runs["run_id"]),
                    "note": _note(found, metric.name, len(good), len(group) - len(good)),
                })  # fmt: skip
    return schema.check(pd.DataFrame(rows), "repeatability") if rows else schema.empty("repeatability")


def _figures(found: Side) -> dict[str, Any]:
    spread = components(found.logs)
    of_sessions = found.sessions != 1
    ranged = np.exp(found.means if of_sessions else found.logs[0])
    return {
        "sessions": found.sessions,
        "runs": len(found.runs),
        "mean": found.value,
        **_ends("ci", t_interval(found.means)),
        "range_low": float(ranged.min()) if ranged.size else None,
        "range_high": float(ranged.max()) if ranged.size else None,
        "range_coverage": range_coverage(ranged.size) if ranged.size > 1 else None,
        "range_of": "sessions" if of_sessions else "runs",
        **_ends("bootstrap", hierarchical_bootstrap(found.logs)),
        "repeat_sigma_pct": _pct(spread.repeat_sigma),
        "repeat_df": spread.repeat_df or None,
        "session_sigma_pct": _pct(spread.session_sigma),
        "session_df": spread.session_df or None,
    }


def _band(found: Side, known: Noise) -> dict[str, Any]:
    """How far one more boot, with as many runs, may read from the mean of these by noise alone.

    Where these boots scatter beyond the noise by more than chance (chi squared at 5 %), their own scatter is taken; of
    two boots t has one degree of freedom, whose quantiles say nothing, so it is taken as known.
    """
    n = found.sessions
    if not n:
        return {"band_pct": None, "sigma_from": None}
    share = found.repeats_share
    own = float(found.means.std(ddof=1)) if n > 1 else 0.0
    if n > 1 and (n - 1) * own**2 > known.standard_error(1, share) ** 2 * stats.chi2.isf(_SCATTER, n - 1):
        known = Noise(0.0, own, None, noise.HERE)
    half = power.band(known.session_sigma * math.sqrt((1 + 1 / n) / 2), known.repeat_sigma, 1 / share, n / share,
                      df=known.df)  # fmt: skip
    return {"band_pct": 100 * math.sinh(half), "sigma_from": known.source}


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    """Both ends, from ln y to the metric's unit."""
    return {
        f"{name}_low": float(np.exp(interval.low)) if interval else None,
        f"{name}_high": float(np.exp(interval.high)) if interval else None,
    }


def _pct(sigma: float | None) -> float | None:
    return None if sigma is None else 100 * sigma


_MISSING = {
    "itl_p50_ms": "chunks were merged or split on their way, or arrived together, so the time between two is not that "
                  "of a decode step: quote TPOT, or have each step sent in a chunk of its own and measure the point "
                  "again",
    "window_throughput_tok_s": "the runs have no steady window: measure more waves",
    "tpot_mean_ms": "no request brought a second token: ask for longer outputs",
}  # fmt: skip


def _note(found: Side, metric: str, good: int, not_ok: int) -> str | None:
    notes = []
    if not found.sessions and not good:
        notes.append("No run ended well here: measure the point again.")
    elif not found.sessions:
        why = _MISSING.get(metric, "see why in the table of runs, and measure the point again")
        notes.append(f"No usable run holds this metric: {why}.")
    elif found.sessions == 1:
        notes.append("One session carries no interval: boot the arm again, three times in all.")
    elif all(logs.size == 1 for logs in found.logs):
        notes.append("One run a session: the spread of sessions holds that of repeats; ask for repeats to part them.")
    if found.sessions and good > len(found.runs):
        notes.append(f"Left out: {good - len(found.runs)} that ended well without a value above 0; see the run index.")
    if not_ok:
        notes.append(f"{not_ok} more did not end well and enter no figure: see the table of failures.")
    return " ".join(notes) or None
