"""A conversation of an agent with a user: questions, tool calls, their results, answers; in OpenAI's chat form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchbook.measure.client.workloads.draw import Draw, between, choice
from benchbook.measure.client.workloads.words import text

SHORTEST = 2000
SHARE_OF_ANSWERS = 0.25


def conversation(draw: Draw, tools: Sequence[Mapping[str, Any]], characters: int) -> list[dict[str, Any]]:
    """Messages of exactly `characters` when rendered, at least SHORTEST; after the last it is the model's turn.

    Every tool call is answered by a result before anything else is said; its arguments fit the tool's schema.
    """
    messages = [{"role": "user", "content": _prose(draw, between(draw, 20, 60))}]
    left = characters - len(rendered(messages[0]))
    while True:
        step = _answer_and_question(draw) if draw() < SHARE_OF_ANSWERS else _calls_and_results(draw, tools)
        length = sum(len(rendered(message)) for message in step)
        if length > left:
            break
        messages += step
        left -= length
    messages[-1]["content"] += _exactly(draw, left)
    return messages


def rendered(message: Mapping[str, Any]) -> str:
    """A message as plain text, about as long as a chat template makes it."""
    lines = [f"### {message['role']}"]
    if message.get("content"):
        lines.append(message["content"])
    for call in message.get("tool_calls", ()):
        lines.append(f"call {call['function']['name']} {call['function']['arguments']}")
    return "\n".join(lines) + "\n\n"


def _calls_and_results(draw: Draw, tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    calls = [_call(draw, choice(draw, tools)["function"]) for _ in range(between(draw, 1, 2))]
    said = _prose(draw, between(draw, 8, 24)) if draw() < 0.5 else None
    return [
        {"role": "assistant", "content": said, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": call["id"], "content": _result(draw)} for call in calls),
    ]


def _answer_and_question(draw: Draw) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": _prose(draw, between(draw, 40, 200))},
        {"role": "user", "content": _prose(draw, between(draw, 10, 80))},
    ]


def _call(draw: Draw, function: Mapping[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(_value(draw, function["parameters"]))
    return {
        "id": f"call_{int(draw() * 2**48):012x}",
        "type": "function",
        "function": {"name": function["name"], "arguments": arguments},
    }


def _value(draw: Draw, schema: Mapping[str, Any]) -> Any:
    """Something that fits a parameter's schema; of an object the required properties and some of the others."""
    match schema:
        case {"enum": values}:
            return choice(draw, values)
        case {"type": "object", "properties": properties, "required": required}:
            chosen = [name for name in properties if name in required or draw() < 0.2]
            return {name: _value(draw, properties[name]) for name in chosen}
        case {"type": "array", "items": items}:
            return [_value(draw, items) for _ in range(between(draw, 1, 3))]
        case {"type": "integer", "minimum": low, "maximum": high}:
            return between(draw, low, high)
        case {"type": "boolean"}:
            return draw() < 0.5
        case {"type": "string", "format": "date-time"}:
            return _moment(draw)
        case _:
            return text(draw, between(draw, 1, 4))


def _result(draw: Draw) -> str:
    """What a tool gives back: records as JSON, one a line, as most services do."""
    lines = []
    for _ in range(between(draw, 2, 16)):
        record = {
            "id": text(draw, 2).replace(" ", "-") + f"-{between(draw, 1, 9999)}",
            "title": text(draw, between(draw, 3, 9)),
            "status": choice(draw, ("open", "in_progress", "blocked", "done")),
            "updated_at": _moment(draw),
            "note": text(draw, between(draw, 4, 40)),
        }
        lines.append(json.dumps(record))
    return "\n".join(lines)


def _prose(draw: Draw, words: int) -> str:
    sentences = []
    while words > 0:
        length = min(words, between(draw, 6, 16))
        sentences.append(text(draw, length).capitalize() + ".")
        words -= length
    return " ".join(sentences)


def _moment(draw: Draw) -> str:
    day, hour, minute = between(draw, 1, 28), between(draw, 0, 23), between(draw, 0, 59)
    return f"2026-{between(draw, 1, 12):02}-{day:02}T{hour:02}:{minute:02}:00Z"


def _exactly(draw: Draw, characters: int) -> str:
    """A space and words, cut off after `characters`."""
    return (" " + text(draw, characters // 3 + 1))[:characters]
