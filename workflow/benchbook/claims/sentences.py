"""The sentence that a report prints of a claim. Numbers become text here and nowhere else among the claims.

No sentence of a level that allows no direction has one: it states what was read and why nothing follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.claims.fixed_cost import OVER_FLOOR
from benchbook.claims.levels import (
    CONFOUNDED,
    EQUIVALENT,
    REFUSED,
    SOLID,
    SOLID_SCALE,
    UNREPLICATED,
)
from benchbook.claims.noise import HERE, METHOD, REGISTRY
from benchbook.columns.metrics import Metric, metric_of

MINUS = "\u2212"
DIGITS = 4
_SOURCE = {
    METHOD: "taken for this node until its noise is measured",
    REGISTRY: "by the registry of such nodes",
    HERE: "by the spread of this booking's own boots",
}
Row = Mapping[str, Any]
Interval = tuple[float, float] | None


def number(value: float) -> str:
    """Four significant digits, no digit lost before the decimal point, thousands with commas, a true minus."""
    if value == 0:
        return "0"
    exponent = int(f"{abs(value):.{DIGITS - 1}e}".rsplit("e", 1)[1])
    return f"{value:,.{max(0, DIGITS - 1 - exponent)}f}".replace("-", MINUS)


def percent(value: float, signed: bool = False) -> str:
    """A percentage with one decimal, two below 1 %, without the sign "%"."""
    shown = f"{value:{'+' if signed else ''},.{1 if abs(value) >= 1 else 2}f}".replace("-", MINUS)
    return shown if shown.strip(f"+{MINUS}0.") else "0"


def quantity(value: float, unit: str) -> str:
    return f"{number(value)} {unit}".rstrip()


def between(interval: tuple[float, float], unit: str) -> str:
    return f"{number(interval[0])} to {number(interval[1])} {unit}".rstrip()


def boots(count: int) -> str:
    return "1 boot" if count == 1 else f"{count} boots"


def comparison(row: Row, level: str, because: str | None, replicate: str | None) -> str:
    """Of a row of table `comparisons` between arms; nulls of the row are None."""
    metric, arm, base = metric_of(row["metric"]), row["arm"], row["baseline"]
    where = _at(row["concurrency"])
    if level == REFUSED:
        return _next(f"Nothing can be said of {metric.label} of {arm} against {base} {where}: {because}.", replicate)
    read = f"{_start(metric.label)} {where}: {arm} {_read(row['value'], metric)}, {base} " \
           f"{_read(row['baseline_value'], metric)}"
    if level == CONFOUNDED:
        return _next(f"{read}; no difference can be claimed, because of {because}.", replicate)
    if level == UNREPLICATED:
        return _next(f"{read}, {boots(row['sessions'])} against {boots(row['baseline_sessions'])}; {_band(row)}, so no "
                     "difference can be claimed.", replicate)  # fmt: skip
    effect = row["effect_pct"]
    if level == SOLID_SCALE:
        return _factor(row, metric, arm, base, f" {where}", because)
    interval = _interval(row)
    if level == SOLID:
        way = "higher" if effect > 0 else "lower"
        good = "better" if way == metric.better else "worse"
        size = f"{percent(abs(effect))} % ({_size(interval)})"
        return f"{arm} has {size} {way} {metric.label} than {base} {where}: {good}."
    if level == EQUIVALENT:
        size = f"±{percent(row['equivalence_margin_pct'])} % (difference {_signed(interval)})"
        return f"{arm} and {base} have the same {metric.label} {where} within {size}."
    finds = f"; {boots(row['sessions'])} an arm find {percent(row['mde_pct'])} % in 4 of 5 tries" \
        if row["mde_pct"] is not None else ""  # fmt: skip
    if interval is not None and interval[0] <= 0 <= interval[1]:
        told = f"{arm} and {base} cannot be told apart in {metric.label} {where}"
        return _next(f"{told} (difference {_signed(interval)}){finds}.", replicate)
    return _next(f"{read}; no difference can be claimed: {because}{finds}.", replicate)


def scale(row: Row, level: str, because: str | None, replicate: str | None) -> str:
    """Of a row of table `comparisons` of one arm at two concurrencies."""
    metric, arm = metric_of(row["metric"]), row["arm"]
    ends = row["concurrency"], row["baseline_concurrency"]
    where = f"at C={ends[0]} against C={ends[1]}"
    if level == REFUSED:
        return _next(f"Nothing can be said of {metric.label} of {arm} {where}: {because}.", replicate)
    if level == SOLID_SCALE:
        sides = f"{arm} at C={ends[0]}", f"{arm} at C={ends[1]}"
        return _factor(row, metric, *sides, "", because)
    read = f"{arm}: {metric.label} {_read(row['value'], metric)} at C={ends[0]}, " \
           f"{_read(row['baseline_value'], metric)} at C={ends[1]}"
    if level == SOLID:
        interval = _interval(row)
        way = "higher" if row["effect_pct"] > 0 else "lower"
        return f"{arm} has {percent(abs(row['effect_pct']))} % ({_size(interval)}) {way} {metric.label} {where}."
    if level == CONFOUNDED:
        return _next(f"{read}; nothing follows from it, because of {because}.", replicate)
    if level == UNREPLICATED:
        return _next(f"{read}, {boots(row['sessions'])}; {_band(row)}.", replicate)
    if level == EQUIVALENT:
        return f"{arm} has the same {metric.label} {where} within ±{percent(row['equivalence_margin_pct'])} %."
    return _next(f"{read}; no difference can be claimed: {because}.", replicate)


def value(row: Row, level: str, because: str | None, replicate: str | None) -> str:
    """Of a row of table `repeatability`."""
    metric = metric_of(row["metric"])
    place = f"{row['arm']} {_at(row['concurrency'])}"
    if level == REFUSED:
        return _next(f"No {metric.label} can be quoted for {place}: {because}.", replicate)
    read = f"{place}: {metric.label} {_read(row['mean'], metric)}"
    if level == CONFOUNDED:
        return _next(f"{read}, to be quoted only with its tags: {because}.", replicate)
    if level == UNREPLICATED:
        told = f"{boots(row['sessions'])}; another boot may read ±{percent(row['band_pct'])} % from it " \
               f"({_SOURCE[row['sigma_from']]})"
        return _next(f"{read}, {told}.", replicate)
    spread = _pair(row["ci_low"], row["ci_high"])
    shown = f"{between(spread, metric.unit)}, " if spread else ""
    return f"{read} ({shown}{boots(row['sessions'])})."


def fit(row: Row, shares: str, level: str, because: str | None, replicate: str | None) -> str:
    """Of the chosen row of table `fixed_cost`. `shares`: the toll in words, see `share`; may be empty."""
    arm = row["arm"]
    if level == REFUSED:
        return _next(f"No fixed cost of the decode step can be quoted for {arm}: {because}.", replicate)
    interval = _pair(row["t_fixed_low_ms"], row["t_fixed_high_ms"])
    shown = f" ({between(interval, 'ms')})" if interval else ""
    over = " over its byte floor" if row["response"] == OVER_FLOOR else ""
    read = f"{arm}: fixed cost of the decode step{over} {quantity(row['t_fixed_ms'], 'ms')}{shown}"
    if level == CONFOUNDED:
        return _next(f"{read}, to be quoted only with its tags: {because}.", replicate)
    if level == UNREPLICATED:
        return _next(f"{read}, by {because}: the interval knows nothing of other boots.", replicate)
    if level == SOLID:
        return f"{read}{shares}."
    return f"{arm}: the fixed cost of the decode step cannot be told from none{shown}."


def share(rows: list[tuple[int, float]]) -> str:
    """The fixed cost's share of the step at concurrencies, for `fit`: of (concurrency, share) rows."""
    said = [f"{percent(100 * part)} % of it at C={concurrency}" for concurrency, part in rows]
    return f", {', '.join(said)}" if said else ""


