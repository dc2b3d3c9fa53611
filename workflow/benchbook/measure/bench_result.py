"""What a `vllm bench serve --save-detailed` result says of a run: is it whole, and how fast was it.

Where a load client of ours wrote the result, its key `benchbook` says what vLLM's own lists hide, and is believed: that
of engines/inside/client_truth.py, or the native client's, which says more (measure/client/result.py). A result without
it is read by vLLM's lists alone.

Standard library only: the session judges runs and warmup readings with it while it measures, derive reads the same
numbers from the same functions.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

STALL_S = 1.0
STALL_TIMES = 3


@dataclass(frozen=True)
class Request:
    """One request as the client saw it; times in seconds, `start_s` on the client's monotonic clock.

    Everything but `start_s`, `ok`, `error` and what is said of a failure is None for a request that failed. `itl_s` is
    one gap per chunk that carried tokens. `queue_s`: from when the schedule had it to when it was sent, None without a
    request rate. `tokens_from`: usage (the server's count) | retokenized (the client's guess) | None (not known).

    The native client alone says (None otherwise): `failure_kind` and `failure_s`, why and how long after its start a
    request failed; `asked_tokens`; `answer_ttft_s`, the first token that is no reasoning; `send_s`, until the kernel
    had the request; `connect_s`, what a new connection took; `cached_tokens`, by the server; `chunk_kinds`, a letter
    for each chunk (t answer, r reasoning, c tool call, e nothing), and `chunk_s`, when each came after the start.
    """

    ok: bool
    error: str | None
    start_s: float | None
    ttft_s: float | None
    e2el_s: float | None
    itl_s: tuple[float, ...]
    prompt_tokens: int | None
    output_tokens: int | None
    queue_s: float | None = None
    tokens_from: str | None = None
    failure_kind: str | None = None
    failure_s: float | None = None
    asked_tokens: int | None = None
    answer_ttft_s: float | None = None
    send_s: float | None = None
    connect_s: float | None = None
    cached_tokens: int | None = None
    chunk_kinds: str | None = None
    chunk_s: tuple[float, ...] = ()

    @property
    def tpot_s(self) -> float | None:
        """(E2EL - TTFT) / (output tokens - 1), method.md 1; None below two tokens, when the request failed, or when
        all tokens came at one time, so that the time between them was not seen."""
        if self.e2el_s is None or self.ttft_s is None or self.output_tokens is None or self.output_tokens < 2:
            return None
        seen_s = self.e2el_s - self.ttft_s
        return seen_s / (self.output_tokens - 1) if seen_s > 0 else None


def requests(result: Mapping[str, Any]) -> list[Request]:
    """The requests of a result, in the client's order.

    A failed request stands in vLLM's lists with output length 0 and latency 0: those zeros are no measurement.
    `latencies` is missing in older versions; E2EL is then TTFT + sum of ITL, the same by method.md 1.
    A stream with an error event in it, or one that ended without [DONE], is a request that failed even where vLLM
    lists it as a success (vllm#57519).
    """
    listed = []
    unknown = [None] * len(result["ttfts"])
    latencies = result.get("latencies") or unknown
    scheduled = result.get("request_rate") not in (None, "inf") and result.get("queue_times")
    for ttft, latency, itl, start, n_in, n_out, error, queued, note in zip(
        result["ttfts"], latencies, result["itls"], result["start_times"], result["input_lens"], result["output_lens"],
        result["errors"], scheduled or unknown, _notes(result, len(unknown)), strict=True,
    ):  # fmt: skip
        problem = _problem(error, n_out, note)
        start_s = start if start or problem is None else None  # vLLM lists 0 for a request that was never sent
        queued = queued if start_s is not None else None
        told = {name: note.get(key) for name, key in _TOLD.items()}
        if problem is not None:
            told |= dict.fromkeys(_OF_AN_ANSWER) | {"chunk_s": _chunk_times(None, (), note)}
            listed.append(Request(False, problem, start_s, None, None, (), None, None, queued, **told))
            continue
        tokens = note.get("usage_tokens") or n_out
        e2el_s = latency if latency is not None else ttft + math.fsum(itl)
        timing = _token_chunks(ttft, itl, e2el_s, tokens, note)
        told["chunk_s"] = _chunk_times(ttft, itl, note)
        listed.append(Request(True, None, start_s, *timing, n_in, tokens, queued, _tokens_from(note), **told))
    return listed


# field of Request: key of the native client's notes
_TOLD = {
    "failure_kind": "failure_kinds", "failure_s": "failure_s", "asked_tokens": "asked_tokens",
    "answer_ttft_s": "answer_ttfts", "send_s": "send_times", "connect_s": "connect_times",
    "cached_tokens": "cached_tokens", "chunk_kinds": "chunk_kinds",
}  # fmt: skip
_OF_AN_ANSWER = ("answer_ttft_s", "cached_tokens")


def _notes(result: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """The client's notes turned to one mapping a request; empty mappings where it took none."""
    noted: dict[str, list[Any]] = dict(result.get("benchbook") or {})
    return [dict(zip(noted, values, strict=True)) for values in zip(*noted.values(), strict=True)] or [{}] * count


def _problem(error: str, tokens: int, note: Mapping[str, Any]) -> str | None:
    """Why a request failed, one line; None when it did not. The native client has judged each request by itself."""
    if "failure_kinds" in note:
        kind = note["failure_kinds"]
        return kind and (error.strip().splitlines() or [kind])[0]
    if told := note.get("stream_errors"):
        return f"error in the stream: {(told.strip().splitlines() or ['without a text'])[-1]}"
    if error.strip():
        return error.strip().splitlines()[-1]
    if error or tokens <= 0:
        return "no tokens came back"
    if note.get("finished") is False:
        return "the stream ended without [DONE]"
    return None


def _tokens_from(note: Mapping[str, Any]) -> str | None:
    if "usage_tokens" not in note:
        return None
    return "usage" if note["usage_tokens"] else "retokenized"


def _token_chunks(
    ttft_s: float, itl_s: Sequence[float], e2el_s: float, tokens: int, note: Mapping[str, Any]
) -> tuple[float, float, tuple[float, ...]]:
    """TTFT, E2EL and ITL over the chunks that carried tokens.

    A chunk with empty text may be a token without printable text, or carry none. Where the server's count equals the
    chunks without the empty ones, or is larger than all chunks together (chunks then hold several tokens, and an empty
    one is no evidence of any), the empty ones are left out; in any other case all stay.
    """
    empty = set(note.get("empty_chunks") or ())
    chunks, counted = len(itl_s) + 1, note.get("usage_tokens")
    if not empty or len(empty) == chunks or note.get("chunks") != chunks or counted is None:
        return ttft_s, e2el_s, tuple(itl_s)
    if counted != chunks - len(empty) and counted <= chunks:
        return ttft_s, e2el_s, tuple(itl_s)
    times = [ttft_s]
    for gap in itl_s:
        times.append(times[-1] + gap)
    kept = [time for index, time in enumerate(times) if index not in empty]
    return kept[0], kept[-1], tuple(later - sooner for sooner, later in pairwise(kept))


def _chunk_times(ttft_s: float | None, gaps_s: Sequence[float], note: Mapping[str, Any]) -> tuple[float, ...]:
    """When each streamed chunk came, from the request's start; nothing from a client that does not note them.

    The native client lists them where they are not those of TTFT and ITL: some held no token, or the request failed.
    """
    if note.get("chunk_times") is not None:
        return tuple(note["chunk_times"])
    if ttft_s is None or len(note.get("chunk_kinds") or ()) != len(gaps_s) + 1:
        return ()
    return tuple(accumulate((ttft_s, *gaps_s)))


@dataclass(frozen=True)
class Summary:
    """Throughput and mean TPOT of a run, and mean TPOT of its first wave; None where no request ended well."""

    throughput_tok_s: float | None
    tpot_mean_ms: float | None
    tpot_first_wave_ms: float | None


def summarise(result: Mapping[str, Any], concurrency: int) -> Summary:
    """`concurrency`: requests of a wave; the first wave is those that were sent first."""
    listed = requests(result)
    good = [request for request in listed if request.ok]
    tokens = sum(request.output_tokens or 0 for request in good)
    sent = sorted((request for request in listed if request.start_s is not None), key=lambda sent: sent.start_s or 0.0)
    return Summary(
        throughput_tok_s=tokens / result["duration"] if good and result["duration"] > 0 else None,
        tpot_mean_ms=_tpot_mean_ms(good),
        tpot_first_wave_ms=_tpot_mean_ms(sent[:concurrency]),
    )


def _tpot_mean_ms(listed: Sequence[Request]) -> float | None:
    tpots = [request.tpot_s for request in listed if request.ok and request.tpot_s is not None]
    return 1000 * math.fsum(tpots) / len(tpots) if tpots else None


def stalls(listed: Sequence[Request]) -> int:
    """How many of the ok requests stalled (method.md 8): an ITL above 1 s, or a TTFT above both p50 + 1 s and 3 x p50.

    p50 is the median TTFT of the same requests; of one or two requests none can lie so far above it, which leaves ITL.
    """
    good = [request for request in listed if request.ok and request.ttft_s is not None]
    middle = statistics.median(request.ttft_s or 0.0 for request in good) if good else 0.0
    late = max(middle + STALL_S, STALL_TIMES * middle)
    return sum((request.ttft_s or 0.0) > late or max(request.itl_s, default=0.0) > STALL_S for request in good)


@dataclass(frozen=True)
class Judgement:
    """`status`: ok | incomplete | failed. `kind`: requests | short_output | None. `reason`: one sentence or None."""

    status: str
    kind: str | None
    reason: str | None


def judge(result: Mapping[str, Any], num_prompts: int, output_tokens: int | None) -> Judgement:
    """Whether every request asked for came back whole.

    `output_tokens`: asked of each, None where lengths vary; a client's own note of what it asked for goes before it.
    The command exits 0 with every request failed (engines.md 2), so only the requests themselves tell.
    """
    listed = requests(result)
    bad = [request for request in listed if not request.ok]
    if len(bad) == len(listed) or not listed:
        first = bad[0].error if bad else "the client listed none"
        return Judgement("failed", "requests", f"all {num_prompts} requests failed: {first}")
    if bad:
        return Judgement("incomplete", "requests", f"{len(bad)} of {num_prompts} requests failed: {bad[0].error}")
    if len(listed) != num_prompts:
        return Judgement("incomplete", "requests", f"{len(listed)} of {num_prompts} requests were sent")
    asked = [output_tokens if request.asked_tokens is None else request.asked_tokens for request in listed]
    if None in asked:
        return Judgement("incomplete", "short_output", "the result does not say how many tokens were asked for")
    short = [(request.output_tokens, tokens) for request, tokens in zip(listed, asked, strict=True)
             if request.output_tokens != tokens]  # fmt: skip
    if short:
        got, wanted = short[0]
        return Judgement(
            "incomplete", "short_output",
            f"{len(short)} of {num_prompts} requests did not return the {f'{wanted} ' * (len(set(asked)) == 1)}tokens "
            f"asked for (first: {got}{'' if len(set(asked)) == 1 else f' of {wanted}'})",
        )  # fmt: skip
    return Judgement("ok", None, None)
