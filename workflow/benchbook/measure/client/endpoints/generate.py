"""/generate of SGLang."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from benchbook.measure.client.endpoints.endpoint import Endpoint, Sampling, join
from benchbook.measure.client.endpoints.stream import EMPTY, TEXT, Stream, message_of, number, words
from benchbook.measure.client.prompt import Prompt


def _parts(prompt: Prompt, model: str, sampling: Sampling) -> tuple[bytes, ...]:
    """The server has one model and no field to name it."""
    params: dict[str, Any] = {"max_new_tokens": prompt.output_tokens, "temperature": sampling.temperature}
    if sampling.ignore_eos:
        params["ignore_eos"] = True
    extra = dict(sampling.extra)
    params |= extra.pop("sampling_params", {})
    fields = {"sampling_params": params, "stream": True}
    if prompt.kind == "text":
        return join(fields, extra, text=prompt.value)
    return join(fields, extra, input_ids=prompt.value)


def _read(stream: Stream, event: Mapping[str, Any], at_s: float) -> None:
    if event.get("error") or event.get("object") == "error":
        stream.fail(message_of(event), at_s)
        return
    told = event["meta_info"]
    text, ids = words(event.get("text") or ""), event.get("output_ids")
    total = number(told.get("completion_tokens"))
    if not stream.kinds:
        stream.totals = []
    if total is None:
        stream.totals = None
    else:
        if stream.totals is not None:
            stream.totals.append(total)
        if ids and len(ids) == total and stream.output_tokens and total > stream.output_tokens:
            stream.texts_so_far = True  # ids of all tokens so far come with all text so far, never with what was added
        stream.output_tokens = total
    stream.text.append(text)
    stream.chunk_s.append(at_s)
    stream.kinds.append(TEXT if text else EMPTY)
    for name in ("prompt_tokens", "cached_tokens", "reasoning_tokens"):
        if (count := number(told.get(name))) is not None:
            setattr(stream, name, count)
    if reason := told.get("finish_reason"):
        kind = reason.get("type") if isinstance(reason, dict) else reason
        if kind == "abort" and isinstance(reason, dict) and reason.get("message"):
            stream.finish_reason = kind
            stream.fail(message_of(reason), at_s)
        else:
            stream.finished(kind, at_s)


def _finish(stream: Stream) -> None:
    """Turn texts that hold all that was said so far into what each chunk added."""
    if not (stream.texts_so_far or _grows(stream.text)):
        return
    said = ""
    for place, text in enumerate(stream.text):
        added = text[len(said) :] if text.startswith(said) else ""  # a stop string is taken back from the last text
        stream.text[place], stream.kinds[place], said = added, TEXT if added else EMPTY, text


def _grows(texts: list[str]) -> bool:
    """Whether each text begins with the one before: what a server sends without incremental output.

    From the last one a stop string may have been taken back. The same text again and again was said again and again.
    """
    held = [(before, after) for before, after in pairwise(texts) if before]
    if not held or all(before == after for before, after in held):
        return False
    *others, (before_last, last) = held
    if not (last.startswith(before_last) or (others and before_last.startswith(last))):
        return False
    return all(after.startswith(before) for before, after in others)


GENERATE = Endpoint(
    "generate", "/generate", frozenset({"token_ids", "text"}), _parts, _read, _finish, empty_is_token=True
)
