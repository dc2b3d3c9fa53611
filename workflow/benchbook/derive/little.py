"""Little's check: does a run's arithmetic hold together (method.md 5)?"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from benchbook.derive.answered import answered

PASS, WARN, REFUSED = "pass", "warn", "refused"
CLOCK_ERROR = 0.005


@dataclass(frozen=True)
class Little:
    """`in_flight_mean` = sum of E2EL / duration; `fill` = that / concurrency; `delta` = X E / (L C) - 1."""

    in_flight_mean: float
    fill: float
    delta: float
    outcome: str


def in_flight_mean(e2el_total_s: float, duration_s: float) -> float:
    """Requests in flight, mean over the run: the sum of all E2EL over its duration."""
    return e2el_total_s / duration_s


def throughput_tok_s(in_flight: float, output_tokens: float, e2el_s: float) -> float:
    """L x in flight / E, in tok/s. An identity where in-flight was measured; of the concurrency it says what the run
    would have delivered with no place ever empty."""
    return output_tokens * in_flight / e2el_s


def e2el_s(in_flight: float, output_tokens: float, throughput: float) -> float:
    """The same solved for E2EL in s, from tok/s."""
    return output_tokens * in_flight / throughput


def efficiency(ttft_share: float) -> float:
    """X TPOT / C: what is left of E2EL once TTFT, its share `ttft_share`, is taken off."""
    return 1 - ttft_share


def check(requests: pd.DataFrame, duration_s: float, concurrency: int, passes: float, warns: float) -> Little | None:
    """Little's check of one run; None when no request is ok.

    delta measures only unfilled concurrency or lost requests: with measured in-flight the law is an identity. A delta
    above +0.5 % cannot be (clock or count error) and refuses the run, as does one beyond `warns` below.
    """
    good = answered(requests)
    if good.empty or duration_s <= 0:
        return None
    return of_total(float(good["e2el_ms"].sum()) / 1000, duration_s, concurrency, passes, warns)


def of_total(e2el_total_s: float, duration_s: float, concurrency: int, passes: float, warns: float) -> Little:
    """The same from the sum of all E2EL: a result without single requests still states their mean and number."""
    in_flight = in_flight_mean(e2el_total_s, duration_s)
    fill = in_flight / concurrency
    delta = fill - 1
    if delta > CLOCK_ERROR:
        outcome = REFUSED
    elif abs(delta) <= passes:
        outcome = PASS
    else:
        outcome = WARN if abs(delta) <= warns else REFUSED
    return Little(in_flight, fill, delta, outcome)
