"""A result's metrics, from its requests where it lists them, else from what it states of the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchbook.check.result import TEXT, Result
from benchbook.derive import little, runs, waves
from benchbook.derive import requests as request_rows
from benchbook.derive.counters import Counted

ALIKE = 0.005  # a chunk holds what a token or a step is, to this
PRINTED_TO = 0.005  # the printed form rounds to two decimals
WINDOW_MIN_E2EL = 0.999  # method.md 3: a token window reads right once it spans a request's duration

# Every key that `metrics` of --json has; null where not known.
FROM_RESULT = (
    "completed", "failed", "num_prompts", "max_concurrency", "request_rate_req_s", "duration_s", "prompt_tokens",
    "output_tokens", "request_throughput_req_s", "output_tok_s", "window_s", "window_tok_s", "peak_tok_s",
    "ttft_mean_ms", "ttft_p50_ms", "ttft_p90_ms", "ttft_p99_ms", "ttft_schedule_mean_ms", "tpot_mean_ms",
    "tpot_p50_ms", "itl_mean_ms", "itl_median_ms", "e2el_mean_s", "e2el_p50_s", "e2el_schedule_mean_s",
    "tokens_per_chunk", "tokens_per_step", "step_ms", "waves", "whole_waves", "partial_wave_error_pct",
    "in_flight_mean", "little_delta", "little", "stalls", "bimodal", "ttft_slow_share", "ttft_mode_ratio",
    "resend_gap_median_ms",
)  # fmt: skip
FROM_METRICS = ("prefix_hit_rate", "preemptions", "server_requests", "server_prompt_tokens", "server_output_tokens",
                "itl_client_over_server", "ttft_client_minus_server_ms")  # fmt: skip
FROM_TELEMETRY = ("utilization_naive_pct", "utilization_run_pct", "power_naive_w", "power_run_w", "energy_j",
                  "energy_per_token_j", "telemetry_coverage", "telemetry_samples", "gpus")  # fmt: skip
FROM_LOG = ("late_compile_lines", "log_output_tokens")
# what an answer that comes in one piece does not show
_STREAMED = (*(name for name in FROM_RESULT if name.startswith(("ttft_", "tpot_", "itl_"))), "bimodal", "step_ms",
             "window_tok_s", "peak_tok_s", "stalls")  # fmt: skip
METRICS = (*FROM_RESULT, *FROM_METRICS, *FROM_TELEMETRY, *FROM_LOG)


@dataclass(frozen=True)
class Figures:
    """`values`: by the names of FROM_RESULT.

    `run`, `requests`: as in tables `runs` and `requests`, None for a result that lists no requests; their times are on
    the result's own clock, its first send at 1 s. `errors`: of the failed. `tokens_from`: see
    derive.requests.tokens_from. `e2el_derived`: mean E2EL was not stated and follows from the other means.
    """

    values: dict[str, Any]
    run: dict[str, Any] | None = None
    requests: pd.DataFrame | None = None
    errors: tuple[str, ...] = ()
    tokens_from: str | None = None
    e2el_derived: bool = False

    @property
    def impossible(self) -> bool:
        """Whether more was in flight than the limit allows: Little's check with the wrong sign."""
        return bool(self.values["little"] == little.REFUSED and self.values["little_delta"] > 0)


def of(result: Result, thresholds: Mapping[str, float], counted: Counted | None) -> Figures:
    """Every metric that the result by itself gives. `counted`: what the server counted meanwhile, for tokens a step."""
    stated = result.stated
    if stated["tokens_per_step"] is not None or counted is None:
        counted = _speculating(stated["tokens_per_step"])
    values: dict[str, Any] = dict.fromkeys(FROM_RESULT)
    for name in ("completed", "failed", "num_prompts", "max_concurrency"):
        values[name] = None if stated[name] is None else int(stated[name])  # type: ignore[arg-type]
    values["request_rate_req_s"] = stated["request_rate_req_s"]
    values["duration_s"] = stated["duration_s"] or None
    found = (_from_requests if result.lists is not None else _from_aggregates)(result, values, thresholds, counted)
    if result.gaps_spread and values["tokens_per_chunk"] and abs(values["tokens_per_chunk"] - 1) <= runs.CHUNK_IS_STEP:
        values["tokens_per_chunk"] = None
    _waves(values)
    _little(found, result, thresholds)
    return found


