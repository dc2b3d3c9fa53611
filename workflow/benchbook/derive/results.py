"""A client's result as arrays, one entry a request.

measure/bench_result.py defines what a result says and reads it request by request, which is what a session needs. Here
the plain requests, which ended well and need nothing worked out, are read a column at a time; every other one is read
by that definition, so that it has no second version.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate, chain
from typing import Any

import numpy as np

from benchbook.measure import bench_result

_LISTS = ("ttfts", "itls", "start_times", "input_lens", "output_lens", "errors")


@dataclass(frozen=True)
class Columns:
    """bench_result.Request turned to columns; NaN where it says None. `itl_s` holds the gaps of all requests one after
    the other, `itls` how many are whose. Texts are lists, with None."""

    ok: np.ndarray
    error: list[str | None]
    start_s: np.ndarray
    ttft_s: np.ndarray
    e2el_s: np.ndarray
    itl_s: np.ndarray
    itls: np.ndarray
    prompt_tokens: np.ndarray
    output_tokens: np.ndarray
    queue_s: np.ndarray
    tokens_from: list[str | None]
    failure_kind: list[str | None]
    failure_s: np.ndarray
    asked_tokens: np.ndarray
    answer_ttft_s: np.ndarray
    send_s: np.ndarray
    connect_s: np.ndarray
    cached_tokens: np.ndarray

    def __len__(self) -> int:
        return len(self.ok)

    @property
    def tpot_s(self) -> np.ndarray:
        """bench_result.Request.tpot_s of each request."""
        seen_s = self.e2el_s - self.ttft_s
        known = (self.output_tokens >= 2) & (seen_s > 0)
        tpot_s = np.full(len(self), np.nan)
        tpot_s[known] = seen_s[known] / (self.output_tokens[known] - 1)
        return tpot_s


    @property
    def counted_by(self) -> str | None:
        """Who counted the output tokens of the ok requests: usage | retokenized (some of them) | None (not known)."""
        counts = {by for by, ok in zip(self.tokens_from, self.ok.tolist(), strict=True) if ok}
        if not counts or None in counts:
            return None
        return "retokenized" if "retokenized" in counts else "usage"


@dataclass(frozen=True)
class Chunks:
    """Streamed chunks of the requests that have any noted: each one's index and number of chunks; then, one request
    after the other, when each chunk came (s from the request's start) and a letter for it (bench_result.Request)."""

    request: np.ndarray
    chunks: np.ndarray
    t_s: np.ndarray
    kinds: str


NO_CHUNKS = Chunks(np.empty(0, int), np.empty(0, int), np.empty(0), "")
_TEXTS = ("error", "tokens_from", "failure_kind")
_FLOATS = [field.name for field in fields(Columns) if field.name not in ("ok", "itl_s", "itls", *_TEXTS)]
# column: the native client's note
_NOTED = {
    "failure_s": "failure_s", "asked_tokens": "asked_tokens", "answer_ttft_s": "answer_ttfts", "send_s": "send_times",
    "connect_s": "connect_times", "cached_tokens": "cached_tokens",
}  # fmt: skip


def read(result: Mapping[str, Any]) -> Columns:
    """The requests of a result, in the client's order: bench_result.requests, column by column."""
    count = len(result["ttfts"])
    notes: dict[str, Sequence[Any]] = dict(result.get("benchbook") or {})
    latencies = result.get("latencies") or [None] * count
    queued = result.get("queue_times") if result.get("request_rate") not in (None, "inf") else None
    queued = queued or [None] * count
    lists = [*(result[name] for name in _LISTS), latencies, queued, *notes.values()]
    if any(len(listed) != count for listed in lists):
        return _by_definition(bench_result.requests(result))
    plain = _plain(result, notes, count)
    columns: dict[str, Any] = {name: [None] * count for name in _TEXTS} | {
        "start_s": _numbers(result["start_times"]), "ttft_s": _numbers(result["ttfts"]),
        "e2el_s": _numbers(latencies), "prompt_tokens": _numbers(result["input_lens"]),
        "output_tokens": _numbers(result["output_lens"]), "queue_s": _numbers(queued),
        **{name: _numbers(notes[key]) if key in notes else np.full(count, np.nan) for name, key in _NOTED.items()},
    }  # fmt: skip
    if "usage_tokens" in notes:
        counted = _numbers(notes["usage_tokens"])
        known = ~np.isnan(counted) & (counted != 0)
        columns["output_tokens"] = np.where(known, counted, columns["output_tokens"])
        columns["tokens_from"] = ["usage" if one else "retokenized" for one in known.tolist()]
    columns["queue_s"] = np.where(np.isnan(columns["start_s"]), np.nan, columns["queue_s"])
    itls: list[Sequence[float]] = list(result["itls"])
    for index in np.flatnonzero(np.isnan(columns["e2el_s"]) & plain).tolist():
        columns["e2el_s"][index] = result["ttfts"][index] + math.fsum(itls[index])
    ok = np.ones(count, bool)
    rest = np.flatnonzero(~plain).tolist()
    for index, request in zip(rest, bench_result.requests(_only(result, rest)), strict=True):
        ok[index], itls[index] = request.ok, request.itl_s
        for name in _TEXTS:
            columns[name][index] = getattr(request, name)
        for name in _FLOATS:
            value = getattr(request, name)
            columns[name][index] = np.nan if value is None else value
    return Columns(ok=ok, itl_s=_joined(itls), itls=np.fromiter(map(len, itls), int, count), **columns)


def chunks(result: Mapping[str, Any], ok: np.ndarray | None = None) -> Chunks:
    """The streamed chunks of a result; none from a client that does not note them. `ok`: Columns.ok where the result
    is read already."""
    notes: Mapping[str, Any] = result.get("benchbook") or {}
    if "chunk_kinds" not in notes:
        return NO_CHUNKS
    good = (read(result).ok if ok is None else ok).tolist()
    indexes, times, kinds = [], [], []
    told_times = notes.get("chunk_times") or [None] * len(good)
    for index, (letters, told) in enumerate(zip(notes["chunk_kinds"], told_times, strict=True)):
        if told is None:
            gaps = result["itls"][index]
            if not good[index] or len(letters or "") != len(gaps) + 1:
                continue
            told = accumulate(gaps, initial=result["ttfts"][index])
        when = list(told)
        if letters and when:
            indexes.append(index)
            times.append(when)
            kinds.append(letters)
    return Chunks(np.array(indexes, int), np.array([*map(len, times)], int), _joined(times), "".join(kinds))


def _plain(result: Mapping[str, Any], notes: Mapping[str, Sequence[Any]], count: int) -> np.ndarray:
    """Which requests ended well beyond doubt and have no chunk to leave out."""
    if "failure_kinds" in notes:
        plain = np.fromiter((kind is None for kind in notes["failure_kinds"]), bool, count)
    else:
        plain = np.fromiter((error == "" for error in result["errors"]), bool, count)
        plain &= _numbers(result["output_lens"]) > 0
        if "stream_errors" in notes:
            plain &= np.fromiter((not error for error in notes["stream_errors"]), bool, count)
        if "finished" in notes:
            plain &= np.fromiter((end is not False for end in notes["finished"]), bool, count)
    if "empty_chunks" in notes:
        plain &= np.fromiter((not empty for empty in notes["empty_chunks"]), bool, count) | ~_may_lack_chunks(notes)
    return plain


def _may_lack_chunks(notes: Mapping[str, Sequence[Any]]) -> np.ndarray:
    """Where the server counted other than the chunks: then it matters which of them are empty."""
    counted, chunks = (_numbers(notes.get(name) or [None] * len(notes["empty_chunks"]))
                       for name in ("usage_tokens", "chunks"))  # fmt: skip
    differs: np.ndarray = counted != chunks
    return differs


def _only(result: Mapping[str, Any], indexes: Sequence[int]) -> dict[str, Any]:
    """`result` with these requests only."""
    count = len(result["ttfts"])

    def chosen(value: Any) -> Any:
        return [value[index] for index in indexes] if isinstance(value, list) and len(value) == count else value

    kept = {name: chosen(result[name]) for name in (*_LISTS, "latencies", "queue_times") if name in result}
    notes = {name: chosen(value) for name, value in (result.get("benchbook") or {}).items()}
    return kept | {"request_rate": result.get("request_rate"), "benchbook": notes}


def _by_definition(listed: Sequence[bench_result.Request]) -> Columns:
    """Columns of requests that are read already."""
    numbers: dict[str, Any] = {name: _numbers([getattr(one, name) for one in listed]) for name in _FLOATS}
    texts: dict[str, Any] = {name: [getattr(one, name) for one in listed] for name in _TEXTS}
    itls = [one.itl_s for one in listed]
    return Columns(
        ok=np.array([one.ok for one in listed], bool), itl_s=_joined(itls), itls=np.array([*map(len, itls)], int),
        **numbers, **texts,
    )  # fmt: skip


def _numbers(listed: Sequence[float | None]) -> np.ndarray:
    return np.array(listed, float)


def _joined(lists: Sequence[Sequence[float]]) -> np.ndarray:
    return np.fromiter(chain.from_iterable(lists), float, sum(map(len, lists)))
