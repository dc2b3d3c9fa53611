"""Read what the network gave for one request: when each chunk came, what it held, and what went wrong.

This runs after the run, so that nothing is parsed while anything is timed. An event's time is that of the read that
brought the end of its blank line.

Which chunks hold tokens. A chunk without text (kind e) may be a token without printable text or carry none, and the
stream does not say. Where the events count tokens themselves (SGLang's generate), the chunks in which the count grew
hold them. Else, where the server's count equals the chunks with content, or is larger than all chunks together (so that
chunks hold several tokens and an empty one is no evidence of any), those without content carried none. Else, on
completions and generate, every chunk holds a token. On chat and responses all chunks do where the count equals them,
chat's first one apart, which only says who speaks; in any other case only those with content. A chunk may hold more
than one token.

More tokens than were asked for are no failure: the counts say it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from benchbook.measure.client import events, http_message, raw
from benchbook.measure.client.endpoints import Endpoint
from benchbook.measure.client.endpoints.stream import EMPTY, HEAD, REASONING, TEXT, TOOL_CALL, Stream, message_of
from benchbook.measure.client.raw import Raw

_UNFIT = (TypeError, AttributeError, KeyError, IndexError, ValueError)
_ENDINGS = {
    raw.CLOSED: "the connection was closed before the answer was complete",
    raw.RESET: "the connection was reset before the answer was complete",
    raw.REFUSED: "the connection was refused",
    raw.UNREACHABLE: "the server could not be reached",
    raw.READ_GAP: "nothing more came within the time allowed between reads",
    raw.INTERRUPTED: "the run was interrupted before the answer was complete",
}


@dataclass(frozen=True)
class Failure:
    """Why a request failed. `at_s`: seconds since it was started, since it was due where it never was started.

    `kind`, the first of these that applies: error_event (the server said so in the stream) | http_status (other than
    200) | closed | reset | refused | unreachable | read_gap | interrupted (the transport, before the stream was
    complete) | unreadable (HTTP framing, JSON or form of an event) | no_done (the response ended without [DONE] or
    response.completed) | no_usage (no token count) | short_output (fewer tokens than were asked for, or none at all).
    """

    kind: str
    text: str
    at_s: float


@dataclass(frozen=True)
class Answer:
    """One request's answer. Of a failed one, what came until it failed; its figures are no measurement.

    `status`: of HTTP, None when no head came. `scheduled_s`, `started_s`, `sent_s`, `connect_s`, `ended_s`: as in Raw.
    `chunk_s`: arrival of each event that carries output, seconds since `started_s`, in order. `kinds`: a letter for
    each: t answer text, r reasoning, c tool call, e nothing. `token_s`: `chunk_s` of the chunks that hold tokens (see
    the module). `text`, `reasoning`: what was said. Token counts are the server's usage, None where it told none;
    `output_tokens` holds reasoning too. `finish_reason`: stop, length, ... `reads`: how many reads brought it. `done`:
    the stream said that it is complete. `chunk_tokens`: tokens in each chunk where the events count them, else None.
    """

    index: int
    status: int | None
    failure: Failure | None
    scheduled_s: float
    started_s: float | None
    sent_s: float | None
    connect_s: float | None
    ended_s: float
    chunk_s: array[float]
    kinds: str
    token_s: array[float]
    text: str
    reasoning: str
    prompt_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    finish_reason: str | None
    reads: int
    done: bool
    chunk_tokens: array[int] | None

    @property
    def ttft_s(self) -> float | None:
        """Until the first chunk that holds a token of any channel: reasoning, answer or tool call."""
        return self.token_s[0] if self.token_s else None

    @property
    def answer_ttft_s(self) -> float | None:
        """Until the first chunk of the answer or of a tool call; None when all there was is reasoning."""
        if REASONING not in self.kinds:
            return self.ttft_s
        places = [place for place in (self.kinds.find(TEXT), self.kinds.find(TOOL_CALL)) if place >= 0]
        return self.chunk_s[min(places)] if places else None

    @property
    def e2el_s(self) -> float | None:
        """Until the last chunk that holds a token."""
        return self.token_s[-1] if self.token_s else None

    @property
    def tpot_s(self) -> float | None:
        """(E2EL - TTFT) / (output tokens - 1), method.md 1.

        None below two tokens, without the server's count, and where one chunk or one read brought all tokens: their
        distance in time was not seen then, and is not 0.
        """
        if len(self.token_s) < 2 or self.output_tokens is None or self.output_tokens < 2:
            return None
        seen_s = self.token_s[-1] - self.token_s[0]
        return seen_s / (self.output_tokens - 1) if seen_s > 0 else None

    @property
    def itl_s(self) -> tuple[float, ...]:
        """The gaps between the chunks that hold tokens."""
        return tuple(later - sooner for sooner, later in pairwise(self.token_s))


def read(raw: Raw, endpoint: Endpoint, asked_tokens: int, exact: bool) -> Answer:
    """Read one request's bytes. `exact`: fewer tokens than `asked_tokens` is a failure. Never raises on what came."""
    clock = _Clock(raw)
    message = http_message.read(raw.data)
    stream = Stream()
    fault = None
    if message.status == 200:
        fault = _read_events(stream, message, endpoint, _ended(raw, message), clock)
    kinds = "".join(stream.kinds)
    tokens = _tokens(stream)
    token_s = _token_s(stream, kinds, tokens, endpoint.empty_is_token)
    failure = _failure(raw, message, stream, fault, clock, len(token_s), asked_tokens, exact)
    return Answer(
        raw.index, message.status, failure, raw.scheduled_s, raw.started_s, raw.sent_s, raw.connect_s, raw.ended_s,
        stream.chunk_s, kinds.replace(HEAD, EMPTY), token_s, _printable(stream.text), _printable(stream.reasoning),
        stream.prompt_tokens, stream.output_tokens, stream.cached_tokens, stream.reasoning_tokens,
        stream.finish_reason, len(raw.times), stream.done, tokens,
    )  # fmt: skip