def _speculating(tokens_per_step: float | None) -> Counted | None:
    """What a server that accepted so many tokens a draft would have counted, for a result that states the mean."""
    if tokens_per_step is None or tokens_per_step < 1:
        return None
    drafts, accepted = "vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_accepted_tokens_total"
    return Counted({drafts: 0.0, accepted: 0.0}, {drafts: 1.0, accepted: tokens_per_step - 1})


def _from_requests(
    result: Result, values: dict[str, Any], thresholds: Mapping[str, float], counted: Counted | None
) -> Figures:
    assert result.lists is not None
    count = len(result.lists["ttfts"])
    spec = {"slot": "", "arm": "", "spec_hash": "",
            "workload": {"output_tokens": max(result.lists["output_lens"])}}  # fmt: skip
    record = {"run": result.name, "concurrency": values["max_concurrency"] or count, "repeat": 1, "num_prompts": count,
              "status": "ok", "reason": None, "t_start_s": 1.0, "m_start_s": 1.0,
              "t_end_s": 1.0 + (values["duration_s"] or 0.0)}  # fmt: skip
    listed = request_rows.table(request_rows.rows("", spec, record, result.lists))
    run = runs.row(
        "", spec, record, values["duration_s"], listed, counted=counted, tokens_from=None, late_work=None,
        warmup_verdict=None, expected_failure=False, busy_until_s=None, thresholds=thresholds,
    )  # fmt: skip
    values["completed"] = int(listed["ok"].sum())
    values["num_prompts"] = max(count, values["num_prompts"] or 0)
    values["failed"] = values["num_prompts"] - values["completed"]
    for name in ("prompt_tokens", "output_tokens", "window_s", "ttft_mean_ms", "ttft_p50_ms", "ttft_p90_ms",
                 "ttft_p99_ms", "ttft_schedule_mean_ms", "tpot_mean_ms", "tpot_p50_ms", "itl_mean_ms",
                 "tokens_per_chunk", "tokens_per_step", "step_ms", "in_flight_mean", "stalls", "ttft_slow_share",
                 "ttft_mode_ratio"):  # fmt: skip
        values[name] = run[name]
    values |= {
        "request_throughput_req_s": run["request_rate_req_s"],
        "output_tok_s": run["throughput_tok_s"],
        "window_tok_s": run["window_throughput_tok_s"],
        "peak_tok_s": run["throughput_peak_tok_s"],
        "itl_median_ms": run["itl_p50_ms"],
        "e2el_mean_s": _seconds(run["e2el_mean_ms"]),
        "e2el_p50_s": _seconds(run["e2el_p50_ms"]),
        "e2el_schedule_mean_s": _seconds(run["e2el_schedule_mean_ms"]),
        "bimodal": run["ttft_bimodal"],
    }
    if not run["window_s"] or run["window_s"] < WINDOW_MIN_E2EL * run["e2el_mean_ms"] / 1000:
        values["window_tok_s"] = None
    if run["tokens_per_chunk"] is None and (run["output_tokens"] or 0) > values["completed"]:
        for name in _STREAMED:
            values[name] = None
        run["itl_mean_ms"] = None
    if not result.starts_known:  # rule G leaves out the first wave, and which requests it was is not known
        values |= {"bimodal": None, "ttft_slow_share": None, "ttft_mode_ratio": None}
        run["ttft_bimodal"] = None
    failed = listed.loc[~listed["ok"], "error"].dropna()
    return Figures(values, run, listed, tuple(failed), request_rows.tokens_from(result.lists))


