"""Table `comparisons`: arms against each other, and each arm's best concurrency against its lowest (method.md 4).

Work is on y = ln(metric); the mean of a session's runs is one replicate of its arm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.claims import estimators, noise
from benchbook.claims.estimators import Estimate
from benchbook.claims.noise import Noise, Prior
from benchbook.claims.sides import Side, of_interest, side
from benchbook.claims.usable import counted
from benchbook.columns import tag_text
from benchbook.columns.metrics import METRICS
from benchbook.statistics import effects, equivalence, multiplicity, power

DECLARED, EXPLORATORY, SCALE = "declared", "exploratory", "scale"
_SCALED = "throughput_tok_s"
Asked = tuple[str, str, str, int]


@dataclass
class _Comparison:
    row: dict[str, Any]
    estimate: Estimate
    arm: Side
    base: Side


def table(
    runs: pd.DataFrame, booking: Mapping[str, Any], declared: Sequence[Mapping[str, Any]], prior: Prior
) -> pd.DataFrame:
    """One row per arm other than the baseline, metric and concurrency, for what hypotheses name, and per arm for its
    scale; from table `runs`, which may carry a column `booking` where it is of several.

    `booking`: config.claims_facts. `declared`: the hypotheses frozen before measuring; what they name is one family of
    Holm's procedure, all else that is compared between arms a second, and scales a third. A comparison without an
    interval counts in its family as one that was not rejected.
    """
    mine = of_interest(counted(runs, booking["clients"]))
    found = _between_arms(mine, booking, declared, prior) + _scales(mine, booking)
    own = noise.table(runs, booking["clients"], booking["id"], booking["node"]["kind"])
    known = {metric: noise.known(own, prior, metric) for metric in METRICS}
    alpha, margin = booking["comparisons"]["alpha"], booking["comparisons"]["equivalence"]
    for family in (DECLARED, EXPLORATORY, SCALE):
        members = [item for item in found if item.row["family"] == family]
        estimated = [item.estimate.effect for item in members]
        p = [effect.p if effect else math.nan for effect in estimated]
        levels, adjusted = multiplicity.holm_levels(p, alpha), multiplicity.holm(p)
        for item, level, p_holm in zip(members, levels, adjusted, strict=True):
            item.row |= _judged(item.estimate, float(level), float(p_holm), alpha, margin)
            item.row |= _sensitivity(item, known[item.row["metric"]], alpha / len(members))
            item.row["family_size"] = len(members)
    return schema.check(pd.DataFrame([item.row for item in found]), "comparisons") if found else schema.empty(
        "comparisons"
    )


def _between_arms(
    runs: pd.DataFrame, booking: Mapping[str, Any], declared: Sequence[Mapping[str, Any]], prior: Prior
) -> list[_Comparison]:
    frozen = _named(declared)
    served = _named([*declared, *booking["hypotheses"]])
    found = []
    for asked in dict.fromkeys([*_of_booking(booking), *served]):
        arm_name, base_name, metric, concurrency = asked
        here = runs[runs["concurrency"] == concurrency]
        arm_runs, base_runs = here[here["arm"] == arm_name], here[here["arm"] == base_name]
        if arm_runs.empty or base_runs.empty:
            continue
        arm, base = _side(arm_runs, metric), _side(base_runs, metric)
        kind = estimators.kind(arm, base)
        estimate = (
            estimators.between_bookings(arm, base) if kind == estimators.BOOKINGS
            else estimators.between_arms(arm, base, prior.of(metric))
        )  # fmt: skip
        found.append(_Comparison({
            "comparison_id": f"{arm_name}/{base_name}/{metric}/c{concurrency}", "kind": kind, "question": "arms",
            "arm": arm_name, "baseline": base_name, "concurrency": concurrency, "baseline_concurrency": concurrency,
            "family": DECLARED if asked in frozen else EXPLORATORY,
            "hypothesis": " ".join(served.get(asked, [])) or None,
            "balanced": estimators.balanced(arm, base), **_described(metric, arm, base, arm_runs, base_runs, estimate),
        }, estimate, arm, base))  # fmt: skip
    return found


def _scales(runs: pd.DataFrame, booking: Mapping[str, Any]) -> list[_Comparison]:
    """Of each arm, its best concurrency against its lowest, over the sessions that have both."""
    found = []
    for name in (arm["name"] for arm in booking["arms"]):
        mine = runs[runs["arm"] == name]
        values = {c: _side(group, _SCALED).value for c, group in mine.groupby("concurrency", sort=True)}
        levels = {c: value for c, value in values.items() if value is not None}
        low, best = min(levels, default=None), max(levels, key=lambda c: levels[c], default=None)
        if low is None or low == best:
            continue
        ends = [mine[mine["concurrency"] == c] for c in (best, low)]
        both = set.intersection(*(set(_side(end, _SCALED).runs["session_id"]) for end in ends))
        if not both:
            continue
        arm_runs, base_runs = (end[end["session_id"].isin(both)] for end in ends)
        arm, base = _side(arm_runs, _SCALED), _side(base_runs, _SCALED)
        estimate = estimators.within_sessions(arm, base)
        found.append(_Comparison({
            "comparison_id": f"scale/{name}/{_SCALED}/c{low}-c{best}", "kind": estimators.MATCHED, "question": "scale",
            "arm": name, "baseline": name, "concurrency": best, "baseline_concurrency": low, "family": SCALE,
            "hypothesis": None, "balanced": True, **_described(_SCALED, arm, base, arm_runs, base_runs, estimate),
        }, estimate, arm, base))  # fmt: skip
    return found


def _side(runs: pd.DataFrame, metric: str) -> Side:
    return side(runs[runs["status"] == "ok"], metric)


def _of_booking(booking: Mapping[str, Any]) -> list[Asked]:
    said = booking["comparisons"]
    return [
        (arm["name"], said["baseline"], metric, concurrency)
        for arm in booking["arms"] if arm["name"] != said["baseline"]
        for metric in said["metrics"]
        for concurrency in said["concurrency"]
    ]  # fmt: skip


def _named(hypotheses: Sequence[Mapping[str, Any]]) -> dict[Asked, list[str]]:
    """The comparisons that hypotheses name, with the hypotheses' names, each once."""
    named: dict[Asked, list[str]] = {}
    for item in hypotheses:
        for concurrency in item["concurrency"]:
            names = named.setdefault((item["arm"], item["baseline"], item["metric"], concurrency), [])
            if item["name"] not in names:
                names.append(item["name"])
    return named


