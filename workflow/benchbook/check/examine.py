"""One result with whatever was handed over beside it, to the object that --json prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchbook import schema
from benchbook.check import clock, figures, findings, gpu_use, server_log, unchecked, verdict
from benchbook.check.figures import Figures
from benchbook.check.findings import Finding
from benchbook.check.result import Result
from benchbook.config.check import schema as config_schema
from benchbook.derive import client, reconcile
from benchbook.derive.counters import Counted


@dataclass(frozen=True)
class Beside:
    """Files beside a result, as load reads them; None where not given. `asked_tokens`: output tokens a request was to
    get. `utc_offset_s`: what the local time of the result's date and of the log is ahead of UTC."""

    scrapes: tuple[Mapping[str, float], Mapping[str, float]] | None = None
    telemetry: Sequence[Mapping[str, Any]] | None = None
    log: str | None = None
    asked_tokens: int | None = None
    utc_offset_s: float = 0.0


def thresholds() -> dict[str, float]:
    """The method's own: the defaults of workflow/schemas/booking.schema.yaml."""
    parts = config_schema("booking")["properties"]["thresholds"]["properties"]
    return {name: part["default"] for name, part in parts.items()}


def examine(result: Result, beside: Beside) -> dict[str, Any]:
    """Keys: file, form, verdict, reason, claim, next, void, tags, findings, warnings, not_checked, notes, metrics.

    `metrics` has every name of figures.METRICS, null where not known; `findings` and `not_checked` are lists of
    objects (tag and what; what and why).
    """
    limits = thresholds()
    counted = Counted(*beside.scrapes) if beside.scrapes is not None else None
    known = figures.of(result, limits, counted)
    values: dict[str, Any] = dict.fromkeys(figures.METRICS) | known.values
    span, notes = _span(result, values["duration_s"], beside)
    found = findings.of_result(result, known, limits, beside.asked_tokens)
    if values["completed"]:
        found += _client(result, known, counted, values, limits)
        found += _counts(result, counted, values, limits)
        if beside.telemetry is not None:
            found += _gpu(result, known, beside.telemetry, span, values, limits)
        if beside.log is not None and span is not None:
            found += _log(beside.log, span, beside.utc_offset_s, values, limits)
    found = findings.in_order(found)
    judged = verdict.of_run(found, known)
    given = unchecked.Given(
        metrics=beside.scrapes is not None, telemetry=beside.telemetry is not None, log=beside.log is not None,
        asked_tokens=beside.asked_tokens is not None or findings.asked(result) is not None, span=span,
    )  # fmt: skip
    return {
        "file": result.name,
        "form": result.form,
        **{name: list(told) if isinstance(told, tuple) else told for name, told in asdict(judged).items()},
        "tags": list(dict.fromkeys(finding.tag for finding in found)),
        "findings": [asdict(finding) for finding in found],
        "warnings": findings.warnings(result, known),
        "not_checked": [asdict(one) for one in unchecked.of(result, replace(known, values=values), given)],
        "notes": [*result.notes, *notes],
        "metrics": {name: _plain(values[name]) for name in figures.METRICS},
    }


def _span(result: Result, duration_s: float | None, beside: Beside) -> tuple[clock.Span | None, list[str]]:
    if beside.telemetry is None and beside.log is None:
        return None, []
    dated = clock.from_date(result.ended, duration_s, beside.utc_offset_s)
    span = clock.of_run(result, duration_s, beside.telemetry or (), dated) or dated
    return span, [f"The run's place on the node's clock is {span.how}."] if span else []


