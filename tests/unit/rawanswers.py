"""Responses as they come over the network, made by hand: bytes, and the reads in which they came."""

from __future__ import annotations

import json
from array import array

from benchbook.measure.client.raw import Raw

START_S = 1000.0  # the request's start on the client's clock
HEAD = (
    b"HTTP/1.1 200 OK\r\ndate: Mon, 01 Jan 2026 00:00:00 GMT\r\nserver: uvicorn\r\n"
    b"content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
)
DONE = b"data: [DONE]\n\n"


def data(value) -> bytes:
    """An event as vLLM's completions and chat and SGLang write it."""
    return b"data: " + json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


def named(value) -> bytes:
    """An event as vLLM's responses writes it."""
    return b"event: " + value["type"].encode() + b"\n" + data(value)


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


def message(pieces, end=b"0\r\n\r\n") -> list[bytes]:
    """The response's bytes, a piece for the head, one for each event and one for the end."""
    return [HEAD, *map(chunk, pieces), end]


def raw(reads, times_s=None, ending="whole", ended_s=None, started=True, text="") -> Raw:
    """Reads of these bytes at these times (seconds from the start; one a second where none are given)."""
    reads = list(reads)
    times = [START_S + time_s for time_s in (times_s or range(1, len(reads) + 1))]
    assert len(times) == len(reads)
    end = START_S + ended_s if ended_s is not None else (times[-1] if times else START_S)
    return Raw(
        0, START_S - 1.0, START_S if started else None, START_S if started else None, None, array("d", times),
        array("I", map(len, reads)), b"".join(reads), end, ending, text,
    )  # fmt: skip


def completion(text, finish=None, **more):
    """A chunk of vLLM's /v1/completions (model_dump_json with exclude_unset)."""
    return {
        "id": "cmpl-1", "object": "text_completion", "created": 1767225600, "model": "m",
        "choices": [{
            "index": 0, "text": text, "logprobs": None, "finish_reason": finish, "stop_reason": None,
            "prompt_token_ids": None, "token_ids": None,
        }],
    } | more  # fmt: skip


def usage(prompt, output, kind="text_completion", **more):
    """vLLM's last event before [DONE], with stream_options.include_usage."""
    counts = {"prompt_tokens": prompt, "total_tokens": prompt + output, "completion_tokens": output} | more
    return {"id": "cmpl-1", "object": kind, "created": 1767225600, "model": "m", "choices": [], "usage": counts}


def delta(finish=None, **content):
    """A chunk of vLLM's /v1/chat/completions."""
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1767225600, "model": "m",
        "choices": [{"index": 0, "delta": content, "logprobs": None, "finish_reason": finish}],
    }  # fmt: skip


def generated(text, total, finish=None, **more):
    """An event of SGLang's /generate."""
    told = {"id": "r", "finish_reason": finish, "prompt_tokens": 5, "weight_version": "default"}
    return {"text": text, "meta_info": told | {"completion_tokens": total, "cached_tokens": 3}} | more


VLLM_ERROR = {"error": {"message": "Internal server error", "type": "InternalServerError", "param": None, "code": 500}}