def _described(
    metric: str, arm: Side, base: Side, arm_runs: pd.DataFrame, base_runs: pd.DataFrame, estimate: Estimate
) -> dict[str, Any]:
    both = pd.concat([arm_runs, base_runs])
    value, baseline, effect = arm.value, base.value, estimate.effect
    difference = effect.estimate if effect else math.log(value / baseline) if value and baseline else None
    return {
        "metric": metric, "unit": METRICS[metric].unit, "value": value, "baseline_value": baseline,
        "sessions": arm.sessions, "baseline_sessions": base.sessions, "runs": len(arm.runs),
        "baseline_runs": len(base.runs), "incomplete_runs": int((both["status"] != "ok").sum()),
        "effect_pct": None if difference is None else _pct(difference),
        "method": estimate.method, "worst_ratio": _worst_ratio(arm, base), "tags": tag_text.union(both["tags"]),
        "run_ids": " ".join([*arm.runs["run_id"], *base.runs["run_id"]]),
    }  # fmt: skip


def _worst_ratio(arm: Side, base: Side) -> float | None:
    """Lowest run of the higher side over the highest run of the lower side."""
    if not (arm.sessions and base.sessions):
        return None
    low, high = sorted((arm, base), key=lambda one: float(one.means.mean()))
    return float(np.exp(min(map(np.min, high.logs)) - max(map(np.max, low.logs))))


def _judged(estimate: Estimate, level: float, p_holm: float, alpha: float, margin: float) -> dict[str, Any]:
    effect = estimate.effect
    row: dict[str, Any] = {"equivalence_margin_pct": 100 * margin}
    if effect is None:
        ends = ("effect_low_pct", "effect_high_pct", "holm_low_pct", "holm_high_pct")
        return row | dict.fromkeys((*ends, "p", "p_holm", "df", "equivalent"))
    single, family = effect.interval(0.95), effect.interval(level)
    return row | {
        "effect_low_pct": _pct(single.low), "effect_high_pct": _pct(single.high),
        "holm_low_pct": _pct(family.low), "holm_high_pct": _pct(family.high),
        "p": effect.p, "p_holm": p_holm, "df": effect.df,
        "equivalent": equivalence.tost(effect, margin) <= alpha,
    }  # fmt: skip


def _sensitivity(item: _Comparison, known: Noise, alpha: float) -> dict[str, Any]:
    """Smallest effect that so many sessions find at the family's first step, where they give an interval at all, and
    the band of no effect.

    Sides of the same sessions share their boot: there only repeats scatter. The fit with time, and an uneven order
    more so, costs what its design says over a plain difference of means. The noise says nothing of how bookings
    scatter, so sides of different bookings get neither. Where the comparison's own boots scatter beyond the noise by
    more than chance (5 %), theirs is taken, also where they give no interval: a prior of 1.5 % says nothing of what
    boots 20 % apart can find.
    """
    arm, base, effect = item.arm, item.base, item.estimate.effect
    if not (arm.sessions and base.sessions) or item.row["kind"] == estimators.BOOKINGS:
        return {"mde_pct": None, "se_pct": None, "band_pct": None, "sigma_from": known.source, "sigma_df": known.df}
    n, m = arm.sessions, base.sessions
    matched = item.row["kind"] == estimators.MATCHED
    if matched:
        known = replace(known, session_sigma=0.0)
    se = _design_error(item, known)
    scatter = effect or (None if matched else effects.welch(arm.means, base.means))
    if scatter and scatter.exceeds(se):
        times = scatter.se / se if se else 1.0
        df = effect.df if effect else None  # of two boots an arm t has one or two, whose quantiles say nothing
        known = Noise(times * known.repeat_sigma, times * known.session_sigma, df, noise.HERE)
        se = scatter.se
    half = power.band(
        known.session_sigma * math.sqrt((1 / n + 1 / m) / 2), known.repeat_sigma, n / arm.repeats_share,
        m / base.repeats_share, df=known.df,
    )  # fmt: skip
    return {
        "mde_pct": _pct(power.mde(1, se, alpha=alpha, paired=True, df=effect.df)) if effect else None,
        "se_pct": 100 * se, "band_pct": 100 * math.sinh(half), "sigma_from": known.source, "sigma_df": known.df,
    }  # fmt: skip


def _design_error(item: _Comparison, known: Noise) -> float:
    """Standard error of the difference in this design, where the noise is as `known`."""
    arm, base, effect = item.arm, item.base, item.estimate.effect
    se = math.hypot(known.standard_error(arm.sessions, arm.repeats_share),
                    known.standard_error(base.sessions, base.repeats_share))  # fmt: skip
    if effect and effect.per_sigma and item.row["kind"] != estimators.MATCHED:
        se *= effect.per_sigma / math.sqrt(1 / arm.sessions + 1 / base.sessions)
    return se


def _pct(difference: float) -> float:
    """From a difference of ln y to percent."""
    return float(100 * np.expm1(difference))
