"""What is wrong with a result, by tag (derive/tags.py), and what is only to be warned about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbook.check.figures import PRINTED_TO, Figures
from benchbook.check.result import TEXT, Result
from benchbook.derive import little, stalls, tags, window

WAVES_MIN = 4  # method.md 3
STATED_MAX = 0.005  # a figure that the file states and the one computed from it agree within this


@dataclass(frozen=True)
class Finding:
    tag: str
    what: str


def of_result(
    result: Result, figures: Figures, thresholds: Mapping[str, float], asked_tokens: int | None
) -> list[Finding]:
    """Findings that the result by itself gives, in the order of tags.ORDER."""
    values = figures.values
    found = [*_incomplete(result, figures, asked_tokens), *_mismatch(result, figures)]
    if values["completed"] and values["duration_s"]:
        found += _unsteady(result, figures, thresholds) + _stalled(result, figures)
        if figures.tokens_from == "retokenized":
            found.append(Finding("RETOKENIZED", "the client counted output tokens that the server did not report"))
        if values["bimodal"]:
            found.append(Finding("BIMODAL", f"{100 * values['ttft_slow_share']:.0f} % of the times to first token are "
                                 f"{values['ttft_mode_ratio']:.1f} times the others"))  # fmt: skip
    return in_order(found)


def in_order(found: Sequence[Finding]) -> list[Finding]:
    return sorted(found, key=lambda finding: tags.ORDER.index(finding.tag))


def _incomplete(result: Result, figures: Figures, asked_tokens: int | None) -> list[Finding]:
    values = figures.values
    first = _kinds(result) + (f": {figures.errors[0]}" if figures.errors else "")
    if values["completed"] is None:
        return []
    if not values["completed"]:
        many = f"all {values['failed']} requests failed" if values["failed"] else "no request succeeded"
        return [Finding("INCOMPLETE", many + first)]
    found = []
    if values["failed"]:
        found.append(Finding("INCOMPLETE", f"{values['failed']} of {values['num_prompts']} requests failed" + first))
    if (pairs := asked(result)) is not None:
        short = [f"{got} of {wanted}" for got, wanted in pairs if wanted is not None and 0 < got != wanted]
        if short:
            found.append(Finding("INCOMPLETE", f"{len(short)} of {values['completed']} answers do not have the tokens "
                                 f"asked for (first: {short[0]})"))  # fmt: skip
    elif asked_tokens is not None and result.lists is not None:
        short = [length for length in result.lists["output_lens"] if 0 < length != asked_tokens]
        if short:
            found.append(Finding("INCOMPLETE", f"{len(short)} of {values['completed']} answers do not have the "
                                 f"{asked_tokens} tokens asked for (first: {short[0]})"))  # fmt: skip
    elif asked_tokens is not None and values["output_tokens"] not in (None, asked_tokens * values["completed"]):
        found.append(Finding("INCOMPLETE", f"{values['output_tokens']:,} tokens came back where {values['completed']} "
                             f"answers of {asked_tokens} make {asked_tokens * values['completed']:,}"))  # fmt: skip
    return found


def _kinds(result: Result) -> str:
    """How many requests failed in which way, where the client says it: " (2 reset, 1 read_gap)"."""
    noted = (result.lists or {}).get("benchbook") or {}
    kinds = Counter(kind for kind in noted.get("failure_kinds", ()) if kind)
    return f" ({', '.join(f'{count} {kind}' for kind, count in kinds.most_common())})" if kinds else ""


def asked(result: Result) -> list[tuple[int, int | None]] | None:
    """Output tokens that came and that were asked for, request by request; None where the client does not say."""
    noted = (result.lists or {}).get("benchbook") or {}
    if result.lists is None or "asked_tokens" not in noted:
        return None
    return list(zip(result.lists["output_lens"], noted["asked_tokens"], strict=True))


def _mismatch(result: Result, figures: Figures) -> list[Finding]:
    found = []
    if result.broken is not None:
        found.append(Finding("MISMATCH", f"its lists of requests contradict each other: {result.broken}"))
    if figures.values["completed"] is None:
        found.append(Finding("MISMATCH", "it does not state how many requests ended well"))
    if not figures.values["duration_s"]:
        found.append(Finding("MISMATCH", "it states no duration above zero"))
    for name, stated, computed in _stated_twice(result, figures):
        if abs(stated - computed) > STATED_MAX * max(abs(computed), abs(stated)) + _rounding(result, figures):
            found.append(Finding("MISMATCH", f"it states {name} {stated:.6g}, its own requests and totals give "
                                 f"{computed:.6g}"))  # fmt: skip
    if figures.requests is not None and figures.values["duration_s"] and not window.times_hold(
        figures.requests, figures.values["duration_s"]
    ):
        found.append(Finding("MISMATCH", "its requests lie further apart than the run lasted: a clock jumped, or two "
                             "clients' lists were put together"))  # fmt: skip
    if figures.impossible:
        delta = figures.values["little_delta"]
        found.append(Finding("MISMATCH", f"its requests add up to {figures.values['in_flight_mean']:.4g} in flight, "
                             f"where {figures.values['max_concurrency']} is the limit (Little's check "
                             f"{100 * delta:+.2f} %): times or counts are wrong"))  # fmt: skip
    return found


def _rounding(result: Result, figures: Figures) -> float:
    """Absolute slack for what a printed rate may be off: its own two decimals and those of the duration."""
    if result.form != TEXT:
        return 0.0
    rates = (figures.values[name] or 0.0 for name in ("output_tok_s", "request_throughput_req_s", "in_flight_mean"))
    return PRINTED_TO + PRINTED_TO * max(rates) / (figures.values["duration_s"] or 1.0)


def _stated_twice(result: Result, figures: Figures) -> list[tuple[str, float, float]]:
    """Name, the file's own figure, and the same computed from its requests, or from its totals where it lists none."""
    stated, values, run = result.stated, figures.values, figures.run
    if not values["completed"] or not values["duration_s"]:
        return []
    pairs: list[tuple[str, Any, Any]] = []
    if run is None:
        tokens = values["output_tokens"]
        pairs += [
            ("output_tok_s", stated["output_tok_s"], None if tokens is None else tokens / values["duration_s"]),
            ("request_throughput_req_s", stated["request_throughput_req_s"],
             values["completed"] / values["duration_s"]),
            ("in_flight_mean", stated["in_flight_mean"], values["in_flight_mean"]),
        ]  # fmt: skip
    else:
        pairs += [(name, stated[name], values[name]) for name in (
            "completed", "output_tokens", "prompt_tokens", "output_tok_s", "request_throughput_req_s", "ttft_mean_ms",
            "ttft_p50_ms", "tpot_mean_ms", "tpot_p50_ms", "in_flight_mean")]  # fmt: skip
        pairs += [("e2el_mean_ms", stated["e2el_mean_ms"], run["e2el_mean_ms"]),
                  ("itl_mean_ms", stated["itl_mean_ms"], values["itl_mean_ms"]),
                  ("itl_median_ms", stated["itl_p50_ms"], values["itl_median_ms"])]  # fmt: skip
    return [(name, float(one), float(two)) for name, one, two in pairs if one is not None and two is not None]