def _client(
    result: Result, known: Figures, counted: Counted | None, values: dict[str, Any], limits: Mapping[str, float]
) -> list[Finding]:
    if known.run is None or known.requests is None:
        return []
    turns = result.closed_loop and values["max_concurrency"] is not None and values["failed"] == 0
    run = known.run if turns else known.run | {"concurrency": len(known.requests)}
    row = client.row(run, known.requests, result.client, counted, limits)
    values["resend_gap_median_ms"] = row["resend_gap_median_ms"]
    values["itl_client_over_server"] = row["itl_ratio"]
    values["ttft_client_minus_server_ms"] = row["ttft_excess_ms"]
    return [Finding("CLIENT", f"the load client was a bottleneck: {row['saturated']}")] if row["saturated"] else []


def _counts(
    result: Result, counted: Counted | None, values: dict[str, Any], limits: Mapping[str, float]
) -> list[Finding]:
    if counted is None:
        return []
    run = dict.fromkeys(schema.TABLES["runs"]) | {
        name: values[name] for name in ("completed", "prompt_tokens", "output_tokens")
    }
    values["prefix_hit_rate"] = counted.prefix_hit_rate
    values["preemptions"] = counted.difference("vllm:num_preemptions_total")
    found = []
    if values["prefix_hit_rate"] is not None and values["prefix_hit_rate"] > limits["prefix_hits_max"]:
        found.append(Finding("CACHED", f"{100 * values['prefix_hit_rate']:.1f} % of the prompt tokens came from the "
                             "prefix cache"))  # fmt: skip
    for row in reconcile.rows(run, counted, None, limits["reconcile_max"]):
        values[f"server_{row['quantity']}"] = row["metrics"]
        if row["outcome"] == reconcile.DIFFERS:
            found.append(Finding("MISMATCH", f"{row['quantity'].replace('_', ' ')}: {row['client']:,.0f} by the "
                                 f"result, {row['metrics']:,.0f} by /metrics"))  # fmt: skip
    return found


def _gpu(
    result: Result, known: Figures, lines: Sequence[Mapping[str, Any]], span: clock.Span | None, values: dict[str, Any],
    limits: Mapping[str, float],
) -> list[Finding]:  # fmt: skip
    clip = _steady(known, span)
    read, throttled = gpu_use.figures(lines, span, clip, values["output_tokens"], limits["telemetry_coverage_min"])
    values |= read
    share = values["telemetry_coverage"]
    if share is not None and share < limits["telemetry_coverage_min"]:
        return [Finding("TELEM", f"samples cover {100 * share:.0f} % of the steady window")]
    return [Finding("THROTTLED", throttled)] if throttled else []


def _steady(known: Figures, span: clock.Span | None) -> tuple[float, float] | None:
    """The steady window on the node's clock; for a result without send times what lies a request's duration inside the
    run, where a closed loop has all its requests in flight."""
    if span is None:
        return None
    if known.run is not None and known.run["window_start_s"] is not None:
        offset_s = span.start_s - 1.0
        return known.run["window_start_s"] + offset_s, known.run["window_end_s"] + offset_s
    e2el_s = known.values["e2el_mean_s"]
    return (span.start_s + e2el_s, span.end_s - e2el_s) if e2el_s is not None else None


def _log(
    text: str, span: clock.Span, utc_offset_s: float, values: dict[str, Any], limits: Mapping[str, float]
) -> list[Finding]:
    if not server_log.covers(text, span, utc_offset_s):
        return []
    late = server_log.late_lines(text, span, utc_offset_s)
    logged = server_log.output_tokens(text, span, utc_offset_s)
    values["late_compile_lines"], values["log_output_tokens"] = len(late), logged
    found = []
    if late:
        found.append(Finding("UNWARMED", f"the server was still compiling or tuning in the run: {late[0][:120]}"))
    tokens = values["output_tokens"]
    if logged is not None and tokens and abs(logged - tokens) > limits["reconcile_max"] * tokens:
        found.append(Finding("MISMATCH", f"output tokens: {tokens:,} by the result, {logged:,.0f} by the server's log"))
    return found


def _plain(value: Any) -> Any:
    """A value as JSON holds it: Python's own types, null for what is not finite."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
