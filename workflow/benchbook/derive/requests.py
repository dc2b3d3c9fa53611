"""The client's result files as one row per request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchbook import schema
from benchbook.derive.run_key import run_key
from benchbook.measure import bench_result


def rows(
    session_id: str, spec: Mapping[str, Any], record: Mapping[str, Any], result: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Rows of table `requests` for one run; none when the client wrote no result.

    The client's send times are on its monotonic clock; the record holds both clocks at the run's start, which turns
    them into Unix seconds. Without that pair (the client died) they are null.
    """
    if result is None:
        return []
    clock_known = record["m_start_s"] is not None
    offset_s = record["t_start_s"] - record["m_start_s"] if clock_known else None
    listed = []
    for index, request in enumerate(bench_result.requests(result)):
        sent = request.start_s + offset_s if request.start_s is not None and offset_s is not None else None
        done = request.ok and sent is not None
        listed.append({
            **run_key(session_id, spec, record),
            "request": index,
            "ok": request.ok,
            "error": request.error,
            "failure_kind": request.failure_kind,
            "failure_s": request.failure_s,
            "t_send_s": sent,
            "t_first_s": sent + request.ttft_s if done else None,  # type: ignore[operator]
            "t_last_s": sent + request.e2el_s if done else None,  # type: ignore[operator]
            "prompt_tokens": request.prompt_tokens,
            "output_tokens": request.output_tokens,
            "cached_tokens": request.cached_tokens,
            "requested_output_tokens": request.asked_tokens
            if request.asked_tokens is not None else spec["workload"]["output_tokens"],
            "chunks": len(request.itl_s) + 1 if request.ok else None,
            "connect_ms": _ms(request.connect_s),
            "send_ms": _ms(request.send_s),
            "ttft_ms": _ms(request.ttft_s),
            "answer_ttft_ms": _ms(request.answer_ttft_s),
            "e2el_ms": _ms(request.e2el_s),
            "tpot_ms": _ms(request.tpot_s),
            "itl_ms": [1000 * gap for gap in request.itl_s],
            "queue_ms": _ms(request.queue_s),
        })  # fmt: skip
    return listed


KINDS = {"t": "answer", "r": "reasoning", "c": "tool call", "e": "empty"}


def chunks(
    session_id: str, spec: Mapping[str, Any], record: Mapping[str, Any], result: Mapping[str, Any] | None
) -> pd.DataFrame:
    """Table `chunks` of one run: every streamed chunk of its requests, those that failed included; empty for a client
    that notes none."""
    listed = bench_result.requests(result) if result is not None else []
    told = [(index, request) for index, request in enumerate(listed) if request.chunk_s and request.chunk_kinds]
    if not told:
        return schema.empty("chunks")
    counts = [len(request.chunk_s) for _, request in told]
    frame = pd.DataFrame({
        "request": np.repeat([index for index, _ in told], counts),
        "chunk": np.concatenate([np.arange(count) for count in counts]),
        "t_s": np.concatenate([request.chunk_s for _, request in told]),
        "kind": pd.Series(list("".join(request.chunk_kinds or "" for _, request in told))).map(KINDS),
    })
    return schema.check(frame.assign(run_id=run_key(session_id, spec, record)["run_id"]), "chunks")


def tokens_from(result: Mapping[str, Any] | None) -> str | None:
    """Who counted the output tokens of the ok requests: usage (the server), retokenized (the client did for some, "may
    inflate slightly"), or None where the result does not say."""
    counts = {request.tokens_from for request in bench_result.requests(result) if request.ok} if result else {None}
    if not counts or None in counts:
        return None
    return "retokenized" if "retokenized" in counts else "usage"


def table(listed: list[dict[str, Any]]) -> pd.DataFrame:
    return schema.check(pd.DataFrame(listed), "requests") if listed else schema.empty("requests")


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
