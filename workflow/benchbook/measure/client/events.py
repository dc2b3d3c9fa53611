"""Read the events of a `text/event-stream` body (HTML standard, 9.2) whose data is JSON or [DONE]."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

DONE = object()  # stands for the data [DONE]
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_ENVELOPE = re.compile(rb'data: \{"id":"[^"\\]*","object":"[^"\\]*","created":\d+,"model":"[^"\\]*",(?=")')
_DONE_DATA = b"[DONE]"


@dataclass(frozen=True)
class Broken:
    """An event whose data is not JSON: what the parser said, and how the data begins."""

    text: str


@dataclass(frozen=True)
class Events:
    """The events with data, in order; comments and events without data are left out.

    `values`: the data, parsed from JSON, DONE or Broken. `ends`: for each, bytes of the body up to and with the blank
    line that completes it.
    """

    values: list[Any]
    ends: list[int]


def read(body: bytes, finished: bool) -> Events:
    """Events of `body`. What stands behind the last blank line counts as an event only when the body is `finished`.

    An event that is named `error` is one whatever its data says: its value has the key "error".
    """
    cut = body.rfind(b"\n\n") + 2 if b"\n\n" in body else 0
    parts = body[:cut].split(b"\n\n")
    parts.pop()
    plain = (
        cut == len(body)
        and body.count(b"\n") == 2 * len(parts)
        and body.startswith(b"data: ")
        and body.count(b"\n\ndata: ") == len(parts) - 1
    )
    if plain:  # as vLLM and SGLang write it: one line of data an event, nothing else
        same = _ENVELOPE.match(parts[0])
        repeated, skipped = (same[0], same.end()) if same else (b"", 0)
        values = _values([
            b"{" + part[skipped:] if skipped and part.startswith(repeated) else part[6:] for part in parts
        ])  # fmt: skip
        return Events(values, list(accumulate([len(part) + 2 for part in parts])))
    return _read_closely(body, finished)


def _read_closely(body: bytes, finished: bool) -> Events:
    found: list[bytes] = []
    ends: list[int] = []
    errors: list[int] = []
    start = 0
    for stop, end in _blank_lines(body):
        _read_block(body[start:stop], end, found, ends, errors)
        start = end
    if finished and start < len(body):
        _read_block(body[start:], len(body), found, ends, errors)
    values = _values(found)
    for place in errors:
        value = values[place]
        if isinstance(value, dict) and not value.get("error"):
            values[place] = {**value, "error": value}
        elif not isinstance(value, dict):
            values[place] = {"error": value.text if isinstance(value, Broken) else str(value)}
    return Events(values, ends)


def _blank_lines(body: bytes) -> Iterator[tuple[int, int]]:
    """Where each blank line begins and ends."""
    if b"\r" in body:
        yield from (blank.span() for blank in _BLANK_LINE.finditer(body))
        return
    stop = body.find(b"\n\n")
    while stop >= 0:
        yield stop, stop + 2
        stop = body.find(b"\n\n", stop + 2)


def _read_block(block: bytes, end: int, found: list[bytes], ends: list[int], errors: list[int]) -> None:
    data = None
    name = b""
    for line in block.splitlines():
        if line.startswith(b"data:"):
            value = line[6:] if line.startswith(b" ", 5) else line[5:]
            data = value if data is None else data + b"\n" + value
        elif line.startswith(b"event:"):
            name = line[6:].strip(b" ")
    if data:  # an event without data is dropped, says the HTML standard
        if name == b"error":
            errors.append(len(found))
        found.append(data)
        ends.append(end)


def _values(found: Sequence[bytes]) -> list[Any]:
    """Each of these parsed; together where that goes, which takes half the time of one by one."""
    done = [DONE] if found and found[-1] == _DONE_DATA else []
    try:
        values = json.loads((b"[" + b",".join(found[: len(found) - len(done)]) + b"]").decode()) + done
    except (ValueError, RecursionError):
        return [parsed(data) for data in found]
    return values if len(values) == len(found) else [parsed(data) for data in found]


def parsed(data: bytes) -> Any:
    """One piece of data parsed from JSON, DONE or Broken."""
    if data.strip() == _DONE_DATA:
        return DONE
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        return Broken(f"{error}: {data[:60].decode(errors='replace')!r}")
