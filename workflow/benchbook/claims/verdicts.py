"""Table `verdicts`: the level of every claim (method.md 10), the sentence for it, and what would lift it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.claims import estimators, noise, remedies, sentences
from benchbook.claims.behind import Behind
from benchbook.claims.fixed_cost import RESPONSES, TPOT
from benchbook.claims.levels import CONFOUNDED, IN_DOUBT, RUNS_MIN, WITHIN_NOISE, Claim, level
from benchbook.claims.reach import sessions_to_find
from benchbook.claims.records import Row, records
from benchbook.claims.usable import counted
from benchbook.columns import tag_text
from benchbook.columns.metrics import metric_of
from benchbook.statistics import power

ABBA_SESSIONS = 2
REGIME = "REGIME"
VOIDED_BY = {"fit": frozenset({REGIME}), "occupancy": frozenset({"TELEM"})}


def table(
    runs: pd.DataFrame,
    comparisons: pd.DataFrame,
    repeatability: pd.DataFrame,
    fixed_cost: pd.DataFrame,
    toll: pd.DataFrame,
    floor: pd.DataFrame,
    occupancy: pd.DataFrame,
    booking: Mapping[str, Any],
) -> pd.DataFrame:
    """Table `verdicts`: comparisons, then values, fits, floors and occupancies, each in the order of its table.

    Behind a value stand the counted runs of its arm and concurrency, behind a fit those of its arm: one of them that
    is not ok refuses the claim, though it gave no point, because what failed may be just what would have differed.
    """
    seen = Behind(counted(runs, booking["clients"]))
    rows = [
        *_comparisons(records(comparisons), seen, booking),
        *_values(records(repeatability), seen, booking),
        *_fits(records(fixed_cost), records(toll), seen, booking),
        *_floors(records(floor), _step_bands(records(repeatability)), seen, booking),
        *_occupancies(records(occupancy), seen, booking),
    ]
    return schema.check(pd.DataFrame(rows), "verdicts") if rows else schema.empty("verdicts")


@dataclass(frozen=True)
class _About:
    """What stands in a verdict's row beside its level."""

    claim_id: str
    kind: str
    arm: str
    run_ids: str
    baseline: str | None = None
    metric: str | None = None
    concurrency: int | None = None
    exploratory: bool | None = None


def _verdict(
    claim: Claim, about: _About, booking: Mapping[str, Any], sentence: Callable[[str, str | None, str | None], str],
    sides: Mapping[str, str] | None = None, to_find: Callable[[], int | None] = lambda: None,
) -> Row:
    found, because = level(claim)
    if found == CONFOUNDED and because and sides:
        because = ", ".join(f"{tag} ({sides[tag]})" if tag in sides else tag for tag in because.split(", "))
    replicate = None
    if found in IN_DOUBT:
        replicate = _replicate(claim, found, booking, to_find() if found == WITHIN_NOISE else None)
    return {
        "claim_id": about.claim_id,
        "kind": about.kind,
        "level": found,
        "because": because,
        "sentence": sentence(found, because, replicate),
        "replicate": replicate,
        "arm": about.arm,
        "baseline": about.baseline,
        "metric": about.metric,
        "concurrency": about.concurrency,
        "exploratory": about.exploratory,
        "tags": (tag_text.joined(_faults(claim)) or None) if found in IN_DOUBT else None,
        "sessions": claim.sessions,
        "sessions_needed": claim.sessions_needed,
        "run_ids": about.run_ids,
    }


def _faults(claim: Claim) -> frozenset[str]:
    """Its tags, and what holds it down as a tag would."""
    others = {"INCOMPLETE": claim.incomplete > 0, "BOOKING": claim.bookings is not None}
    return claim.tags | {fault for fault, there in others.items() if there}


def _replicate(claim: Claim, found: str, booking: Mapping[str, Any], to_find: int | None) -> str | None:
    """Everything that stands between the claim and SOLID, not just what its level names."""
    planned, compared = booking["schedule"]["sessions_per_arm"], claim.kind == "comparison"
    if found == WITHIN_NOISE:
        if not claim.balanced:
            return "boot the arms in turn (schedule.order: ABBA)"
        return f"{remedies.boots(to_find - claim.sessions, to_find, compared)} to find an effect of this size" \
            if to_find else None  # fmt: skip
    steps = []
    if faults := _faults(claim):
        steps.append(remedies.to_do(faults))
    if claim.impossible:
        steps.append("check the client's clock and counts, then measure again")
    have = max(claim.sessions, planned) if claim.incomplete else claim.sessions
    if claim.refused and not claim.sessions:
        return "; ".join(steps) or None
    if have < claim.sessions_needed:
        steps.append(remedies.boots(claim.sessions_needed - have, max(planned, claim.sessions_needed), compared))
    elif claim.runs < RUNS_MIN and not claim.incomplete:
        steps.append(f"run each concurrency more often (repeats: {math.ceil(RUNS_MIN / max(claim.sessions, 1))})")
    return "; ".join(steps) or None


