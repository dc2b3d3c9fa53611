"""Tool schemas as agents carry them: many services, long descriptions, nested parameters, enums.

The form is that of OpenAI's chat completions: {"type": "function", "function": {"name", "description", "parameters"}}.
"""

from __future__ import annotations

import json
from typing import Any

from benchbook.measure.client.workloads.draw import Draw, between, choice, shuffled
from benchbook.measure.client.workloads.words import text

SERVICES = {
    "calendar": ("event", "invitation", "room", "reminder", "availability"),
    "mail": ("message", "thread", "draft", "label", "attachment"),
    "files": ("file", "folder", "share_link", "revision", "upload"),
    "tickets": ("ticket", "comment", "sprint", "board", "worklog"),
    "repository": ("pull_request", "branch", "commit", "issue", "release"),
    "database": ("table", "row", "query", "index", "snapshot"),
    "browser": ("page", "tab", "element", "screenshot", "download"),
    "deploy": ("service", "environment", "rollout", "secret", "pipeline"),
    "billing": ("invoice", "customer", "subscription", "refund", "coupon"),
    "crm": ("contact", "account", "deal", "note", "campaign"),
    "metrics": ("dashboard", "alert", "series", "incident", "log_query"),
    "chat": ("channel", "direct_message", "reaction", "user_group", "topic"),
}
VERBS = {
    "list": "Lists every {noun} in the {service} service that matches the filter, newest first.",
    "get": "Returns one {noun} of the {service} service with all its fields.",
    "create": "Creates a new {noun} in the {service} service and returns it with its identifier.",
    "update": "Changes fields of an existing {noun} in the {service} service; fields left out stay as they are.",
    "delete": "Removes a {noun} from the {service} service for good. Ask the user before this is called.",
    "search": "Full text search over every {noun} in the {service} service, with ranking and highlights.",
    "export": "Writes the chosen {noun} data of the {service} service to a file and returns a link to it.",
    "archive": "Moves a {noun} of the {service} service out of the active set without deleting it.",
    "share": "Gives other people or groups access to a {noun} of the {service} service.",
    "assign": "Makes a person or a team responsible for a {noun} of the {service} service.",
    "validate": "Checks a {noun} of the {service} service against the rules of the workspace, changing nothing.",
}
ADVICE = (
    "Prefer this over the browser when the {noun} is already known.",
    "Do not call it more than once for the same {noun}; results are cached for a minute.",
    "Where the {noun} cannot be found, say so, and offer a search.",
    "Requires write access to the {service} workspace.",
    "Results come in pages; follow next_cursor until it is null.",
    "Times are in UTC unless time_zone is given.",
    "Returns an error object with code and message when the request is refused.",
    "Names are matched without regard to case.",
    "Use dry_run first when more than ten items would be touched.",
    "Never invent an identifier: take it from an earlier result.",
)
PURPOSES = ("The {} of the {}", "Which {} the {} should have", "Sets {} for this {}", "Optional {} of a {}")

_TEXT = {"type": "string"}
_MOMENT = {"type": "string", "format": "date-time"}
_YES_NO = {"type": "boolean"}
_TEXTS = {"type": "array", "items": {"type": "string"}}


