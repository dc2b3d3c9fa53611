"""/v1/chat/completions of vLLM, SGLang and OpenAI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.measure.client.endpoints.endpoint import Endpoint, Sampling, join
from benchbook.measure.client.endpoints.stream import (
    EMPTY,
    HEAD,
    REASONING,
    TEXT,
    TOOL_CALL,
    Stream,
    message_of,
    words,
)  # fmt: skip
from benchbook.measure.client.prompt import Prompt


def _parts(prompt: Prompt, model: str, sampling: Sampling) -> tuple[bytes, ...]:
    fields: dict[str, Any] = {
        "model": model, "max_completion_tokens": prompt.output_tokens, "temperature": sampling.temperature,
        "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    if sampling.ignore_eos:
        fields["ignore_eos"] = True
    messages = prompt.value
    if prompt.kind == "text":
        messages = (b'[{"role":"user","content":', *prompt.value, b"}]")
    if prompt.tools is None:
        return join(fields, sampling.extra, messages=messages)
    return join(fields, sampling.extra, tools=(prompt.tools,), messages=messages)


def _read(stream: Stream, event: Mapping[str, Any], at_s: float) -> None:
    if error := event.get("error"):
        stream.fail(message_of(error), at_s)
    if choices := event.get("choices"):
        choice = choices[0]
        reason = choice.get("finish_reason")
        kind = _delta(stream, choice.get("delta") or {}, bool(reason))
        stream.chunk_s.append(at_s)
        stream.kinds.append(kind)
        if reason:
            stream.finished(reason, at_s)
    elif event.get("object") == "error":
        stream.fail(message_of(event), at_s)
    if usage := event.get("usage"):
        stream.count(usage)


def _delta(stream: Stream, delta: Mapping[str, Any], last: bool) -> str:
    """Take the texts over; the chunk's kind. One that holds several is of the answer's before the reasoning's."""
    kind = HEAD if delta.get("role") and not last else EMPTY
    if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):  # older and newer name of it
        stream.reasoning.append(words(reasoning))
        kind = REASONING
    if delta.get("tool_calls") or delta.get("function_call"):
        kind = TOOL_CALL
    if content := delta.get("content"):
        stream.text.append(words(content))
        kind = TEXT
    return kind


CHAT = Endpoint("chat", "/v1/chat/completions", frozenset({"text", "messages"}), _parts, _read)
