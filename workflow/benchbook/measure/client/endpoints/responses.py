"""/v1/responses of vLLM, SGLang and OpenAI. Usage comes unasked, with the event that ends the stream."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from benchbook.errors import ConfigError
from benchbook.measure.client.endpoints.endpoint import Endpoint, Sampling, join
from benchbook.measure.client.endpoints.stream import (
    EMPTY,
    REASONING,
    TEXT,
    TOOL_CALL,
    Stream,
    message_of,
    number,
    words,
)  # fmt: skip
from benchbook.measure.client.prompt import Prompt

_DELTAS = {
    "response.output_text.delta": TEXT,
    "response.refusal.delta": TEXT,
    "response.reasoning_text.delta": REASONING,
    "response.reasoning_summary_text.delta": REASONING,
    "response.function_call_arguments.delta": TOOL_CALL,
    "response.custom_tool_call_input.delta": TOOL_CALL,
    "response.mcp_call_arguments.delta": TOOL_CALL,
    "response.code_interpreter_call_code.delta": TOOL_CALL,
}
_SHARED = 16  # parts that many prompts share are few


def _parts(prompt: Prompt, model: str, sampling: Sampling) -> tuple[bytes, ...]:
    fields: dict[str, Any] = {
        "model": model, "max_output_tokens": prompt.output_tokens, "temperature": sampling.temperature,
        "stream": True, "store": False,
    }  # fmt: skip
    if sampling.ignore_eos:
        fields["ignore_eos"] = True
    values: dict[str, tuple[bytes, ...]] = {}
    if prompt.tools is not None:
        values["tools"] = (_tools(prompt.tools),)
    if prompt.kind == "text":
        values["input"] = prompt.value
    else:
        instructions, items = _input(prompt.value)
        if instructions is not None:
            values["instructions"] = (instructions,)
        values["input"] = items
    return join(fields, sampling.extra, **values)


@lru_cache(maxsize=_SHARED)
def _tools(tools: bytes) -> bytes:
    """Chat's tool schemas with what stands under "function" moved one level up, as this endpoint has them."""
    flat = []
    for tool in json.loads(tools):
        function = tool.get("function")
        flat.append(tool if function is None else {"type": tool.get("type", "function"), **function})
    return _encoded(flat)


def _input(value: Sequence[bytes]) -> tuple[bytes | None, tuple[bytes, ...]]:
    """Chat messages as instructions (the first message where it is the system's) and a JSON list of items, in parts.

    Parts that end between messages are converted one by one and stay shared; others all in one.
    """
    parts = tuple(value)
    while len(parts) > 1 and not parts[0].strip(b" \n["):  # the list's opening bracket alone
        parts = (b"[" + parts[1], *parts[2:]) if b"[" in parts[0] else parts[1:]
    last = len(parts) - 1
    converted = [_part(part, place == 0, place == last) for place, part in enumerate(parts)]
    if None in converted:
        converted = [_part(b"".join(value), True, True)]
    found = [pair for pair in converted if pair is not None]
    if not found:
        raise ConfigError("the messages of a prompt are no JSON list of objects")
    items = [part for _, part in found if part]
    return found[0][0], (b"[", *_between(items), b"]")


def _between(items: Sequence[bytes]) -> list[bytes]:
    return [part for item in items for part in (b",", item)][1:]


@lru_cache(maxsize=_SHARED)
def _part(part: bytes, first: bool, last: bool) -> tuple[bytes | None, bytes] | None:
    """Instructions (of the first part) and input items, without brackets, of a part that holds whole messages."""
    text = part.strip(b" \n\r\t,")
    if first:
        text = text.removeprefix(b"[")
    if last:
        text = text.removesuffix(b"]")
    try:
        messages = json.loads(b"[" + text.strip(b" \n\r\t,") + b"]")
    except ValueError:
        return None
    if not all(isinstance(message, dict) for message in messages):
        return None
    instructions = None
    if first and messages and messages[0].get("role") == "system" and isinstance(messages[0].get("content"), str):
        instructions = _encoded(messages.pop(0)["content"])
    try:
        items = [item for message in messages for item in _items(message)]
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"a chat message has no form on the responses endpoint: {error!r}") from error
    return instructions, _encoded(items)[1:-1]


def _items(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One chat message as input items: a tool call and a tool's result are items of their own here."""
    if unknown := sorted(set(message) - {"role", "content", "tool_calls", "tool_call_id", "name"}):
        raise ConfigError(f"a chat message with {unknown[0]!r} has no form on the responses endpoint")
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        output = content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())
        return [{"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output}]
    items: list[dict[str, Any]] = []
    calls = message.get("tool_calls") or ()
    if content or not calls:
        listed = [_content(part, role) for part in content] if isinstance(content, list) else None
        items.append({"role": role, "content": listed or content or ""})
    for call in calls:
        function = call["function"]
        items.append({
            "type": "function_call", "call_id": call["id"], "name": function["name"],
            "arguments": function["arguments"],
        })  # fmt: skip
    return items


def _content(part: Mapping[str, Any], role: Any) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": "output_text" if role == "assistant" else "input_text", "text": part["text"]}
    if part.get("type") == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"]}
    raise ConfigError(f"message content of type {part.get('type')!r} has no form on the responses endpoint")


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _read(stream: Stream, event: Mapping[str, Any], at_s: float) -> None:
    kind = event.get("type")
    if found := _DELTAS.get(words(kind) if kind is not None else ""):
        text = event.get("delta")
        if text:
            if found is TEXT:
                stream.text.append(words(text))
            elif found is REASONING:
                stream.reasoning.append(words(text))
        stream.chunk_s.append(at_s)
        stream.kinds.append(found if text else EMPTY)
    elif kind in ("response.completed", "response.incomplete"):
        stream.done = True
        _end(stream, event["response"], at_s)
    elif kind == "response.failed":
        _end(stream, {"status": "failed", **event["response"]}, at_s)
    elif kind == "error" or event.get("error"):
        stream.fail(message_of(event), at_s)


def _end(stream: Stream, response: Mapping[str, Any], at_s: float) -> None:
    """Usage and why it ended. vLLM ends an answer that reached max_output_tokens with response.completed as well."""
    if usage := response.get("usage"):
        stream.prompt_tokens = number(usage.get("input_tokens"))
        stream.output_tokens = number(usage.get("output_tokens"))
        stream.cached_tokens = number((usage.get("input_tokens_details") or {}).get("cached_tokens"))
        stream.reasoning_tokens = number((usage.get("output_tokens_details") or {}).get("reasoning_tokens"))
    if error := response.get("error"):
        stream.fail(message_of(error), at_s)
    elif (status := response.get("status")) in ("failed", "cancelled"):
        stream.fail(f"the server ended the response as {status}", at_s)
    reason = (response.get("incomplete_details") or {}).get("reason")
    stream.finished({None: "stop", "max_output_tokens": "length"}.get(reason, reason), at_s)


RESPONSES = Endpoint(
    "responses", "/v1/responses", frozenset({"text", "messages"}), _parts, _read, done_event=False
)  # fmt: skip
