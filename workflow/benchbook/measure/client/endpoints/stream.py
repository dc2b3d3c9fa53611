"""What has been read of one streamed answer, while its events are read."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

TEXT, REASONING, TOOL_CALL, EMPTY = "t", "r", "c", "e"
HEAD = "h"  # a chunk that only says who speaks: never a token
CUT_OFF = frozenset({"abort", "error"})  # finish reasons of a request that the server gave up


class Stream:
    """Filled by an endpoint's `read`, one event after the other.

    `chunk_s`, `kinds`: one entry per event that carries output; seconds and one of TEXT, REASONING, TOOL_CALL, EMPTY,
    HEAD. `text`, `reasoning`: pieces; `texts_so_far`: each piece of text holds those before it. Token counts are the
    server's, None while it has not told any. `totals`: output tokens so far after each chunk, where the events say it.
    `error`: the server's own words on what went wrong.
    """

    __slots__ = (
        "cached_tokens", "chunk_s", "done", "error", "error_at_s", "finish_reason", "kinds", "output_tokens",
        "prompt_tokens", "reasoning", "reasoning_tokens", "text", "texts_so_far", "totals",
    )  # fmt: skip

    def __init__(self) -> None:
        self.chunk_s = array("d")
        self.kinds: list[str] = []
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.totals: list[int] | None = None
        self.texts_so_far = False
        self.prompt_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cached_tokens: int | None = None
        self.reasoning_tokens: int | None = None
        self.finish_reason: str | None = None
        self.done = False
        self.error: str | None = None
        self.error_at_s = 0.0

    def fail(self, text: str, at_s: float) -> None:
        """Note the stream's first error; later ones follow from it."""
        if self.error is None:
            self.error, self.error_at_s = text, at_s

    def finished(self, reason: Any, at_s: float) -> None:
        self.finish_reason = words(reason)
        if self.finish_reason in CUT_OFF:
            self.fail(f"the server cut the answer off (finish_reason {reason})", at_s)

    def count(self, usage: Mapping[str, Any]) -> None:
        """Take over a usage object as /v1/completions and /v1/chat/completions send it."""
        self.prompt_tokens = number(usage.get("prompt_tokens"))
        self.output_tokens = number(usage.get("completion_tokens"))
        self.cached_tokens = number((usage.get("prompt_tokens_details") or {}).get("cached_tokens"))
        self.reasoning_tokens = number((usage.get("completion_tokens_details") or {}).get("reasoning_tokens"))


def words(value: Any) -> str:
    """A text of the server's; TypeError when it is none."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} where a text should be")
    return value


def number(value: Any) -> int | None:
    """A count of the server's, None where it is null or missing; TypeError when it is none."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**53:
        raise TypeError(f"{value!r} where a count should be")
    return value


def message_of(error: Any) -> str:
    """The words in what a server sends as an error: {"error": ...}, {"message": ...}, {"detail": ...} or a text."""
    while isinstance(error, dict):
        inner = next((error[key] for key in ("error", "message", "detail") if error.get(key)), None)
        if inner is None:
            break
        error = inner
    return error if isinstance(error, str) else str(error)
