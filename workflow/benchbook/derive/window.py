"""The steady window of a closed-loop run: from the first completion to the last dispatch, C in flight throughout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchbook.derive import ragged
from benchbook.derive.answered import answered


@dataclass(frozen=True)
class Window:
    """Unix seconds. `throughput_tok_s` is None for a window without width: one wave has no steady state."""

    start_s: float
    end_s: float
    throughput_tok_s: float | None

    @property
    def width_s(self) -> float:
        return max(0.0, self.end_s - self.start_s)


def asked_s(thresholds: Mapping[str, float], e2el_mean_ms: float) -> float:
    """Least width of a steady window of requests that take this long."""
    return max(thresholds["steady_window_min_s"], thresholds["steady_window_min_e2el"] * e2el_mean_ms / 1000)


def token_times_s(good: pd.DataFrame) -> np.ndarray:
    """Unix time of each token of ok requests (`spread`), one request after the other."""
    gaps_ms, counts = ragged.flat(good["itl_ms"])
    chunks, tokens = counts + 1, good["output_tokens"].to_numpy(int)
    since_first_s = np.zeros(int(chunks.sum()))
    since_first_s[ragged.places(chunks) > 0] = ragged.running_sums(gaps_ms / 1000, counts)
    times: np.ndarray = np.repeat(good["t_first_s"].to_numpy(float), chunks) + since_first_s
    if (tokens == chunks).all():
        return times
    place = ragged.places(tokens) * np.repeat(chunks, tokens) // np.repeat(np.maximum(tokens, 1), tokens)
    times = times[np.repeat(ragged.ends(chunks)[:-1], tokens) + np.minimum(place, np.repeat(chunks - 1, tokens))]
    return times


def spread(first_s: float, gaps_s: np.ndarray, tokens: int) -> np.ndarray:
    """When each of `tokens` came: the first at `first_s`, the others by the gaps between chunks, tokens of a chunk
    together at its arrival.

    With one token a chunk these are exact; with more, the tokens are spread over the chunks as evenly as they go
    (g of method.md 1 is not a whole number).
    """
    chunks = first_s + np.concatenate([[0.0], np.cumsum(gaps_s)])
    times: np.ndarray = chunks[np.minimum(np.arange(tokens) * len(chunks) // max(tokens, 1), len(chunks) - 1)]
    return times


def times_hold(requests: pd.DataFrame, duration_s: float) -> bool:
    """Whether a run's requests can have happened within its duration: a clock that jumped, or the lists of two clients
    put together, leave sends and ends that lie further apart than the run is long."""
    times = pd.concat([requests["t_send_s"], requests["t_last_s"]]).dropna()
    return times.empty or bool(times.max() - times.min() <= 1.02 * duration_s + 0.5)


def steady(requests: pd.DataFrame, times_s: np.ndarray | None = None) -> Window | None:
    """Steady window of one run's ok requests, with the token throughput inside it (method.md 3).

    Tokens emitted in (start, end], divided by the width; counting completions instead reads up to 42 % high. None
    when no request is ok. `times_s`: token_times_s of those that are, where it is known already.
    """
    good = answered(requests)
    if good.empty:
        return None
    start_s, end_s = float(good["t_last_s"].min()), float(good["t_send_s"].max())
    if end_s <= start_s:
        return Window(start_s, end_s, None)
    times_s = token_times_s(good) if times_s is None else times_s
    inside = int(((times_s > start_s) & (times_s <= end_s)).sum())
    return Window(start_s, end_s, inside / (end_s - start_s))


def peak_tok_s(requests: pd.DataFrame, times_s: np.ndarray | None = None) -> float | None:
    """Most tokens that ok requests got within any one second; None when all of them span less than that.

    Every token counts, also where a chunk carries several, so the peak is never below the mean (vllm#50677).
    `times_s` as for `steady`.
    """
    good = answered(requests)
    if good.empty or good["t_first_s"].isna().any():
        return None
    times = np.sort(token_times_s(good) if times_s is None else times_s)
    if times[-1] - times[0] < 1.0:
        return None
    inside = np.arange(1, len(times) + 1) - np.searchsorted(times, times - 1.0, side="right")
    return float(inside.max())
