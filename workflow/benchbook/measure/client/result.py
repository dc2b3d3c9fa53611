"""A run written down in the form of `vllm bench serve --save-detailed`, and what that form has no place for.

Every key of vLLM 0.32's result stands here with its meaning and unit (vllm/benchmarks/serve.py), so that others' tools
read it. A request that failed stands in its lists as vLLM has it: zeros and an error text. Two keys more:

    benchbook         lists with one entry a request, in the same order: what the zeros hide (null where not known)
        stream_errors     text of an error event inside the stream, or null
        usage_tokens      the server's count of output tokens; asked_tokens: those asked for
        finished          the stream came to its end ([DONE], response.completed)
        chunks            streamed events that hold tokens, which are the ones of ttfts and itls (answer.py says which
                          do); empty_chunks: [], since none is among them that does not
        chunk_kinds       a letter for each event with a choice: t answer, r reasoning, c tool call, e without content
        chunk_times       s from the start to each of those; null where they are the ones of ttfts and itls
        chunk_tokens      tokens of each of those where the stream itself says, else null
        failure_kinds     answer.Failure.kind, or null; failure_s: seconds from its start
        answer_ttfts      s to the first token of the answer, where reasoning may come before it
        scheduled_times   when it was due (the clock of start_times); connect_times: s that a new connection took;
        send_times        s from its start until the kernel had the whole request
        statuses, finish_reasons, cached_tokens, reasoning_tokens, reads
    benchbook_client  how the run was sent, and own_cost.figures

Lists `ttfts`, `itls`, `latencies`, `start_times` and `queue_times` are in seconds, start_times on the clock of
time.perf_counter(). A chunk's time is that of the read that completed it.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from benchbook.measure.client import own_cost
from benchbook.measure.client.answer import Answer
from benchbook.measure.client.load import Load
from benchbook.measure.client.workers import Ran

DIGITS = 7
PERCENTILES = (50, 90, 95, 99)


def result(load: Load, ran: Ran, workload: dict[str, Any], seed: int, request_rate: float | None = None,
           burstiness: float | None = None) -> dict[str, Any]:  # fmt: skip
    """The result of a run. `workload`, `seed`, `request_rate` (1/s, or None) say where its requests are from."""
    answers = ran.answers
    good = [one for one in answers if one.failure is None]
    duration_s = ran.m_end_s - ran.m_start_s
    output_tokens = sum(one.output_tokens or 0 for one in good)
    prompt_tokens = _sum([_prompt_tokens(load, one) for one in good])
    known_s = duration_s if good and duration_s > 0 and not ran.stopped else None
    open_loop = load.arrivals_s is not None
    rate = request_rate if request_rate is not None else "inf"
    if open_loop and request_rate is None:
        rate = len(answers) / duration_s if duration_s > 0 else "inf"
    return {
        "date": time.strftime("%Y%m%d-%H%M%S", time.localtime(ran.t_end_s)),
        "endpoint_type": load.endpoint,
        "backend": load.endpoint,
        "label": None,
        "model_id": load.model,
        "tokenizer_id": None,
        "num_prompts": len(load.prompts),
        "request_rate": rate,
        "burstiness": burstiness,
        "max_concurrency": load.concurrency,
        "duration": duration_s,
        "completed": len(good),
        "failed": len(answers) - len(good),
        "total_input_tokens": prompt_tokens,
        "total_output_tokens": output_tokens,
        "request_throughput": _per_s(len(good), known_s),
        "request_goodput": None,
        "output_throughput": _per_s(output_tokens, known_s),
        "total_token_throughput": _per_s(None if prompt_tokens is None else prompt_tokens + output_tokens, known_s),
        "input_lens": [_prompt_tokens(load, one) if one.failure is None else load.prompts[one.index].tokens or 0
                       for one in answers],
        "output_lens": [one.output_tokens or 0 if one.failure is None else 0 for one in answers],
        "ttfts": [_or_zero(one, one.ttft_s) for one in answers],
        "itls": [_gaps(one) for one in answers],
        "start_times": [one.started_s or 0.0 for one in answers],
        "latencies": [_or_zero(one, one.e2el_s) for one in answers],
        "queue_times": [_since_schedule(one) if open_loop else 0.0 for one in answers],
        "generated_texts": [one.text for one in answers],
        "errors": [_error(one) for one in answers],
        "max_output_tokens_per_s": _fullest_second(good),
        "max_concurrent_requests": _most_in_flight(answers),
        "rtfx": None,
        **_spread("ttft", good, lambda one: one.ttft_s),
        **_spread("tpot", good, lambda one: one.tpot_s),
        **_spread_of("itl", [gap for one in good for gap in one.itl_s]),
        **_spread("e2el", good, lambda one: one.e2el_s),
        "benchbook": _notes(load, answers),
        "benchbook_client": {
            "url": load.target.url,
            "endpoint": load.endpoint,
            "workload": workload,
            "seed": seed,
            "connections": "kept" if load.keep_connections else "new",
            "read_gap_s": load.read_gap_s,
            "request_id": load.request_id,
            "ignore_eos": load.sampling.ignore_eos,
            "extra": dict(load.sampling.extra),
            "stopped": ran.stopped,
            "t_start_s": ran.t_start_s,
            "t_end_s": ran.t_end_s,
            "m_start_s": ran.m_start_s,
            "m_end_s": ran.m_end_s,
            "failures": dict(Counter(one.failure.kind for one in answers if one.failure is not None)),
            **own_cost.figures(ran),
        },
    }


def _notes(load: Load, answers: Sequence[Answer]) -> dict[str, list[Any]]:
    def column(value: Callable[[Answer], Any]) -> list[Any]:
        return [value(one) for one in answers]

    return {
        "stream_errors": column(lambda one: one.failure.text if one.failure and one.failure.kind == "error_event"
                                else None),
        "usage_tokens": column(lambda one: one.output_tokens),
        "asked_tokens": column(lambda one: load.prompts[one.index].output_tokens),
        "finished": column(lambda one: one.done),
        "chunks": column(lambda one: len(one.token_s)),
        "empty_chunks": column(lambda one: []),
        "chunk_kinds": column(lambda one: one.kinds),
        "chunk_times": column(lambda one: None if one.failure is None and one.chunk_s == one.token_s
                              else [round(moment, DIGITS) for moment in one.chunk_s]),
        "chunk_tokens": column(lambda one: None if one.chunk_tokens is None else list(one.chunk_tokens)),
        "failure_kinds": column(lambda one: one.failure and one.failure.kind),
        "failure_s": column(lambda one: one.failure and _short(one.failure.at_s)),
        "answer_ttfts": column(lambda one: _short(one.answer_ttft_s) if one.failure is None else None),
        "scheduled_times": column(lambda one: one.scheduled_s),
        "connect_times": column(lambda one: _short(one.connect_s)),
        "send_times": column(lambda one: None if one.sent_s is None or one.started_s is None
                             else _short(one.sent_s - one.started_s)),
        "statuses": column(lambda one: one.status),
        "finish_reasons": column(lambda one: one.finish_reason),
        "cached_tokens": column(lambda one: one.cached_tokens),
        "reasoning_tokens": column(lambda one: one.reasoning_tokens),
        "reads": column(lambda one: one.reads),
    }  # fmt: skip


def _prompt_tokens(load: Load, one: Answer) -> int | None:
    """The server's count, or the exact length that was sent; None where neither is known."""
    return one.prompt_tokens or load.prompts[one.index].tokens


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)


