"""One request's content."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompt:
    """One request's content, JSON-encoded before the run so that nothing is encoded while it is timed.

    `kind`: token_ids | text | messages. `value`: the JSON value in parts, UTF-8; a part that several prompts share is
    one and the same bytes object. `output_tokens`: to be asked for. `tokens`: the exact number of prompt tokens where
    it is known (token_ids), else None. `tools`: JSON list of tool schemas in chat form, for messages.
    """

    kind: str
    value: tuple[bytes, ...]
    output_tokens: int
    tokens: int | None
    tools: bytes | None = None
