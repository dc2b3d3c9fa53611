"""Which share of the decode step is fixed cost at each concurrency, and whether the fit predicts what it never saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims.fixed_cost import DF_MIN, LEVELS_MIN, OVER_FLOOR, REACH, STEP, Points, points
from benchbook.statistics.step_models import FLAT, LINE, Choice

SLACK = 1.05  # on that reach: concurrencies that double have measured n that double to a few per cent
HELD, FAILED, EXTRAPOLATED, NOT_TRIED = "held", "failed", "extrapolated", "not tried"


def table(
    steps: pd.DataFrame, fixed_cost: pd.DataFrame, floor: pd.DataFrame, booking: Mapping[str, Any]
) -> pd.DataFrame:
    """Table `toll`: a row for each arm and concurrency with a measured step and sequences per rank.

    The share is t_fixed over the fitted step, by the model that table `fixed_cost` chose for the step; where that is
    refused, by the model of what the step takes over its byte floor, if that holds. A concurrency of another regime
    gets none, nor does any where both are refused: their wide intervals would hold whatever comes.
    """
    rows = []
    for arm in booking["arms"]:
        response, refused = _response(fixed_cost[fixed_cost["arm"] == arm["name"]])
        every = points(steps, floor, arm["name"], STEP)
        found = every if response == STEP else points(steps, floor, arm["name"], response)
        mine = pd.concat([every.used, every.others])
        for concurrency in sorted(int(c) for c in mine["concurrency"].unique()):
            runs = mine[mine["concurrency"] == concurrency]
            row, least_ms = _row(found, runs, concurrency, refused), runs["floor_ms"].iloc[0]
            row["floor_ms"] = least_ms
            row["over_floor"] = row["step_ms"] / least_ms if pd.notna(least_ms) else None
            rows.append(row)
    return schema.check(pd.DataFrame(rows), "toll") if rows else schema.empty("toll")


def _response(fits: pd.DataFrame) -> tuple[str, str | None]:
    """Which fit of an arm the shares are taken from, and why they may not be quoted."""
    chosen = {row["response"]: row["refused"] for row in fits[fits["chosen"]].to_dict("records")}
    for response in (STEP, OVER_FLOOR):
        if response in chosen and pd.isna(chosen[response]):
            return response, None
    return STEP, str(chosen.get(STEP, "No model was fitted. Measure more concurrencies."))


def _row(found: Points, runs: pd.DataFrame, concurrency: int, refused: str | None) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(schema.TABLES["toll"])
    step_ms, tpot_ms = float(runs["step_ms"].mean()), runs["tpot_step_ms"].mean()
    n = float(runs["sequences_per_rank"].mean())
    row |= {
        "arm": runs["arm"].iloc[0], "concurrency": concurrency, "sequences_per_rank": n, "step_ms": step_ms,
        "tpot_step_ms": tpot_ms if pd.notna(tpot_ms) else None,
        "prefill_interference_ms": tpot_ms - step_ms if pd.notna(tpot_ms) else None,
        "response": found.response, "prediction": NOT_TRIED, "refused": refused, "run_ids": " ".join(runs["run_id"]),
    }  # fmt: skip
    elsewhere = runs["regime"].dropna()
    if len(elsewhere):
        row["refused"] = f"This concurrency is of another regime than the fit: {elsewhere.iloc[0]}."
        return row
    if refused is not None or found.choice is None:
        return row
    base = float(runs["floor_ms"].mean()) if found.response == OVER_FLOOR else 0.0
    row["fitted_ms"] = found.choice.fit.at(n) + base
    row["toll_share"] = found.choice.fit.fixed_share(n, base)
    row["toll_share_low"], row["toll_share_high"] = _share_interval(found.choice, n, base)
    return row | _prediction(found.without(concurrency), n, step_ms, len(runs), base)


def _share_interval(choice: Choice, n: float, base: float) -> tuple[float | None, float | None]:
    """That of the chosen model. Flat says all of what is fitted and nothing of how far from it; the line says how much
    growth the data leave room for."""
    if choice.chosen != FLAT:
        return choice.fit.fixed_share_interval(n, base)
    line = choice.fits.get(LINE)
    return (line.fixed_share_interval(n, base)[0], choice.fit.fixed_share_interval(n, base)[1] if base else 1.0) \
        if line else (None, None)  # fmt: skip


def _prediction(rest: Points, n: float, step_ms: float, runs: int, base: float) -> dict[str, Any]:
    """The step at `n` by the other concurrencies alone, the model chosen anew from them."""
    if rest.choice is None or rest.levels < LEVELS_MIN or rest.choice.fit.df < DF_MIN:
        return {}
    if n > REACH * SLACK * rest.n_max:
        return {"prediction": EXTRAPOLATED}
    predicted_ms, low, high = rest.choice.fit.predict(n, runs, base)
    return {"predicted_ms": predicted_ms, "predicted_low_ms": low, "predicted_high_ms": high,
            "prediction": HELD if low <= step_ms <= high else FAILED}  # fmt: skip
