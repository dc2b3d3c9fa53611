"""The fixed cost of an arm's decode step, with what must be refused (method.md 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.claims.steps import ALL
from benchbook.statistics import step_models
from benchbook.statistics.intervals import Interval, t_interval
from benchbook.statistics.step_models import FLAT, HINGE, LINE, Bounds, Choice, Fit

STEP, OVER_FLOOR, TPOT = "step", "over floor", "tpot"
_AXES = {STEP: ("sequences_per_rank", "step_ms"), OVER_FLOOR: ("sequences_per_rank", "over_floor_ms"),
         TPOT: ("tpot_sequences_per_rank", "tpot_step_ms")}  # fmt: skip
_WHOLE = {STEP: "step_ms", OVER_FLOOR: "step_ms", TPOT: "tpot_step_ms"}
RESPONSES = tuple(_AXES)
MODELS = (FLAT, LINE, HINGE)
LEVELS_ASKED, REPEATS_ASKED = 6, 3
LEVELS_MIN, DF_MIN = 3, 2
SESSIONS_MIN = 3
REACH = 2.0  # a fit is carried on to twice the largest n it was made from, no further
TOKENS_VARY = 0.02
RESIDUAL_MAX = 0.03  # where repeats cannot show what they differ by: three times the method's prior for them


@dataclass(frozen=True)
class Points:
    """The runs that one fit is made from, `others` of another regime or without a steady window left out."""

    used: pd.DataFrame
    others: pd.DataFrame
    response: str
    choice: Choice | None = field(default=None, compare=False)

    @property
    def levels(self) -> int:
        return int(self.used["concurrency"].nunique())

    @property
    def n_max(self) -> float:
        return float(self.used[_AXES[self.response][0]].max())

    def without(self, concurrency: int) -> Points:
        """The same fitted once more with one concurrency left out."""
        return _fitted(self.used[self.used["concurrency"] != concurrency], self.others, self.response)


def points(steps: pd.DataFrame, floor: pd.DataFrame, arm: str, response: str) -> Points:
    """An arm's points and the models fitted to them; `response`: one of RESPONSES.

    A step of 0 is no measurement and weighs without end: no point. Runs of another regime are left out, as the fit
    is about the others. Where they lie among the others it is refused.
    """
    mine = steps[steps["arm"] == arm].merge(floor[["arm", "concurrency", "floor_ms"]], how="left")
    mine["over_floor_ms"] = mine["step_ms"] - mine["floor_ms"]
    mine = mine[mine[list(_AXES[response])].notna().all(axis=1) & (mine[_WHOLE[response]] > 0)]
    here = mine["regime"].isna()
    return _fitted(mine[here], mine[~here], response)


def _fitted(used: pd.DataFrame, others: pd.DataFrame, response: str) -> Points:
    n, t, level, step = (used[name].to_numpy(float) for name in (*_AXES[response], "concurrency", "step_ms"))
    whole = step if response == OVER_FLOOR else None
    return Points(used, others, response, step_models.choose(n, t, level.tolist(), whole))


def table(steps: pd.DataFrame, floor: pd.DataFrame, booking: Mapping[str, Any]) -> pd.DataFrame:
    """Table `fixed_cost`: flat, line and hinge for each arm and response that has a point; at most one is chosen.

    The points are runs, and a boot moves the whole curve: from SESSIONS_MIN boots the intervals of fixed cost, slope
    and asymptote are no narrower than by t over boots. Shares and half-point are ratios, which a boot does not move.

    A mixture of experts reads more weights the more sequences it has, until it reads all: its step is no line, and the
    fit of the step itself is refused. What the step takes over its byte floor may still be one.
    """
    rows = []
    for arm in booking["arms"]:
        for response in RESPONSES:
            found = points(steps, floor, arm["name"], response)
            if len(found.used) + len(found.others):
                rows += [_row(found, arm["name"], response, model) for model in MODELS]
    return schema.check(pd.DataFrame(rows), "fixed_cost") if rows else schema.empty("fixed_cost")


def _row(found: Points, arm: str, response: str, model: str) -> dict[str, Any]:
    fit = found.choice.fits.get(model) if found.choice else None
    alone = _each_boot(found, fit) if fit is not None else None
    df = len(found.used) - 1 - MODELS.index(model)
    row: dict[str, Any] = dict.fromkeys(schema.TABLES["fixed_cost"])
    row |= {
        "arm": arm, "response": response, "model": model,
        "chosen": found.choice is not None and found.choice.chosen == model,
        "points": len(found.used), "levels": found.levels, "df": df if df >= 0 else None,
        "run_ids": " ".join(found.used["run_id"]),
    }  # fmt: skip
    lack = step_models.lack_of_fit(fit, found.used["concurrency"].tolist()) if fit else None
    row |= {"p_lack_of_fit": lack, "refused": _refused(found, fit, lack), "note": _note(found, fit, alone)}
    if fit is None or alone is None:
        return row
    ranks, a = int(found.used["ranks"].iloc[0]), float(found.used["tokens_per_step"].mean())
    fixed_bounds, slope_bounds = _over_boots(fit, alone)
    row |= {
        "sessions": len(alone),
        "t_fixed_ms": fit.t_fixed,
        **_bounds("t_fixed", "_ms", fixed_bounds),
        "slope_ms": None if model == FLAT else fit.slope,
        **_bounds("slope", "_ms", slope_bounds),
        "hinge": fit.hinge if model == HINGE else None,
        "residual_pct": 100 * fit.sigma,
        "p_better_than_line": found.choice.p_hinge if found.choice and model == HINGE else None,
    }
    if found.response == OVER_FLOOR:
        return row
    return row | {
        "half_point": fit.half_point,
        **_bounds("half_point", "", fit.half_point_interval),
        "asymptote_tok_s": fit.asymptote(ranks, a),
        **_bounds("asymptote", "_tok_s", step_models.asymptote_between(slope_bounds, ranks, a)),
    }


def _each_boot(found: Points, fit: Fit) -> np.ndarray:
    """t_fixed and slope of the same model in every session that can be fitted alone."""
    named = (*_AXES[found.response], _WHOLE[found.response])
    n, t, whole = (found.used[name].to_numpy(float) for name in named)
    return step_models.by_group(fit, n, t, found.used["session_id"].tolist(), whole)


def _over_boots(fit: Fit, each: np.ndarray) -> tuple[Bounds, Bounds | None]:
    """Intervals of fixed cost and slope: those of the fit, or by t over the boots' own fits where that is wider."""
    if len(each) < SESSIONS_MIN:
        return fit.t_fixed_interval, fit.slope_interval
    wide = [_widened(own, value, t_interval(boots)) for own, value, boots in
            zip((fit.t_fixed_interval, fit.slope_interval), (fit.t_fixed, fit.slope), each.T, strict=True)]
    assert wide[0] is not None
    return wide[0], wide[1]


