"""The client's result files as one row per request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive import ragged, results
from benchbook.derive.run_key import run_key

Columns = Mapping[str, Any]


def rows(
    session_id: str, spec: Mapping[str, Any], record: Mapping[str, Any], result: Mapping[str, Any] | None
) -> Columns:
    """Columns of table `requests` for one run, NaN for null; none when the client wrote no result."""
    return {} if result is None else columns(session_id, spec, record, results.read(result))


def columns(
    session_id: str, spec: Mapping[str, Any], record: Mapping[str, Any], told: results.Columns
) -> Columns:
    """The same of a result that is read already.

    The client's send times are on its monotonic clock; the record holds both clocks at the run's start, which turns
    them into Unix seconds. Without that pair (the client died) they are null.
    """
    clock_known = record["m_start_s"] is not None
    sent_s = told.start_s + (record["t_start_s"] - record["m_start_s"] if clock_known else np.nan)
    asked = spec["workload"]["output_tokens"]
    return {
        **run_key(session_id, spec, record),
        "request": np.arange(len(told)),
        "ok": told.ok,
        "error": told.error,
        "failure_kind": told.failure_kind,
        "failure_s": told.failure_s,
        "t_send_s": sent_s,
        "t_first_s": sent_s + told.ttft_s,
        "t_last_s": sent_s + told.e2el_s,
        "prompt_tokens": told.prompt_tokens,
        "output_tokens": told.output_tokens,
        "cached_tokens": told.cached_tokens,
        "requested_output_tokens": np.where(np.isnan(told.asked_tokens), np.nan if asked is None else asked,
                                            told.asked_tokens),
        "chunks": np.where(told.ok, told.itls + 1.0, np.nan),
        "connect_ms": 1000 * told.connect_s,
        "send_ms": 1000 * told.send_s,
        "ttft_ms": 1000 * told.ttft_s,
        "answer_ttft_ms": 1000 * told.answer_ttft_s,
        "e2el_ms": 1000 * told.e2el_s,
        "tpot_ms": 1000 * told.tpot_s,
        "itl_ms": ragged.rows(1000 * told.itl_s, told.itls),
        "queue_ms": 1000 * told.queue_s,
    }  # fmt: skip


def joined(listed: Sequence[Columns]) -> Columns:
    """The columns of several runs, one below the other; every run has some."""
    counts = [len(columns["ok"]) for columns in listed]
    return {
        name: np.concatenate([_column(columns[name], count) for columns, count in zip(listed, counts, strict=True)])
        for name in (listed[0] if listed else ())
    }


def _column(values: Any, count: int) -> np.ndarray:
    """A column as an array: texts stay objects, one value is the same in every row."""
    if isinstance(values, np.ndarray):
        return values
    if isinstance(values, list):
        return np.array([*values, None], object)[:-1]
    return np.full(count, values, None if isinstance(values, int) else object)


def table(listed: Columns) -> pd.DataFrame:
    """Table `requests` from its columns."""
    if not listed or not len(listed["ok"]):
        return schema.empty("requests")
    return schema.check(pd.DataFrame(dict(listed), index=range(len(listed["ok"]))), "requests")


KINDS = {"t": "answer", "r": "reasoning", "c": "tool call", "e": "empty"}


def chunks(
    session_id: str, spec: Mapping[str, Any], record: Mapping[str, Any], result: Mapping[str, Any] | None
) -> pd.DataFrame:
    """Table `chunks` of one run: every streamed chunk of its requests, those that failed included; empty for a client
    that notes none."""
    return schema.empty("chunks") if result is None else chunk_table(session_id, spec, record, results.chunks(result))


def chunk_table(
    session_id: str, spec: Mapping[str, Any], record: Mapping[str, Any], told: results.Chunks
) -> pd.DataFrame:
    """The same of chunks that are read already."""
    if not len(told.request):
        return schema.empty("chunks")
    codes = np.full(128, -1, np.int8)
    codes[[ord(letter) for letter in KINDS]] = range(len(KINDS))
    run_id = run_key(session_id, spec, record)["run_id"]
    frame = pd.DataFrame({
        "request": np.repeat(told.request, told.chunks),
        "chunk": ragged.places(told.chunks),
        "t_s": told.t_s,
        "kind": _text(codes[np.frombuffer(told.kinds.encode("ascii", "replace"), np.uint8)], [*KINDS.values()]),
        "run_id": _text(np.zeros(len(told.t_s), np.int8), [run_id]),
    })
    return schema.check(frame, "chunks")


def _text(codes: np.ndarray, words: list[str]) -> Any:
    """The word of each code, null for -1."""
    return pd.array(words, dtype="string").take(codes.astype(np.intp), allow_fill=True)


def tokens_from(result: Mapping[str, Any] | None) -> str | None:
    """Who counted the output tokens of the ok requests: usage (the server), retokenized (the client did for some, "may
    inflate slightly"), or None where the result does not say."""
    return results.read(result).counted_by if result else None
