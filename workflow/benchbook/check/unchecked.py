"""What a result leaves open, and what would close it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchbook.check.clock import Span
from benchbook.check.figures import Figures
from benchbook.check.result import TEXT, VLLM, Result


@dataclass(frozen=True)
class Given:
    """What was handed over besides the result."""

    metrics: bool
    telemetry: bool
    log: bool
    asked_tokens: bool
    span: Span | None


@dataclass(frozen=True)
class NotChecked:
    what: str
    why: str


_DETAIL = "run again with --save-detailed (vLLM) or --output-details (SGLang)"


def of(result: Result, figures: Figures, given: Given) -> list[NotChecked]:
    if not figures.values["completed"]:
        return [NotChecked("latencies, throughput, window, Little's law", "no request is known to have ended well")]
    return [NotChecked(what, why) for what, why in _listed(result, figures, given)]


def _listed(result: Result, figures: Figures, given: Given) -> Iterator[tuple[str, str]]:
    values = figures.values
    if result.lists is None:
        why = result.broken or ("a printed result has no single requests" if result.form == TEXT else
                                "the file lists no single requests")  # fmt: skip
        yield "steady window, stalls one by one, two groups of TTFT", f"{why}: {_DETAIL}"
    elif not result.starts_known:
        yield "steady window, two groups of TTFT, client's re-send gap", (
            "the file has no start_times: use a vLLM whose bench serve writes them")  # fmt: skip
    elif values["bimodal"] is None:
        yield "two groups of TTFT", "fewer than 64 requests after the first wave: use more prompts"
    if values["failed"] is None:
        yield "failed requests", "this format does not print them: compare completed with the prompts sent"
    if not given.asked_tokens:
        yield "output lengths as asked for", "the file does not hold what was asked: give --output-len TOKENS"
    if values["little"] is None:
        if values["max_concurrency"] is None:
            why = "no limit of concurrency is stated: run with --max-concurrency"
        elif values["e2el_mean_s"] is None:
            why = f"mean end-to-end latency is not stated and does not follow from the rest: {_DETAIL}"
        else:
            why = "a request rate is set, so the limit need not be reached"
        yield "Little's law", why
    if values["tokens_per_step"] is None and values["tokens_per_chunk"] is not None and values["itl_mean_ms"] is None:
        yield "inter-token latency", ("chunks hold several tokens and tokens per step are not known: give "
                                      "--metrics-before and --metrics-after")  # fmt: skip
    if given.metrics and values["prefix_hit_rate"] is None:
        yield "prefix-cache hits", "the scrapes of /metrics do not count them (prefix caching off, or another engine)"
    if given.metrics and values["server_output_tokens"] is None:
        yield "requests and tokens against the server's count", (
            "the scrapes do not hold its counters, or these went down: before and after swapped, or another server")
    if not given.metrics:
        yield "prefix-cache hits", (
            "the same --seed on one server repeats prompts (vllm#54227), and only /metrics tells: give "
            "--metrics-before and --metrics-after")  # fmt: skip
        yield "requests and tokens against the server's count", "give --metrics-before and --metrics-after"
    if result.client is None:
        yield "load client", (
            "its CPU and event-loop lag are not in the file"
            + ("" if given.metrics else ", and without /metrics its latencies stand against none of the server's")
            + ("; vllm bench serve reads TTFT about 2 ms high at one request in flight, 25 ms at 64"
               if result.form == VLLM else "")
        )  # fmt: skip
    elif not given.metrics:
        yield "load client", "without /metrics its latencies stand against none of the server's: give both scrapes"
    if figures.tokens_from is None:
        yield "who counted the output tokens", (
            "the server, or the client by tokenizing again, which may inflate slightly; the file does not say"
        )
    yield "warmup", "a result does not say what ran before it" + (
        "; the log shows no late compilation" if given.log and values["late_compile_lines"] == 0 else
        "" if given.log else ": give --log for late compilation")  # fmt: skip
    if not given.telemetry:
        yield "GPU utilization, power, energy", "give --telemetry FILE"
    elif values["utilization_run_pct"] is None:
        if values["gpus"] is None:
            why = "the telemetry has no GPU samples"
        elif given.span is None:
            why = "the run's place on the telemetry's clock is not known: it needs a result with a date"
        elif values["telemetry_coverage"] is None:
            why = "nothing of the run is known to be steady, or less than the clock may be off"
        else:
            why = "samples do not cover the steady window"
        yield "GPU utilization and power in the run", why
    elif values["energy_j"] is None:
        yield "energy", "no energy counter around the whole run, or the clock is off by more than 2 % of it"
    if values["utilization_run_pct"] is None:
        yield "throttling", "give --telemetry FILE with clocks, power limit and throttle reasons over the run"
    if not given.log:
        yield "server's log", "give --log FILE: late compilation, tokens by its own count"
    elif given.span is None:
        yield "server's log", "the run's place on the log's clock is not known: it needs a result with a date"
    elif values["late_compile_lines"] is None:
        yield "server's log", (
            "its time stamps do not reach around the run: it is of another time, or --utc-offset is off")
    elif values["log_output_tokens"] is None:
        yield "output tokens by the log", "its throughput lines do not set this run apart"
