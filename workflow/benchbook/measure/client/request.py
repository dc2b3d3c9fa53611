"""The bytes of every request, made before the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchbook import __version__
from benchbook.measure.client.endpoints import Endpoint, Sampling
from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.target import Target

JOIN_BELOW = 1 << 16
MOST_PARTS = 64


@dataclass(frozen=True)
class Request:
    """One HTTP request: `parts` are sent one after the other, `size` is their length in bytes."""

    parts: tuple[bytes, ...]
    size: int


def build(
    prompts: Sequence[Prompt], target: Target, endpoint: Endpoint, model: str, sampling: Sampling, request_id: str,
    keep: bool,
) -> list[Request]:  # fmt: skip
    """The requests of a run, in the order of `prompts`.

    `request_id` and the place in the list become the header X-Request-Id, under which vLLM and SGLang log a request.
    Parts that prompts share stay shared, unless the request is small: then it is one piece for one call of the kernel.
    """
    made = []
    for index, prompt in enumerate(prompts):
        body = endpoint.body(prompt, model=model, sampling=sampling)
        length = sum(map(len, body))
        head = _head(target, endpoint.path, length, f"{request_id}{index}", keep)
        size = len(head) + length
        parts = (head, *body)
        if size < JOIN_BELOW or len(parts) > MOST_PARTS:
            parts = (b"".join(parts),)
        made.append(Request(parts, size))
    return made


def _head(target: Target, path: str, length: int, request_id: str, keep: bool) -> bytes:
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = [
        f"POST {target.prefix}{path} HTTP/1.1",
        f"Host: {host}:{target.port}",
        f"User-Agent: benchbook/{__version__}",
        "Accept: text/event-stream",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        f"X-Request-Id: {request_id}",
        *(f"{name}: {value}" for name, value in target.headers),
        *([] if keep else ["Connection: close"]),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
