"""What an endpoint is: how it is asked, and how one event of its stream is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchbook.errors import ConfigError
from benchbook.measure.client.endpoints.stream import Stream
from benchbook.measure.client.prompt import Prompt

# What the request itself sets, and what would make its stream another than the one that is read.
OURS = frozenset({
    "model", "stream", "stream_options", "tools", "n", "best_of", "echo", "use_beam_search", "max_tokens",
    "max_completion_tokens", "max_output_tokens",
})  # fmt: skip


@dataclass(frozen=True)
class Sampling:
    """How the server is to generate. `extra`: more fields of the JSON body, which win over those of ours."""

    ignore_eos: bool = True
    temperature: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Endpoint:
    """One endpoint of a server.

    `kinds`: kinds of Prompt that it can send. `parts`: (prompt, model, sampling) to the body in parts. `read`: one
    event, with the time of its arrival, into the Stream; raises TypeError, AttributeError, KeyError, IndexError or
    ValueError on an event that has not the endpoint's form. `finish`: what can be said once all events are read.
    `done_event`: [DONE] ends its streams. `empty_is_token`: a chunk without text may be a token (see answer.py).
    """

    name: str
    path: str
    kinds: frozenset[str]
    parts: Callable[[Prompt, str, Sampling], tuple[bytes, ...]]
    read: Callable[[Stream, Mapping[str, Any], float], None]
    finish: Callable[[Stream], None] | None = None
    done_event: bool = True
    empty_is_token: bool = False

    def body(self, prompt: Prompt, *, model: str, sampling: Sampling) -> tuple[bytes, ...]:
        """The JSON body in parts; those of `prompt` that others share stay the same objects. Raises ConfigError."""
        if prompt.kind not in self.kinds:
            can = " and ".join(sorted(self.kinds))
            raise ConfigError(f"endpoint {self.name} cannot send a prompt of kind {prompt.kind}; it sends {can}")
        return self.parts(prompt, model, sampling)


def join(fields: Mapping[str, Any], extra: Mapping[str, Any], **values: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """A JSON object in parts: `fields` and `extra` encoded, then `values`, which are JSON already.

    Raises ConfigError when `extra` says again what the request itself must say.
    """
    if taken := sorted(set(extra) & {*values, *OURS}):
        raise ConfigError(f"extra field {taken[0]} of the body cannot be set: the request itself sets it")
    text = json.dumps({**fields, **extra}, separators=(",", ":")).encode()
    parts = [text[:-1]]
    for name, value in values.items():
        parts += [b',"%s":' % name.encode(), *value]
    return (*parts, b"}")
