"""When, on the clock of telemetry and logs, a result's run took place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchbook.adopt.clock import align
from benchbook.check.result import Result
from benchbook.errors import StoreError

DATE_ERROR_S = 2.0  # `date` is written to the second, after the client has computed and printed its metrics
NEAR_S = 30.0
FINEST_S = 0.05
LONGEST_S = 1e8  # three years
TURNOVER_S = 2.0  # idle no longer than this is a wave that follows another


@dataclass(frozen=True)
class Span:
    """First send to last end in Unix seconds, each known to +-`error_s`; `how` in words."""

    start_s: float
    end_s: float
    error_s: float
    how: str


def from_date(ended: str | None, duration_s: float | None, utc_offset_s: float) -> Span | None:
    """By the result's `date`, the local time just after the run, `utc_offset_s` ahead of UTC."""
    if ended is None or duration_s is None or duration_s > LONGEST_S:
        return None
    try:
        end_s = _end_s(ended) - utc_offset_s
    except ValueError:
        return None
    zone = f"UTC{utc_offset_s / 3600:+g} h" if utc_offset_s else "UTC (say otherwise with --utc-offset)"
    return Span(end_s - duration_s, end_s, DATE_ERROR_S,
                f"from the result's date, taken for {zone}: right to {DATE_ERROR_S:g} s")  # fmt: skip


def _end_s(ended: str) -> float:
    moment = datetime.strptime(ended, "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    if not 2000 <= moment.year < 3000:
        raise ValueError(ended)
    return moment.timestamp()


def of_run(
    result: Result, duration_s: float | None, lines: Sequence[Mapping[str, Any]], dated: Span | None
) -> Span | None:
    """By the scrapes of /metrics: `from_scrapes`, made finer by the server's count of tokens where the result lists
    requests and the two agree."""
    span = from_scrapes(lines, duration_s, dated)
    if span is None or result.lists is None or result.ended is None or dated is None:
        return span
    margin_s = span.error_s + TURNOVER_S
    around = [line for line in lines if span.start_s - margin_s <= line["t"] <= span.end_s + margin_s]
    try:
        found = align([{**result.lists, "date": result.ended}], [around], (_end_s(result.ended) - dated.end_s) / 3600)
    except StoreError:
        return span
    start_s = found.offset_s + 1.0  # where the lists' times begin
    if found.by != "counters" or found.error_s >= span.error_s or abs(start_s - span.start_s) > span.error_s + 0.5:
        return span
    error_s = max(found.error_s, FINEST_S)
    return Span(start_s, start_s + span.end_s - span.start_s, error_s,
                f"from the server's count of tokens among the scrapes of /metrics: right to {error_s:.2f} s")


def from_scrapes(lines: Sequence[Mapping[str, Any]], duration_s: float | None, dated: Span | None) -> Span | None:
    """By the scrapes of /metrics among telemetry lines: the stretch with requests running that is as long as the run.

    With a date, the stretch that ends nearest to it, within 30 s; without one, the only one of that length.
    """
    if duration_s is None or duration_s > LONGEST_S:
        return None
    found = [span for span in (_fit(*edges, duration_s) for edges in _stretches(lines)) if span is not None]
    if dated is not None:
        near = [span for span in found if abs(span.end_s - dated.end_s) <= NEAR_S]
        return min(near, key=lambda span: abs(span.end_s - dated.end_s), default=None)
    return found[0] if len(found) == 1 else None


def _stretches(lines: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, float, float]]:
    """Last idle, first busy, last busy and next idle scrape of each stretch with requests running."""
    seen = [(float(line["t"]), running) for line in lines if line["src"] == "metrics"
            if (running := _running(line["v"])) is not None]  # fmt: skip
    found: list[tuple[float, float, float, float]] = []
    idle, first, last = -math.inf, math.inf, math.inf
    for t_s, running in seen:
        if running > 0:
            if found and found[-1][3] - found[-1][2] <= TURNOVER_S and t_s - found[-1][2] <= TURNOVER_S:
                idle, first, _, _ = found.pop()
            first, last = min(first, t_s), t_s
        else:
            if first < math.inf:
                found.append((idle, first, last, t_s))
            idle, first = t_s, math.inf
    return [*found, (idle, first, last, math.inf)] if first < math.inf else found


def _running(scrape: Mapping[str, float]) -> float | None:
    told = [value for name, value in scrape.items()
            if name.partition("{")[0] in ("vllm:num_requests_running", "sglang:num_running_reqs")]  # fmt: skip
    return sum(told) if told else None


def _fit(idle: float, first: float, last: float, idle_after: float, duration_s: float) -> Span | None:
    """The span of that duration that fits the edges: it began before the first
    request ran (the frontend may hold requests back) and ended between the last busy scrape and the next idle one.

    Requests just before it (the client's test prompt) may reach back over its start, never over its end.
    """
    slack_s = max(1.0, 0.05 * duration_s)
    if last - first > duration_s + slack_s or idle_after - idle < duration_s - slack_s:
        return None
    low, high = last - duration_s, min(first, idle_after - duration_s)
    if high < low:
        high = idle_after - duration_s
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    start_s, error_s = (low + high) / 2, max(abs(high - low) / 2, 0.1)
    return Span(start_s, start_s + duration_s, error_s,
                f"from the scrapes of /metrics with requests running: right to {error_s:.1f} s")  # fmt: skip