def floor(row: Row, level: str, because: str | None, replicate: str | None) -> str:
    """Of a row of table `floor`."""
    place = f"{row['arm']} {_at(row['concurrency'])}"
    if level == REFUSED:
        return _next(f"The decode step of {place} cannot be held against its byte floor: {because}.", replicate)
    interval = _pair(row["over_floor_low"], row["over_floor_high"])
    shown = f" ({between(interval, '')})" if interval else ""
    read = f"{place}: the decode step takes {number(row['over_floor'])} times{shown} its byte floor of " \
           f"{quantity(row['floor_ms'], 'ms')}"
    if level == CONFOUNDED:
        return _next(f"{read}, to be quoted only with its tags: {because}.", replicate)
    if level == UNREPLICATED:
        return _next(f"{read}, by {because}.", replicate)
    return f"{read}." if because is None else f"{read}, {because}."


def occupancy(
    place: Row, busy: tuple[float, float, float] | None, idle_ms: float | None, level: str, because: str | None,
    replicate: str | None,
) -> str:
    """Of the runs of one arm and concurrency: `busy` is the share of the window in which a kernel ran, as mean, lowest
    and highest boot; `idle_ms` the rest of the decode step, None where no step is known."""
    where = f"{place['arm']} {_at(place['concurrency'])}"
    if level == REFUSED or busy is None:
        return _next(f"Nothing can be said of busy and idle time of {where}: {because}.", replicate)
    spread = f" ({percent(100 * busy[1])} to {percent(100 * busy[2])} % over boots)" if busy[1] < busy[2] else ""
    idle = f"; {quantity(idle_ms, 'ms')} of a decode step are idle" if idle_ms is not None else ""
    read = f"{where}: a kernel runs in {percent(100 * busy[0])} % of the window{spread}{idle}"
    if level == CONFOUNDED:
        return _next(f"{read}; to be quoted only with its tags: {because}.", replicate)
    if level == UNREPLICATED:
        return _next(f"{read}, by {because}.", replicate)
    return f"{read}."