def _comparisons(rows: Iterable[Row], seen: Behind, booking: Mapping[str, Any]) -> Iterable[Row]:
    for row in rows:
        kind = "scale" if row["question"] == "scale" else "comparison"
        lacking = [row[side] for side, value in (("arm", "value"), ("baseline", "baseline_value"))
                   if row[value] is None]  # fmt: skip
        smallest = 100 * booking["comparisons"]["smallest_effect"]
        low, high = row["holm_low_pct"], row["holm_high_pct"]
        claim = Claim(
            kind=kind,
            tags=tag_text.listed(row["tags"]),
            voided_by=metric_of(row["metric"]).voided_by,
            moved_by=metric_of(row["metric"]).moved_by,
            incomplete=row["incomplete_runs"],
            impossible=seen.impossible(row["run_ids"]),
            refused=seen.idle((row["arm"], row["concurrency"]), (row["baseline"], row["baseline_concurrency"]))
            or (f"no run of {' and '.join(sorted(set(lacking)))} gives it; see the run index" if lacking else None),
            bookings=seen.bookings(row["run_ids"]) if row["kind"] == estimators.BOOKINGS else None,
            sessions=min(row["sessions"], row["baseline_sessions"]),
            sessions_needed=_sessions_needed(row, booking),
            runs=min(row["runs"], row["baseline_runs"]),
            effect_pct=row["effect_pct"],
            interval=None if low is None or high is None else (low, high),
            smallest_pct=smallest,
            balanced=bool(row["balanced"]),
            equivalent=bool(row["equivalent"]),
            worst_ratio=row["worst_ratio"],
        )
        about = _About(
            row["comparison_id"], kind, row["arm"], row["run_ids"], metric=row["metric"],
            baseline=row["baseline"] if kind == "comparison" else None,
            concurrency=row["concurrency"] if kind == "comparison" else None,
            exploratory=row["family"] == "exploratory",
        )  # fmt: skip
        say = sentences.scale if kind == "scale" else sentences.comparison
        yield _verdict(
            claim, about, booking, partial(say, row),
            seen.sides(row["run_ids"], "concurrency" if kind == "scale" else "arm"),
            partial(sessions_to_find, row, booking["comparisons"]["alpha"], smallest),
        )  # fmt: skip


def _sessions_needed(row: Row, booking: Mapping[str, Any]) -> int:
    """Boots of each side that SOLID asks: two are enough in ABBA order when the noise known from elsewhere gave an
    interval."""
    least: int = booking["comparisons"]["sessions_min"]
    known = (row["holm_low_pct"] is not None and row["sigma_from"] == noise.REGISTRY
             and (row["sigma_df"] or 0) >= noise.DF_MIN)  # fmt: skip
    return min(least, ABBA_SESSIONS) if known and booking["schedule"]["order"] == "ABBA" else least


def _values(rows: Iterable[Row], seen: Behind, booking: Mapping[str, Any]) -> Iterable[Row]:
    for row in rows:
        claim = Claim(
            kind="value",
            tags=tag_text.listed(row["tags"]),
            voided_by=metric_of(row["metric"]).voided_by,
            incomplete=seen.incomplete(row["arm"], row["concurrency"]),
            impossible=seen.impossible(row["run_ids"]),
            refused=seen.idle((row["arm"], row["concurrency"]))
            or ("no run gives it; see the run index" if row["mean"] is None else None),
            sessions=row["sessions"],
            sessions_needed=booking["comparisons"]["sessions_min"],
            runs=row["runs"],
        )
        about = _About(f"value/{row['arm']}/{row['metric']}/c{row['concurrency']}", "value", row["arm"],
                       row["run_ids"], metric=row["metric"], concurrency=row["concurrency"])  # fmt: skip
        yield _verdict(claim, about, booking, partial(sentences.value, row))


def _fits(
    rows: Sequence[Row], tolls: Sequence[Row], seen: Behind, booking: Mapping[str, Any]
) -> Iterable[Row]:
    """One claim an arm: the fixed cost by the model that was chosen, of the pure decode step where that was fitted, of
    what it takes over its byte floor where only that holds.

    Its sessions are those that can be fitted alone: a boot that moves the curve is seen in no other.

    Runs of another regime are no points of the fit; where it is refused for lack of the others, they are behind it.
    """
    for arm in dict.fromkeys(row["arm"] for row in rows):
        row = min((row for row in rows if row["arm"] == arm), key=_preferred)
        low, high, ids = row["t_fixed_low_ms"], row["t_fixed_high_ms"], row["run_ids"]
        apart = frozenset({REGIME} if row["refused"] and seen.carries(arm, REGIME) else ())
        claim = Claim(
            kind="fit",
            tags=seen.tags(ids) | apart,
            voided_by=VOIDED_BY["fit"],
            incomplete=seen.incomplete(arm),
            impossible=seen.impossible(ids),
            refused=_sentence_end(row["refused"]) or (
                None if row["chosen"] and row["t_fixed_ms"] is not None
                else "no model could be fitted; measure at more concurrencies"
            ),
            sessions=seen.sessions(ids) if row["sessions"] is None else row["sessions"],
            sessions_needed=booking["comparisons"]["sessions_min"],
            runs=len(ids.split()),
            effect_pct=row["t_fixed_ms"],
            interval=None if low is None or high is None else (low, high),
        )  # fmt: skip
        shares = [(toll["concurrency"], toll["toll_share"]) for toll in tolls
                  if toll["arm"] == arm and toll["refused"] is None and toll["toll_share"] is not None]  # fmt: skip
        ends = sentences.share([min(shares), max(shares)] if len(shares) > 1 else shares)
        yield _verdict(claim, _About(f"fit/{arm}", "fit", arm, ids), booking, partial(sentences.fit, row, ends))