def _widened(own: Bounds | None, value: float, boots: Interval | None) -> Bounds | None:
    """`own`, or as wide as `boots` around the fitted value."""
    if own is None or boots is None:
        return own
    half = (boots.high - boots.low) / 2
    return min(own[0], value - half), max(own[1], value + half)


def _bounds(name: str, unit: str, bounds: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = bounds or (None, None)
    return {f"{name}_low{unit}": low, f"{name}_high{unit}": high}


def _refused(found: Points, fit: Fit | None, lack: float | None) -> str | None:
    """Every reason against quoting the fit, and what to do about each."""
    why = []
    if among := _among(found):
        why.append(f"{among}: take those concurrencies out of the booking or the cause away, and measure again")
    if found.levels < LEVELS_MIN:
        left = f", with others left out ({_told(found.others)})," if _apart(found) else ""
        why.append(f"{_count(found.levels, 'concurrency', 'concurrencies')}{left} cannot show how the step grows: "
                   f"measure {LEVELS_ASKED} of one regime, the largest at least eight times the smallest")  # fmt: skip
    if fit is None:
        why.append("this model cannot be fitted to these points: measure more concurrencies, or repeats of them")
        return _sentence(why)
    if fit.df < DF_MIN:
        why.append(f"{fit.df} degree of freedom is left, and an interval takes {DF_MIN}: measure repeats of each "
                   "concurrency")  # fmt: skip
    misfit = lack < step_models.ALPHA if lack is not None else fit.sigma > RESIDUAL_MAX
    if misfit and lack is not None:
        why.append(f"the points leave the {fit.model} by more than repeats differ (p {lack:.2g}): measure "
                   "concurrencies between those to see the shape")  # fmt: skip
    elif misfit:
        why.append(f"the points lie {100 * fit.sigma:.0f} % off the {fit.model}, more than repeats are known to "
                   "differ: measure repeats and more concurrencies to see the shape")  # fmt: skip
    if not misfit and (bounds := fit.slope_interval) is not None:
        if bounds[0] <= 0 <= bounds[1]:
            why.append("the slope's interval includes 0, so no growth is shown: quote flat, or measure larger "
                       "concurrencies")  # fmt: skip
        elif bounds[1] < 0:
            why.append("the step falls as sequences are added, which no fixed cost explains: look at the runs' tags "
                       "and measure again")  # fmt: skip
    if fit.t_fixed <= 0:
        why.append("the fixed cost comes out below 0: measure smaller concurrencies")
    accepted = found.used.groupby("concurrency")["tokens_per_step"].mean()
    if accepted.max() - accepted.min() > TOKENS_VARY:
        why.append(f"tokens per step change with concurrency, from {accepted.min():.2f} to {accepted.max():.2f}: "
                   "measure without speculation")  # fmt: skip
    return _sentence(why)


def _among(found: Points) -> str | None:
    """Runs of another regime at no larger a concurrency than some that are fitted: then these are not of one either."""
    largest = found.used["concurrency"].max() if len(found.used) else None
    inside = found.others if largest is None else found.others[found.others["concurrency"] <= largest]
    return _told(inside) if len(inside) else None


def _apart(found: Points) -> bool:
    """Whether the runs of another regime lie beyond those that are fitted."""
    return len(found.others) > 0 and not _among(found)


def _told(others: pd.DataFrame) -> str:
    """Which concurrencies are of another regime, and why the first of each is."""
    first = others.drop_duplicates("concurrency").sort_values("concurrency")
    return "; ".join(
        f"at concurrency {c} {why}" for c, why in zip(first["concurrency"], first["regime"], strict=True)
    )


def _note(found: Points, fit: Fit | None, alone: np.ndarray | None) -> str | None:
    used, notes = found.used, []
    if 0 < found.levels < LEVELS_ASKED:
        notes.append(f"{_count(found.levels, 'concurrency', 'concurrencies')} of the {LEVELS_ASKED} that a fit should "
                     "have")  # fmt: skip
    if len(used):
        repeats = int(used.groupby("concurrency").size().min())
        if repeats < REPEATS_ASKED:
            unseen = ", so lack of fit cannot be seen" if used["concurrency"].is_unique else ""
            notes.append(f"as few as {_count(repeats, 'run', 'runs')} a concurrency where {REPEATS_ASKED} are asked "
                         f"for{unseen}")  # fmt: skip
        sessions = used["session_id"].nunique()
        if sessions == 1:
            notes.append("all runs are of one session, so no spread between boots is in the intervals")
        elif alone is not None and len(alone) < SESSIONS_MIN <= sessions:
            notes.append(f"{len(alone)} of {sessions} sessions can be fitted alone, and {SESSIONS_MIN} must be for the "
                         "spread between boots to be in the intervals: measure every concurrency in each "
                         "session")  # fmt: skip
        if found.response != TPOT and (used["step_from"] == ALL).any():
            notes.append("the step is the median of all ITLs where too few are known to be free of prefill")
    if _apart(found) and found.levels >= LEVELS_MIN:
        notes.append(f"left out: {_told(found.others)}")
    half = fit.half_point if fit is not None and found.response != OVER_FLOOR else None
    if half is not None and half > REACH * found.n_max:
        notes.append(f"the half-point lies beyond twice the largest measured {found.n_max:.0f} sequences a rank: it "
                     "and the asymptote are extrapolated")  # fmt: skip
    if fit is not None and fit.t_fixed_interval[0] <= 0 < fit.t_fixed:
        notes.append("the fixed cost's interval includes 0")
    return _sentence(notes)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _sentence(parts: list[str]) -> str | None:
    text = ". ".join(part[0].upper() + part[1:] for part in parts)
    return f"{text}." if text else None
