"""/v1/completions of vLLM, SGLang and OpenAI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.measure.client.endpoints.endpoint import Endpoint, Sampling, join
from benchbook.measure.client.endpoints.stream import EMPTY, TEXT, Stream, message_of, words
from benchbook.measure.client.prompt import Prompt


def _parts(prompt: Prompt, model: str, sampling: Sampling) -> tuple[bytes, ...]:
    fields: dict[str, Any] = {
        "model": model, "max_tokens": prompt.output_tokens, "temperature": sampling.temperature, "stream": True,
        "stream_options": {"include_usage": True},
    }  # fmt: skip
    if sampling.ignore_eos:
        fields["ignore_eos"] = True
    return join(fields, sampling.extra, prompt=prompt.value)


def _read(stream: Stream, event: Mapping[str, Any], at_s: float) -> None:
    if error := event.get("error"):
        stream.fail(message_of(error), at_s)
    if choices := event.get("choices"):
        choice = choices[0]
        text = choice.get("text")
        if text:
            stream.text.append(words(text))
        stream.chunk_s.append(at_s)
        stream.kinds.append(TEXT if text else EMPTY)
        if reason := choice.get("finish_reason"):
            stream.finished(reason, at_s)
    elif event.get("object") == "error":
        stream.fail(message_of(event), at_s)
    if usage := event.get("usage"):
        stream.count(usage)


COMPLETIONS = Endpoint(
    "completions", "/v1/completions", frozenset({"token_ids", "text"}), _parts, _read, empty_is_token=True
)
