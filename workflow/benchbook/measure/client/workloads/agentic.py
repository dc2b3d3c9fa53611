"""Workload `agentic`: an assistant with many tools, 60 to 90 thousand tokens a request.

    {"kind": "agentic", "tools": 93, "input_tokens": {"distribution": "uniform", "min": 60000, "max": 90000},
     "shared_tokens": 55000, "output_tokens": L, "chars_per_token": 4.0, "prefix_seed": 0}

After a report from practice (logs.beer, October 2026): rendered instructions and about 93 tool schemas come to 60 to 90
thousand tokens a request. Here instructions and schemas are `shared_tokens` long, depend on `prefix_seed` alone and are
the same in every request, as one assistant's are; the rest, 5 to 35 thousand tokens, is a conversation of the request's
own, so that requests differ in length and no two are equal.

Lengths are characters of the rendered text / `chars_per_token`, an estimate: the server's usage counts. With the
default of 4.0, Mistral's Tekken counts 5 to 11 % fewer tokens than asked for and the Llama 2 family's vocabulary is
within 5 %; the chat template comes on top.
`"text": true` renders all of it as one text prompt, for endpoints without messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchbook.errors import WorkloadError
from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.workloads.conversation import SHORTEST, conversation, rendered
from benchbook.measure.client.workloads.draw import Draw, between, choice, draws
from benchbook.measure.client.workloads.form import seed as seed_of
from benchbook.measure.client.workloads.form import whole
from benchbook.measure.client.workloads.lengths import bounds, lengths
from benchbook.measure.client.workloads.tool_schemas import MOST, tool_schemas
from benchbook.measure.client.workloads.words import text

INPUT_TOKENS = {"distribution": "uniform", "min": 60000, "max": 90000}
SHARE_OF_TOOLS = 0.8
SHORTEST_TOOL = 600

SUBJECTS = ("Tone", "Tools", "Safety", "Planning", "Memory", "Files", "Dates", "Errors", "Privacy", "Format", "Review")
RULES = (
    "Always check {} before you act on it.",
    "Never tell the user about {} unless they ask.",
    "When a request is about {}, call the matching tool first and answer from its result.",
    "Prefer short answers; for {} a list is better than a paragraph.",
    "If {} cannot be settled from the conversation, ask one question and wait.",
    "Treat {} as settled once a tool has confirmed it.",
)


def prompts(workload: Mapping[str, Any], count: int, seed: int) -> list[Prompt]:
    """Prompts whose `value` is (system message or its text, the rest); the first part and `tools` are shared."""
    chars_per_token = workload.get("chars_per_token", 4.0)
    is_number = isinstance(chars_per_token, int | float) and not isinstance(chars_per_token, bool)
    if not is_number or not 1 <= chars_per_token <= 20:
        raise WorkloadError(f"workload agentic: chars_per_token is a number from 1 to 20, not {chars_per_token!r}")
    input_tokens = workload.get("input_tokens", INPUT_TOKENS)
    shared_tokens, tools_count = whole(workload, "shared_tokens", 55000), whole(workload, "tools", 93)
    shared_characters = round(shared_tokens * chars_per_token)
    if tools_count > MOST:
        raise WorkloadError(f"workload agentic: there are {MOST} different tools, {tools_count} are asked for")
    if shared_characters * SHARE_OF_TOOLS < tools_count * SHORTEST_TOOL:
        raise WorkloadError(
            f"workload agentic: {tools_count} tools do not fit into shared_tokens {shared_tokens}; they need "
            f"{int(tools_count * SHORTEST_TOOL / SHARE_OF_TOOLS / chars_per_token) + 1}"
        )
    least = shared_tokens + int(SHORTEST / chars_per_token) + 1
    if bounds(input_tokens, "input_tokens")[0] < least:
        raise WorkloadError(
            f"workload agentic: input_tokens must be at least {least}, shared_tokens {shared_tokens} and a short "
            "conversation; ask for more, or make shared_tokens smaller"
        )
    draw = draws("agentic shared", seed_of(workload, "prefix_seed"))
    schemas = tool_schemas(draw, tools_count, round(shared_characters * SHARE_OF_TOOLS))
    tools = json.dumps(schemas, separators=(",", ":"))
    as_text = bool(workload.get("text", False))
    before, after = f"### tools\n{tools}\n\n", len(rendered({"role": "system"})) + 1
    system = {"role": "system", "content": _instructions(draw, shared_characters - len(before) - after)}
    start = before + rendered(system)
    shared = _inside_string(start, b'"', b"") if as_text else b"[" + json.dumps(system).encode()
    shared_tools = None if as_text else tools.encode()

    made = []
    inputs = lengths(input_tokens, draws("agentic input", seed), "input_tokens")
    outputs = lengths(workload["output_tokens"], draws("agentic output", seed), "output_tokens")
    draw = draws("agentic conversation", seed)
    for _, tokens, output_tokens in zip(range(count), inputs, outputs, strict=False):
        messages = conversation(draw, schemas, round(tokens * chars_per_token) - len(start))
        if as_text:
            own = _inside_string("".join(map(rendered, messages)) + "### assistant\n", b"", b'"')
        else:
            own = b"," + json.dumps(messages, separators=(",", ":"))[1:].encode()
        kind = "text" if as_text else "messages"
        made.append(Prompt(kind, (shared, own), output_tokens, tokens=None, tools=shared_tools))
    return made


def _inside_string(plain: str, opening: bytes, closing: bytes) -> bytes:
    return opening + json.dumps(plain)[1:-1].encode() + closing


def _instructions(draw: Draw, characters: int) -> str:
    """Rules under headings, cut off after exactly `characters`."""
    parts = ["You are an assistant with access to the tools of this workspace. Follow these instructions."]
    length = len(parts[0])
    while length < characters:
        rules = [choice(draw, RULES).format(text(draw, between(draw, 2, 9))) for _ in range(between(draw, 3, 9))]
        parts.append(f"\n\n## {choice(draw, SUBJECTS)}: {text(draw, 3)}\n" + "".join(f"\n- {rule}" for rule in rules))
        length += len(parts[-1])
    return "".join(parts)[:characters]