def _unsteady(result: Result, figures: Figures, thresholds: Mapping[str, float]) -> list[Finding]:
    """Too short a steady window, too few waves, or too empty a run (method.md 3 and 5)."""
    values, found = figures.values, []
    asked_s = max(thresholds["steady_window_min_s"],
                  thresholds["steady_window_min_e2el"] * (values["e2el_mean_s"] or 0.0))  # fmt: skip
    if values["window_s"] is not None and values["window_s"] < asked_s:
        found.append(f"the steady window is {values['window_s']:.3g} s, {asked_s:.3g} s are asked for")
    elif values["window_s"] is None and values["duration_s"] < asked_s:
        found.append(f"the whole run took {values['duration_s']:.3g} s, {asked_s:.3g} s of steady window are asked for")
    if result.closed_loop and values["max_concurrency"] is None:
        found.append("neither a limit of concurrency nor a request rate: all prompts were sent at once, and nothing "
                     "was ever steady")
    if result.closed_loop and values["waves"] is not None and values["waves"] < WAVES_MIN:
        found.append(f"{values['waves']:.4g} waves (prompts / concurrency), {WAVES_MIN} are asked for")
    if values["little"] == little.REFUSED and values["little_delta"] < 0:
        found.append(f"{values['in_flight_mean']:.4g} requests were in flight on average, not the "
                     f"{values['max_concurrency']} allowed (Little's check {100 * values['little_delta']:+.1f} %)")
    return [Finding("UNSTEADY", what) for what in found]