def _from_aggregates(
    result: Result, values: dict[str, Any], thresholds: Mapping[str, float], counted: Counted | None
) -> Figures:
    stated, duration_s, completed = result.stated, values["duration_s"], values["completed"]
    if not completed or duration_s is None:
        return Figures(values)
    for name in ("request_throughput_req_s", "output_tok_s"):
        values[name] = stated[name]
    values["prompt_tokens"], values["output_tokens"] = _whole(stated["prompt_tokens"]), _whole(stated["output_tokens"])
    if values["output_tok_s"] is None and values["output_tokens"] is not None:
        values["output_tok_s"] = values["output_tokens"] / duration_s
    for name in ("ttft_mean_ms", "ttft_p50_ms", "tpot_mean_ms", "tpot_p50_ms"):
        values[name] = stated[name] or None  # 0.00 is printed where nothing was measured
    for name, floor in (("ttft_p90_ms", runs.P90_REQUESTS), ("ttft_p99_ms", runs.P99_REQUESTS)):
        values[name] = stated[name] if completed >= floor else None
    per_step = counted.tokens_per_step if counted else None
    itl_ms, tpot_ms = stated["itl_mean_ms"] or None, values["tpot_mean_ms"]
    per_chunk = itl_ms / tpot_ms if itl_ms and tpot_ms else None
    values["tokens_per_chunk"], values["tokens_per_step"] = per_chunk, per_step
    if runs.chunk_is_step(per_chunk, per_step):
        values["itl_mean_ms"], values["itl_median_ms"] = itl_ms, stated["itl_p50_ms"] or None
    values["step_ms"] = tpot_ms * per_step if tpot_ms and per_step else None
    if _chunk_is_token(per_chunk, per_step) and (stated["peak_tok_s"] or 0) >= (values["output_tok_s"] or 0):
        values["peak_tok_s"] = stated["peak_tok_s"] or None
    values["e2el_mean_s"] = _seconds(_e2el_ms(stated, values, per_chunk, per_step))
    values["e2el_p50_s"] = _seconds(stated["e2el_p50_ms"] or None)
    if values["e2el_mean_s"] is not None:
        values["in_flight_mean"] = values["e2el_mean_s"] * completed / duration_s
    return Figures(values, e2el_derived=not stated["e2el_mean_ms"])


def _e2el_ms(
    stated: Mapping[str, float | None], values: Mapping[str, Any], per_chunk: float | None, per_step: float | None
) -> float | None:
    """Mean E2EL as stated; else mean TTFT + time per token (L - 1), L the mean output length.

    With one token a chunk the mean ITL is the mean time per token over all of them, and the sum is exact; with one
    step a chunk it is mean TPOT, exact where all lengths are equal. Mean ITL / mean TPOT says whether either holds.
    """
    if stated["e2el_mean_ms"]:
        return stated["e2el_mean_ms"]
    ttft_ms, tpot_ms, tokens = values["ttft_mean_ms"], values["tpot_mean_ms"], values["output_tokens"]
    if ttft_ms is None or tpot_ms is None or tokens is None or per_chunk is None:
        return None
    token_ms = tpot_ms
    if abs(per_chunk - 1) <= ALIKE:
        token_ms = tpot_ms * per_chunk  # mean ITL
    elif per_step is None or abs(per_chunk / per_step - 1) > ALIKE:
        return None
    mean_length = tokens / values["completed"]
    return float(ttft_ms + token_ms * (mean_length - 1)) if mean_length >= 1 else None


def _chunk_is_token(per_chunk: float | None, per_step: float | None) -> bool:
    return runs.chunk_is_step(per_chunk, None) and (per_step is None or per_step - 1 <= runs.CHUNK_IS_STEP)


def _waves(values: dict[str, Any]) -> None:
    """Waves, and by how much a last one that is not full pulls throughput down at fixed output length (method.md 3).

    An older text does not say how many requests failed: waves are then those of the completed.
    """
    prompts, concurrency = values["num_prompts"] or values["completed"], values["max_concurrency"]
    if not concurrency or not prompts:
        return
    values["waves"], values["whole_waves"] = waves.waves(prompts, concurrency), waves.whole(prompts, concurrency)
    values["partial_wave_error_pct"] = 100 * (values["waves"] / -(-prompts // concurrency) - 1)


def _little(found: Figures, result: Result, thresholds: Mapping[str, float]) -> None:
    """Little's check wherever E2EL and the limit are known.

    In an open loop the limit need not be reached: only a delta with the wrong sign says something there. Such a delta
    only warns where it may come from the rounding of what was printed, or from an E2EL that was derived.
    """
    values = found.values
    e2el_s, concurrency = values["e2el_mean_s"], values["max_concurrency"]
    if e2el_s is None or not concurrency or not values["duration_s"] or not values["completed"]:
        return
    law = little.of_total(e2el_s * values["completed"], values["duration_s"], concurrency, thresholds["little_pass"],
                          thresholds["little_warn"])  # fmt: skip
    values["little_delta"] = law.delta
    slack = (ALIKE if found.e2el_derived else 0.0) + (PRINTED_TO / values["duration_s"] if result.form == TEXT else 0.0)
    doubtful = little.CLOCK_ERROR < law.delta <= little.CLOCK_ERROR + slack
    if result.closed_loop or law.delta > little.CLOCK_ERROR:
        values["little"] = little.WARN if doubtful else law.outcome


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1000


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