def _preferred(row: Row) -> tuple[bool, int, bool]:
    """Order of table `fixed_cost` by what may stand for an arm: a fit that holds, the step before what is derived of
    it."""
    holds = row["chosen"] and row["refused"] is None and row["response"] != TPOT
    return not holds, RESPONSES.index(row["response"]), not row["chosen"]


def _floors(
    rows: Iterable[Row], bands_pct: Mapping[tuple[str, int], float | None], seen: Behind, booking: Mapping[str, Any]
) -> Iterable[Row]:
    """The step over its floor; SOLID-SCALE when even the low end over the busiest rank's floor is a factor 2."""
    for row in rows:
        arm, concurrency, ids = row["arm"], row["concurrency"], row["run_ids"]
        over, low = row["over_floor"], row["over_floor_low"]
        worst = None
        if over is not None:
            band_pct = bands_pct.get((arm, concurrency))
            band_pct = _method_band_pct() if band_pct is None else band_pct
            least = low if low is not None else over / (1 + band_pct / 100)
            worst = least * row["floor_ms"] / max(row["floor_ms"], row["floor_busiest_ms"] or 0.0)
        claim = Claim(
            kind="floor",
            tags=seen.tags(ids),
            incomplete=seen.incomplete(arm, concurrency),
            impossible=seen.impossible(ids),
            refused="no decode step was measured; have /metrics scraped, or one token in a chunk" if over is None
            else None,
            sessions=seen.sessions(ids),
            sessions_needed=booking["comparisons"]["sessions_min"],
            runs=len(ids.split()),
            worst_ratio=worst,
        )
        about = _About(f"floor/{arm}/c{concurrency}", "floor", arm, ids, concurrency=concurrency)
        yield _verdict(claim, about, booking, partial(sentences.floor, row))


def _occupancies(rows: Sequence[Row], seen: Behind, booking: Mapping[str, Any]) -> Iterable[Row]:
    """Busy and idle time of an arm at a concurrency; none on a node without a GPU."""
    if not booking["node"]["gpus"]:
        return
    for arm, concurrency in dict.fromkeys((row["arm"], row["concurrency"]) for row in rows):
        mine = [row for row in rows if (row["arm"], row["concurrency"]) == (arm, concurrency)]
        ids = " ".join(row["run_id"] for row in mine)
        shares, idle = (
            seen.by_session((row["run_id"], row[column]) for row in mine if row[column] is not None)
            for column in ("utilization", "idle_ms")
        )
        refused = next((row["refused"] for row in mine if row["refused"] is not None), None)
        claim = Claim(
            kind="occupancy",
            tags=seen.tags(ids),
            voided_by=VOIDED_BY["occupancy"],
            incomplete=seen.incomplete(arm, concurrency),
            impossible=seen.impossible(ids),
            refused=_sentence_end(refused) or (None if shares else "no telemetry covers the window; sample all of it"),
            sessions=seen.sessions(ids),
            sessions_needed=booking["comparisons"]["sessions_min"],
            runs=len(mine),
        )
        about = _About(f"busy/{arm}/c{concurrency}", "occupancy", arm, ids, concurrency=concurrency)
        busy = (sum(shares) / len(shares), min(shares), max(shares)) if shares else None
        idle_ms = sum(idle) / len(idle) if idle else None
        yield _verdict(claim, about, booking, partial(sentences.occupancy, mine[0], busy, idle_ms))


def _step_bands(repeatability: Iterable[Row]) -> dict[tuple[str, int], float | None]:
    """By arm and concurrency how far one more boot's median ITL may read, in %; None where it was not measured."""
    return {(row["arm"], row["concurrency"]): row["band_pct"] for row in repeatability
            if row["metric"] == "itl_p50_ms"}  # fmt: skip


def _method_band_pct() -> float:
    """Of one boot against one, by the method's noise."""
    return 100 * power.band(noise.UNMEASURED.session_sigma, noise.UNMEASURED.repeat_sigma)


def _sentence_end(text: str | None) -> str | None:
    """A reason of another table, to stand inside a sentence: small at its start, but for a name in capitals."""
    if not text:
        return None
    small = text[:1].lower() if text[1:2].islower() or text[1:2] == " " else text[:1]
    return small + text[1:].rstrip(".")