def _stalled(result: Result, figures: Figures) -> list[Finding]:
    """Stalls by request; without requests, those that the stated percentiles prove: each is at most the maximum."""
    stated, values = result.stated, figures.values
    if values["stalls"] is not None:
        if not values["stalls"]:
            return []
        return [Finding("STALLED", f"{values['stalls']} of {values['completed']} requests stood still for a second or "
                        "more")]  # fmt: skip
    median_ms, high_ms = stated["ttft_p50_ms"], max(stated["ttft_p99_ms"] or 0.0, stated["ttft_p90_ms"] or 0.0)
    found = []
    if result.longest_itl_ms is not None and result.longest_itl_ms > stalls.LONG_MS:
        found.append(Finding("STALLED", f"gaps between tokens reach {result.longest_itl_ms / 1000:.3g} s at least"))
    if median_ms and high_ms > max(median_ms + stalls.LONG_MS, stalls.TIMES_MEDIAN * median_ms):
        found.append(Finding("STALLED", f"times to first token reach {high_ms / 1000:.3g} s, their median is "
                             f"{median_ms / 1000:.3g} s"))  # fmt: skip
    return found


def warnings(result: Result, figures: Figures) -> list[str]:
    """What bears on a figure and is no fault of the run."""
    values, stated, told = figures.values, result.stated, []
    if result.closed_loop and values["whole_waves"] is False:
        told.append(f"{values['waves']:.4g} waves are not whole: at one output length the last, part-filled wave makes "
                    f"throughput read {-values['partial_wave_error_pct']:.1f} % low. Give prompts as a multiple of the "
                    "concurrency.")  # fmt: skip
    chunk = values["tokens_per_chunk"]
    peak, mean = stated["peak_tok_s"], values["output_tok_s"]
    if peak is not None and mean is not None and 0 < peak < mean:
        why = ("it counts chunks and is no token rate (vllm#50677)" if chunk is not None and chunk > 1.02 else
               "it counts in whole seconds, and this run is too short or too even for that")  # fmt: skip
        told.append(f"its peak ({peak:.4g}) is below its mean ({mean:.4g} tok/s): {why}.")
    if chunk is not None and chunk > 1.02:
        told.append(f"a chunk carries {chunk:.2f} tokens on average (speculative decoding, or chunks merged on their "
                    "way): inter-token latency is between chunks, TPOT is per token.")  # fmt: skip
    if values["request_rate_req_s"] is not None and values["request_throughput_req_s"] is not None:
        served, asked = values["request_throughput_req_s"], values["request_rate_req_s"]
        if served < 0.9 * asked:
            told.append(f"{served:.3g} requests/s were served of {asked:.3g} asked for: the server or the limit ruled, "
                        "not the rate.")  # fmt: skip
        if values["e2el_schedule_mean_s"] is None:
            told.append("latencies begin when the client sent a request, after it waited for a place (vllm#54101): "
                        "those from schedule are longer.")  # fmt: skip
    if figures.run is not None and values["completed"] and values["ttft_mean_ms"] is None:
        told.append("answers came in one piece, not streamed: there is no time to first token and none between tokens.")
    told += _odd_lengths(result)
    return told


def _odd_lengths(result: Result) -> list[str]:
    if result.lists is None:
        return []
    lengths = Counter(length for length in result.lists["output_lens"] if length > 0)
    total = sum(lengths.values())
    if not total:
        return []
    usual, many = lengths.most_common(1)[0]
    short = sum(count for length, count in lengths.items() if length < usual)
    if many < total and many >= 0.75 * total and short:
        return [f"{short} answers are shorter than the {usual} tokens that {many} of {total} have: stopped early, or "
                "an error inside the stream that the client took for the end (vllm#57519)."]  # fmt: skip
    return []
