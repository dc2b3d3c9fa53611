"""One benchmark result in the form that every reader fills, whoever wrote it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchbook.config.check import LARGEST

VLLM, SGLANG, TEXT = "vllm bench serve JSON", "SGLang bench_serving JSON", "printed text"

# What a result may state of the whole run, by the name used here; units in the names, the rest are counts.
STATED = (
    "completed", "failed", "num_prompts", "max_concurrency", "request_rate_req_s", "duration_s", "prompt_tokens",
    "output_tokens", "request_throughput_req_s", "output_tok_s", "peak_tok_s", "ttft_mean_ms", "ttft_p50_ms",
    "ttft_p90_ms", "ttft_p99_ms", "tpot_mean_ms", "tpot_p50_ms", "itl_mean_ms", "itl_p50_ms", "e2el_mean_ms",
    "e2el_p50_ms", "in_flight_mean", "tokens_per_step",
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """`stated`: the file's own figures by the names of STATED, None where it has none.

    `lists`: its per-request lists in the form that `measure.bench_result.requests` reads, None when it has none or
    they contradict each other (`broken` then says how). `longest_itl_ms`: the largest inter-token latency among its
    own figures. `ended`: `date` of the file, "YYYYMMDD-HHMMSS", local time. `gaps_spread`: the
    client may have spread the gap between two chunks over the tokens of the later one: chunks cannot be counted.
    `client`: what Benchbook's own client noted of itself (measure/client/own_cost.py), None for another's result.
    """

    name: str
    form: str
    stated: Mapping[str, float | None]
    lists: Mapping[str, Any] | None = None
    broken: str | None = None
    longest_itl_ms: float | None = None
    ended: str | None = None
    gaps_spread: bool = False
    notes: tuple[str, ...] = field(default=())
    client: Mapping[str, Any] | None = None

    @property
    def closed_loop(self) -> bool:
        """No request rate: a request follows another, or all are sent at once."""
        return self.stated["request_rate_req_s"] is None

    @property
    def starts_known(self) -> bool:
        return self.lists is not None and all(start is not None for start in self.lists["start_times"])


def number(value: Any) -> float | None:
    """`value` as a finite float; None for what is no number, for booleans, infinity, NaN, and beyond exact counting."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and abs(found) <= LARGEST else None