def _number(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _nested(**properties: Any) -> dict[str, Any]:
    required = list(properties)[:1]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


PARAMETERS: dict[str, dict[str, Any]] = {
    "query": _TEXT,
    "title": _TEXT,
    "description": _TEXT,
    "owner": _TEXT,
    "workspace": _TEXT,
    "time_zone": _TEXT,
    "cursor": _TEXT,
    "reason": _TEXT,
    "language": _one_of("en", "de", "fr", "es", "ja", "pt"),
    "status": _one_of("open", "in_progress", "blocked", "done", "cancelled"),
    "priority": _one_of("low", "normal", "high", "urgent"),
    "visibility": _one_of("private", "team", "organization", "public"),
    "output_format": _one_of("json", "csv", "markdown", "pdf"),
    "sort_by": _one_of("created_at", "updated_at", "title", "priority", "relevance"),
    "sort_direction": _one_of("ascending", "descending"),
    "limit": _number(1, 100),
    "offset": _number(0, 10000),
    "retries": _number(0, 5),
    "timeout_seconds": _number(1, 600),
    "dry_run": _YES_NO,
    "include_archived": _YES_NO,
    "notify": _YES_NO,
    "include_history": _YES_NO,
    "starts_at": _MOMENT,
    "ends_at": _MOMENT,
    "due_at": _MOMENT,
    "labels": _TEXTS,
    "fields": _TEXTS,
    "watchers": _TEXTS,
    "filter": _nested(
        field=_one_of("title", "owner", "status", "labels", "created_at"),
        operator=_one_of("equals", "contains", "before", "after", "is_empty"),
        value=_TEXT,
        negate=_YES_NO,
    ),
    "date_range": _nested(start=_MOMENT, end=_MOMENT, include_weekends=_YES_NO),
    "recurrence": _nested(
        frequency=_one_of("daily", "weekly", "monthly", "yearly"), interval=_number(1, 52), until=_MOMENT
    ),
    "location": _nested(
        name=_TEXT, address=_nested(street=_TEXT, city=_TEXT, postal_code=_TEXT, country=_TEXT), floor=_number(0, 60)
    ),
    "permissions": {
        "type": "array",
        "items": _nested(subject=_TEXT, role=_one_of("viewer", "commenter", "editor", "owner"), expires_at=_MOMENT),
    },
    "changes": {
        "type": "array",
        "items": _nested(path=_TEXT, operation=_one_of("add", "replace", "remove"), value=_TEXT),
    },
    "delivery": _nested(
        channel=_one_of("mail", "chat", "webhook"),
        target=_TEXT,
        schedule=_nested(frequency=_one_of("once", "daily", "weekly"), at=_MOMENT),
    ),
}
MOST = len(VERBS) * sum(map(len, SERVICES.values()))


def tool_schemas(draw: Draw, count: int, characters: int) -> list[dict[str, Any]]:
    """`count` different tools, at most MOST, about `characters` long as compact JSON (a few hundred either way)."""
    names = shuffled(
        draw, [(service, verb, noun) for service, nouns in SERVICES.items() for verb in VERBS for noun in nouns]
    )
    tools: list[dict[str, Any]] = []
    left = characters
    for index, (service, verb, noun) in enumerate(names[:count]):
        remaining = count - index
        share = left / remaining * (1.0 if remaining == 1 else 0.5 + draw())
        tools.append(_tool(draw, service, verb, noun, share))
        left -= size(tools[-1]) + 1
    return tools


def size(value: Any) -> int:
    """Characters of compact JSON."""
    return len(json.dumps(value, separators=(",", ":")))


def _tool(draw: Draw, service: str, verb: str, noun: str, characters: float) -> dict[str, Any]:
    """One tool: parameters are added until it is long enough; what is still missing then goes into its description."""
    words = {"noun": noun.replace("_", " "), "service": service}
    sentences = [sentence.format(**words) for sentence in (VERBS[verb], *shuffled(draw, ADVICE)[: between(draw, 1, 3)])]
    identifier = {"type": "string", "description": f"Identifier of the {words['noun']}, as an earlier result gave it."}
    properties: dict[str, Any] = {f"{noun}_id": identifier}
    required = [f"{noun}_id"]
    for name in shuffled(draw, list(PARAMETERS)):
        properties[name] = {**PARAMETERS[name], "description": _purpose(draw, name, words["noun"])}
        if size(_schema(service, verb, noun, sentences, properties, required)) > characters:
            del properties[name]
            break
        if draw() < 0.25:
            required.append(name)
    tool = _schema(service, verb, noun, sentences, properties, required)
    missing = characters - size(tool)
    while missing > 60:
        sentences.append(f"Example: {text(draw, between(draw, 6, 14))}.")
        missing -= len(sentences[-1]) + 1
    return _schema(service, verb, noun, sentences, properties, required)


def _schema(
    service: str, verb: str, noun: str, sentences: list[str], properties: dict[str, Any], required: list[str]
) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    function = {"name": f"{service}_{verb}_{noun}", "description": " ".join(sentences), "parameters": parameters}
    return {"type": "function", "function": function}


def _purpose(draw: Draw, name: str, noun: str) -> str:
    opening = choice(draw, PURPOSES).format(name.replace("_", " "), noun)
    return f"{opening}: {text(draw, between(draw, 5, 20))}."