def _start_s(raw: Raw) -> float:
    return raw.scheduled_s if raw.started_s is None else raw.started_s


class _Clock:
    """When so many bytes of the response had come, seconds since the request's start."""

    def __init__(self, raw: Raw) -> None:
        self._start_s, self._times, self._until = _start_s(raw), raw.times, list(accumulate(raw.sizes))

    def at(self, count: int) -> float:
        return self.each([count])[0]

    def each(self, counts: Iterable[int]) -> list[float]:
        start_s, times, until = self._start_s, self._times, self._until
        return [times[bisect_left(until, count)] - start_s for count in counts]


def _ended(raw: Raw, message: http_message.Message) -> bool:
    """Whether the response is all there; one that the connection's end ends is there when the server closed it."""
    return message.whole is True or (message.whole is None and raw.ending in ("whole", "closed"))


def _read_events(
    stream: Stream, message: http_message.Message, endpoint: Endpoint, ended: bool, clock: _Clock
) -> Failure | None:
    """Read all events into `stream`; the first that cannot be read, if any. Those after it are read as well."""
    found = events.read(message.body, ended)
    if ended and not found.values:
        return _other_body(message, stream, clock)
    fault = None
    read, done_event = endpoint.read, endpoint.done_event
    for value, at_s in zip(found.values, clock.each(message.offsets(found.ends)), strict=True):
        if value is events.DONE:
            stream.done = stream.done or done_event
            continue
        try:
            if isinstance(value, dict):
                read(stream, value, at_s)
                continue
            problem = value.text if isinstance(value, events.Broken) else f"a {type(value).__name__}, not an object"
        except _UNFIT as error:
            problem = f"it has not the form of {endpoint.path}: {error}"
        fault = fault or Failure("unreadable", f"an event cannot be read: {problem}", at_s)
    if endpoint.finish is not None:
        endpoint.finish(stream)
    return fault


