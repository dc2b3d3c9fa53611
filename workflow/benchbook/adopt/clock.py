"""The client's monotonic clock and the node's clock on one time.

A result's start_times are on a monotonic clock and its `date` is the local time at its end, to the second. Telemetry
that scraped vllm:generation_tokens_total meanwhile says when the tokens came out, to a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from benchbook.derive import window
from benchbook.errors import StoreError

GENERATED = "vllm:generation_tokens_total"
AFTER_THE_END_S = 5.0  # the client computes its metrics before it writes the date down
COARSE_S, FINE_S = 0.05, 0.002


@dataclass(frozen=True)
class Alignment:
    """Unix time = the client's clock + `offset_s`, within about `error_s`; `by` is counters or dates."""

    offset_s: float
    error_s: float
    by: str


def align(
    results: Sequence[Mapping[str, Any]], telemetry: Sequence[Sequence[Mapping[str, Any]]], utc_offset_h: float = 0.0
) -> Alignment:
    """The offset of the clock that all `results` share; `telemetry`: the lines that were taken around each of them.

    With scrapes, the offset at which the tokens that the client had got by each scrape match the server's counter
    best, least squares over all of them; `error_s` is the worst result's misfit (root mean square) over its rate of
    tokens. Without, what the dates leave open. Raises StoreError when a result has neither date nor start times, or
    when they are of several clocks.
    """
    low_s, high_s = _by_dates(results, utc_offset_h)
    if low_s > high_s:
        raise StoreError(
            "the results' dates and start_times do not belong to one clock: they are of several clients or machines. "
            "Adopt those of one boot of one machine together."
        )
    pairs = zip(results, telemetry, strict=True)
    counted = [ways for ways in (_counted(result, lines) for result, lines in pairs) if ways]
    if not counted:
        return Alignment((low_s + high_s) / 2, (high_s - low_s) / 2, "dates")
    for step_s in (COARSE_S, FINE_S):
        candidates = np.arange(low_s, high_s + step_s, step_s)
        totals = [sum(min(_square(way, float(at)) for way in ways) for ways in counted) for at in candidates]
        best = float(candidates[int(np.argmin(totals))])
        low_s, high_s = best - COARSE_S, best + COARSE_S
    chosen = [min(ways, key=lambda way: _square(way, best)) for ways in counted]
    errors = [float(np.sqrt((way.misfit(best) ** 2).mean())) / way.rate for way in chosen]
    return Alignment(best, max(errors) + FINE_S, "counters")


def _square(way: _Counted, offset_s: float) -> float:
    return float((way.misfit(offset_s) ** 2).sum())


@dataclass(frozen=True)
class _Counted:
    """Token times of one result (client's clock), and scrapes around it: Unix times, tokens counted since the first.

    `before`: tokens that were counted before the run's own, none or those of one request: the client may send its first
    prompt once as a test.
    """

    tokens: np.ndarray
    times: np.ndarray
    counts: np.ndarray
    before: int

    @property
    def rate(self) -> float:
        return float(len(self.tokens) / max(self.tokens[-1] - self.tokens[0], 1e-9))

    def misfit(self, offset_s: float) -> np.ndarray:
        """Tokens counted too many or too few at each scrape; until the first token of the run, what is beyond the
        test prompt's."""
        got = np.searchsorted(self.tokens, self.times - offset_s)
        difference: np.ndarray = self.counts - self.before - got
        return np.where(got > 0, difference, np.maximum(difference, 0))


def _counted(result: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> list[_Counted]:
    """The ways in which the scrapes around a result may count it: with and without a test prompt before it."""
    scraped = [
        (line["t"], sum(value for name, value in line["v"].items() if name.partition("{")[0] == GENERATED))
        for line in lines
        if line.get("src") == "metrics" and any(name.startswith(GENERATED) for name in line["v"])
    ]
    tokens = np.sort(np.concatenate([_token_times(result, index) for index in range(len(result["start_times"]))]))
    if len(scraped) < 4 or len(tokens) < 2:
        return []
    times, counts = np.array(sorted(scraped), float).T
    return [_Counted(tokens, times, counts - counts[0], before) for before in (0, int(result["output_lens"][0]))]


def _token_times(result: Mapping[str, Any], index: int) -> np.ndarray:
    """When each token of a request came, on the client's clock."""
    first_s = result["start_times"][index] + result["ttfts"][index]
    return window.spread(first_s, np.asarray(result["itls"][index], float), int(result["output_lens"][index]))


def _by_dates(results: Sequence[Mapping[str, Any]], utc_offset_h: float) -> tuple[float, float]:
    """Bounds of the offset: each run ended at most a second after its date and some seconds before it."""
    bounds = []
    for result in results:
        try:
            wall = datetime.strptime(result["date"], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
            ended = max(
                start + ttft + sum(gaps)
                for start, ttft, gaps in zip(result["start_times"], result["ttfts"], result["itls"], strict=True)
            )
        except (KeyError, ValueError, TypeError) as error:
            raise StoreError(
                "a result without its date or start_times cannot be put in time; save it with --save-detailed."
            ) from error
        date_s = (wall - timedelta(hours=utc_offset_h)).timestamp()
        bounds.append((date_s - AFTER_THE_END_S - ended, date_s + 1 - ended))
    return max(low for low, _ in bounds), min(high for _, high in bounds)