def expected(item: Row, concurrency: int) -> str:
    """A hypothesis in words."""
    size = f"at least {percent(100 * item['smallest_effect'])} % {item['direction']}"
    return f"{item['arm']} has {size} {metric_of(item['metric']).label} than {item['baseline']} {_at(concurrency)}"


def judged(outcome: str, statement: str, verdict: str | None, wholly: bool) -> str:
    """The outcome of a hypothesis declared before measuring. `verdict`: the sentence of its comparison, None where
    there are no such runs; `wholly`: the whole interval lies beyond the smallest effect."""
    if verdict is None:
        return f"Not measured. Expected: {statement}. Next: measure both arms there."
    more = " The whole interval lies beyond the smallest effect." if wholly else ""
    return f"{_start(outcome)}. Expected: {statement}. {verdict}{more}"


def exploratory(statement: str, verdict: str | None) -> str:
    """Of a hypothesis that was not declared before measuring."""
    said = f"Not declared before measuring, so exploratory. Expected: {statement}."
    return f"{said} {verdict or 'No such runs.'} Next: leave it in the booking file and measure a new booking."


def _factor(row: Row, metric: Metric, arm: str, base: str, where: str, because: str | None) -> str:
    """A ratio of 2 or more, the larger side named first, so that it reads the same whichever way is better."""
    ratio = row["value"] / row["baseline_value"]
    more, less, ratio = (arm, base, ratio) if ratio >= 1 else (base, arm, 1 / ratio)
    tail = f"; {because}" if because else ""
    nearest = "nearest runs" if min(row["sessions"], row["baseline_sessions"]) > 1 else "nearest runs of one boot"
    return f"{_start(metric.label)} of {more} is {number(ratio)} times that of {less}{where} ({nearest}: " \
           f"{number(row['worst_ratio'])} times){tail}."


def _band(row: Row) -> str:
    if row["band_pct"] is None:
        return "how far they may read apart by noise alone is not known"
    return f"they may read ±{percent(row['band_pct'])} % apart by noise alone ({_SOURCE[row['sigma_from']]})"


def _interval(row: Row) -> Interval:
    return _pair(row["holm_low_pct"], row["holm_high_pct"])


def _pair(low: float | None, high: float | None) -> Interval:
    return None if low is None or high is None else (low, high)


def _size(interval: Interval) -> str:
    """Both ends of an interval that excludes 0, as sizes, the smaller first."""
    if interval is None:
        return "no interval"
    low, high = sorted((abs(interval[0]), abs(interval[1])))
    return f"{percent(low)} to {percent(high)} %"


def _signed(interval: Interval) -> str:
    return "no interval" if interval is None else (
        f"{percent(interval[0], signed=True)} to {percent(interval[1], signed=True)} %"
    )


def _read(value: float | None, metric: Metric) -> str:
    return "not measured" if value is None else quantity(value, metric.unit)


def _at(concurrency: int) -> str:
    return f"at C={concurrency}"


def _start(text: str) -> str:
    return text[:1].upper() + text[1:]


def _next(sentence: str, replicate: str | None) -> str:
    return f"{sentence} Next: {replicate}." if replicate else sentence