def _other_body(message: http_message.Message, stream: Stream, clock: _Clock) -> Failure | None:
    """What is wrong with a body without any event: a JSON object may say that it is an error."""
    body = message.body.strip()
    if not body or body.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        return None
    at_s = clock.at(message.offsets([len(message.body)])[0])
    value = events.parsed(body)
    if isinstance(value, dict) and (value.get("error") or value.get("object") == "error"):
        stream.fail(message_of(value), at_s)
        return None
    kind = message.headers.get("content-type", "no type")
    return Failure("unreadable", f"the body is no event stream but {kind}: {_line(message.body)}", at_s)


def _tokens(stream: Stream) -> array[int] | None:
    """Tokens in each chunk; None where the events do not count them, or count back."""
    totals = stream.totals
    if not totals or len(totals) != len(stream.kinds):
        return None
    counts = [later - sooner for sooner, later in pairwise([0, *totals])]
    return array("q", counts) if min(counts) >= 0 else None


def _token_s(stream: Stream, kinds: str, tokens: array[int] | None, empty_is_token: bool) -> array[float]:
    """`chunk_s` of the chunks that hold tokens, by the rule that the module's docstring tells."""
    if tokens is not None:
        return _of(stream.chunk_s, [count > 0 for count in tokens])
    empty = kinds.count(EMPTY) + kinds.count(HEAD)
    if not empty:
        return stream.chunk_s
    if stream.output_tokens != len(kinds) - empty:
        if empty_is_token and (empty == len(kinds) or (stream.output_tokens or 0) <= len(kinds)):
            return stream.chunk_s
        if stream.output_tokens == len(kinds) - kinds.count(HEAD):
            return _of(stream.chunk_s, [kind != HEAD for kind in kinds])
    return _of(stream.chunk_s, [kind not in (EMPTY, HEAD) for kind in kinds])


def _of(times: array[float], kept: list[bool]) -> array[float]:
    if all(kept):
        return times
    return array("d", (time for time, keep in zip(times, kept, strict=True) if keep))


def _failure(
    raw: Raw, message: http_message.Message, stream: Stream, fault: Failure | None,
    clock: _Clock, token_chunks: int, asked_tokens: int, exact: bool,
) -> Failure | None:  # fmt: skip
    if stream.error is not None:
        return Failure("error_event", stream.error, stream.error_at_s)
    if message.status not in (None, 200):
        told = f"HTTP {message.status}: {_error_text(message.body)}"
        return Failure("http_status", told, clock.at(message.head_bytes))
    if message.fault is not None:
        fault = fault or Failure("unreadable", message.fault, clock.at(min(message.fault_at + 1, len(raw.data))))
    told_all = stream.done and stream.output_tokens is not None
    ended_s = raw.ended_s - _start_s(raw)
    if raw.ending in _ENDINGS and not told_all and not _ended(raw, message):
        text = raw.ending_text or _ENDINGS[raw.ending]
        return Failure(raw.ending, f"{text} ({fault.text})" if fault else text, ended_s)
    if fault is not None:
        return fault
    if not told_all and not _ended(raw, message):
        return Failure("unreadable", "the response is not complete, though its transport says so", ended_s)
    if not stream.done:
        return Failure("no_done", "the response ended before the stream said that it is complete", ended_s)
    count = stream.output_tokens
    if count is None:
        return Failure("no_usage", "the server told no token count", ended_s)
    if count == 0 or not token_chunks:
        return Failure("short_output", f"no output came, and the server counts {count} tokens", ended_s)
    if exact and count < asked_tokens:
        reason = f" (finish_reason {stream.finish_reason})" if stream.finish_reason else ""
        return Failure("short_output", f"{count} tokens came and {asked_tokens} were asked for{reason}", ended_s)
    return None


def _error_text(body: bytes) -> str:
    value = events.parsed(body)
    return message_of(value) if isinstance(value, dict) else _line(body)


def _line(body: bytes) -> str:
    """The first line of a body, at most 200 bytes of it."""
    lines = body.strip().splitlines()
    return lines[0][:200].decode(errors="replace") if lines else "no text"


def _printable(pieces: list[str]) -> str:
    """The pieces joined; halves of a character that the server's JSON split become one, or U+FFFD."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