def _per_s(amount: int | None, seconds: float | None) -> float | None:
    """None where nothing is known; a run that was broken off has no throughput: what it broke off took time, too."""
    return amount / seconds if amount is not None and seconds else None


def _or_zero(one: Answer, seconds: float | None) -> float:
    return round(seconds, DIGITS) if one.failure is None and seconds is not None else 0.0


def _gaps(one: Answer) -> list[float]:
    return [round(gap, DIGITS) for gap in one.itl_s] if one.failure is None else []


def _since_schedule(one: Answer) -> float:
    return max(0.0, one.started_s - one.scheduled_s) if one.started_s is not None else 0.0


def _error(one: Answer) -> str:
    return f"{one.failure.kind}: {one.failure.text}" if one.failure is not None else ""


def _short(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, DIGITS)


def _spread(name: str, good: Sequence[Answer], value: Callable[[Answer], float | None]) -> dict[str, float | None]:
    return _spread_of(name, [seconds for one in good if (seconds := value(one)) is not None])


def _spread_of(name: str, seconds: Sequence[float]) -> dict[str, float | None]:
    """Mean, median, standard deviation and percentiles in ms, under vLLM's names; null for an empty list."""
    names = (f"mean_{name}_ms", f"median_{name}_ms", f"std_{name}_ms", *(f"p{one}_{name}_ms" for one in PERCENTILES))
    if not seconds:
        return dict.fromkeys(names)
    values = [1000 * one for one in seconds]
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    cuts = statistics.quantiles(values, n=100, method="inclusive") if len(values) > 1 else values * 99
    return dict(zip(names, (mean, cuts[49], deviation, *(cuts[one - 1] for one in PERCENTILES)), strict=True))


def _fullest_second(good: Sequence[Answer]) -> float | None:
    """Most output tokens in a whole second of the run, each chunk counted with its share of the request's tokens."""
    starts = [one.started_s for one in good if one.started_s is not None]
    if not starts:
        return None
    first_s = min(starts)
    buckets: defaultdict[int, float] = defaultdict(float)
    for one in good:
        if one.started_s is None or not one.output_tokens:
            continue
        offset_s, each = one.started_s - first_s, one.output_tokens / len(one.token_s)
        for moment in one.token_s:
            buckets[int(offset_s + moment)] += each
    return max(buckets.values(), default=None)


def _most_in_flight(answers: Sequence[Answer]) -> int | None:
    turns = sorted(
        turn for one in answers if one.started_s is not None for turn in ((one.started_s, 1), (one.ended_s, -1))
    )  # fmt: skip
    most = now = 0
    for _, change in turns:
        now += change
        most = max(most, now)
    return most or None
