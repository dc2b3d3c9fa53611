"""An examined result for people: the verdict in a sentence, then why, the figures, and what is still open."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from benchbook.derive import runs
from benchbook.present import wording

WIDTH = 100
# label, key, unit, decimals
_ROWS: tuple[tuple[str, str, str, int], ...] = (
    ("Requests completed", "completed", "", 0),
    ("Requests failed", "failed", "", 0),
    ("Limit of concurrency", "max_concurrency", "", 0),
    ("Request rate asked for", "request_rate_req_s", "req/s", 2),
    ("Waves", "waves", "", 3),
    ("Duration", "duration_s", "s", 2),
    ("Output throughput", "output_tok_s", "tok/s", 1),
    ("  in the steady window", "window_tok_s", "tok/s", 1),
    ("  fullest second", "peak_tok_s", "tok/s", 0),
    ("Steady window", "window_s", "s", 2),
    ("TTFT, mean", "ttft_mean_ms", "ms", 2),
    ("TTFT, median", "ttft_p50_ms", "ms", 2),
    ("TTFT, p90", "ttft_p90_ms", "ms", 2),
    ("TTFT, p99", "ttft_p99_ms", "ms", 2),
    ("TPOT, mean", "tpot_mean_ms", "ms", 3),
    ("ITL, median", "itl_median_ms", "ms", 3),
    ("Tokens per chunk", "tokens_per_chunk", "", 3),
    ("Tokens per step", "tokens_per_step", "", 3),
    ("End-to-end latency, mean", "e2el_mean_s", "s", 3),
    ("  from schedule", "e2el_schedule_mean_s", "s", 3),
    ("In flight, mean", "in_flight_mean", "requests", 2),
    ("Requests that stood still", "stalls", "", 0),
    ("Prefix-cache hits", "prefix_hit_rate", "", 4),
    ("GPU utilization, whole file (naive)", "utilization_naive_pct", "%", 1),
    ("GPU utilization, in the run", "utilization_run_pct", "%", 1),
    ("GPU power, whole file (naive)", "power_naive_w", "W", 1),
    ("GPU power, in the run", "power_run_w", "W", 1),
    ("Energy per output token", "energy_per_token_j", "J", 4),
    ("Late compilation in the log", "late_compile_lines", "lines", 0),
    ("Output tokens by the log", "log_output_tokens", "tokens", 0),
)
_FLOORS = {"ttft_p90_ms": runs.P90_REQUESTS, "ttft_p99_ms": runs.P99_REQUESTS}
_OPTIONAL = ("request_rate_req_s", "e2el_schedule_mean_s")
_ALWAYS = 23  # rows before those of telemetry and log; the rest are left out where empty, as all are without a request


def text(examined: Mapping[str, Any]) -> str:
    return "\n".join(_lines(examined)) + "\n"


def _lines(examined: Mapping[str, Any]) -> Iterator[str]:
    yield f"{examined['file']}  ({examined['form']})"
    yield ""
    yield from _wrapped(f"{examined['verdict']}: {examined['reason']}", 0)
    yield from _wrapped(f"May be claimed: {examined['claim']}", 0)
    if examined["tags"]:
        yield ""
    for tag in examined["tags"]:
        yield from _wrapped(f"{tag:<11}  {_MEANINGS.get(tag) or wording.TAGS.get(tag, wording.UNKNOWN_TAG)}", 13)
        for finding in examined["findings"]:
            if finding["tag"] == tag:
                yield from _wrapped(f"{'':<11}  - {finding['what']}", 15)
    yield ""
    yield from _table(examined["metrics"], examined["void"])
    for title, told in (
        ("Mind", examined["warnings"]),
        ("Not checked", [f"{one['what']}: {one['why']}" for one in examined["not_checked"]]),
        ("Next", examined["next"]),
        ("Notes", examined["notes"]),
    ):
        if told:
            yield ""
            yield title
            for one in told:
                yield from _wrapped(f"  - {one}", 4)


_MEANINGS = {
    "UNSTEADY": "The run was not steady for long enough, or its concurrency was not filled.",
    "MISMATCH": "Two counts of the same thing differ by more than 0.5 %, or cannot both be true.",
}


def _table(metrics: Mapping[str, Any], void: list[str]) -> Iterator[str]:
    for index, (label, key, unit, decimals) in enumerate(_ROWS):
        value = metrics[key]
        if value is None and (key in _OPTIONAL or index >= _ALWAYS or not metrics["completed"]):
            continue
        yield f"  {label:<36}{_shown(metrics, key, value, unit, decimals, key in void)}".rstrip()
        if key == "in_flight_mean" and metrics["little_delta"] is not None:
            said = f" ({metrics['little']})" if metrics["little"] else ""
            yield f"  {'Little: in flight / limit - 1':<36}{100 * metrics['little_delta']:>+12.2f} %{said}"


def _shown(metrics: Mapping[str, Any], key: str, value: Any, unit: str, decimals: int, void: bool) -> str:
    floor = _FLOORS.get(key)
    if value is None and floor is not None and metrics["completed"] and metrics["completed"] < floor:
        return f"{'withheld':>12}  n < {floor}"
    if value is None:
        return f"{'-':>12}"
    return f"{value:>12,.{decimals}f} {unit}{'  (refused)' if void else ''}"


def _wrapped(line: str, indent: int) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent,
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip
