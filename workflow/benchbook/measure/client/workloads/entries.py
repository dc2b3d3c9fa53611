"""A file of prompts, read: JSONL, or one JSON list, of objects in these forms.

    {"prompt": text}  {"messages": [...]}  {"token_ids": [...]}     each with "output_tokens" and, for messages, "tools"
    {"conversations": [{"from": "human", "value": text}, {"from": "gpt", "value": text}, ...]}     as ShareGPT's

Of a conversation the first human turn is the prompt; the answer right after it, at about four characters a token, says
how long the output is. A conversation whose first human turn has no answer is left out, unless it has "output_tokens".
Duplicates are dropped, the first stays. A list is read piece by piece: ShareGPT's is 600 MB.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from benchbook.errors import WorkloadError

FORMS = ("prompt", "messages", "token_ids", "conversations")
HUMAN, MODEL = ("human", "user"), ("gpt", "assistant", "chatgpt")
CHARACTERS_PER_TOKEN = 4
CHUNK = 1 << 20
_GAP = re.compile(r"[\s,]*")


@dataclass(frozen=True)
class Entry:
    """`kind`, `value`, `tokens` and `tools` as in Prompt; `output_tokens`: what the file says, None where nothing."""

    kind: str
    value: bytes
    tokens: int | None
    tools: bytes | None
    output_tokens: int | None


def read(path: Path) -> tuple[Entry, ...]:
    """The file's different entries, in its order.

    Raises WorkloadError, with file and line, for whatever cannot be read as above, and for a file without any entry.
    """
    seen: set[bytes] = set()
    tools: dict[bytes, bytes] = {}
    entries = []
    for line, item in _items(path):
        try:
            entry = _entry(item, tools)
        except (TypeError, ValueError, RecursionError) as error:
            raise _unreadable(path, line, str(error)) from None
        if entry is None:
            continue
        digest = hashlib.sha256(b"\0".join((entry.kind.encode(), entry.value, entry.tools or b""))).digest()
        if digest not in seen:
            seen.add(digest)
            entries.append(entry)
    if not entries:
        raise WorkloadError(f"{path}: there is no prompt in it")
    return tuple(entries)


def _entry(item: Any, known_tools: dict[bytes, bytes]) -> Entry | None:
    if not isinstance(item, Mapping):
        raise ValueError(f"an object is needed, not {_short(item)}")
    forms = [form for form in FORMS if form in item]
    if len(forms) != 1:
        raise ValueError(f"one of the keys {', '.join(FORMS)} is needed, there is {' and '.join(forms) or 'none'}")
    form, value = forms[0], item[forms[0]]
    if "tools" in item and form != "messages":
        raise ValueError("tools go with messages only")
    output_tokens = item.get("output_tokens")
    if output_tokens is not None and not (_is_whole(output_tokens) and output_tokens >= 1):
        raise ValueError(f"output_tokens is a whole number from 1 up, not {_short(output_tokens)}")
    tools = None
    if item.get("tools") is not None:
        encoded = _json(_objects(item["tools"], "tools"))
        tools = known_tools.setdefault(encoded, encoded)
    match form:
        case "prompt":
            if not isinstance(value, str) or not value:
                raise ValueError(f"prompt is a text, not {_short(value)}")
            return Entry("text", _json(value), None, None, output_tokens)
        case "messages":
            if not all(isinstance(message.get("role"), str) for message in _objects(value, "messages")):
                raise ValueError("every message needs a role")
            return Entry("messages", _json(value), None, tools, output_tokens)
        case "token_ids":
            if not isinstance(value, list) or not value or not all(_is_whole(token) and token >= 0 for token in value):
                raise ValueError(f"token_ids is a list of whole numbers from 0 up, not {_short(value)}")
            return Entry("token_ids", _json(value), len(value), None, output_tokens)
        case _:
            return _conversation(_objects(value, "conversations", least=0), output_tokens)


def _conversation(turns: list[dict[str, Any]], output_tokens: int | None) -> Entry | None:
    for place, turn in enumerate(turns):
        if turn.get("from") in HUMAN and turn.get("value"):
            if not isinstance(turn["value"], str):
                raise ValueError(f"the value of a turn is a text, not {_short(turn['value'])}")
            if output_tokens is None:
                answer = turns[place + 1] if place + 1 < len(turns) else {}
                if answer.get("from") not in MODEL or not isinstance(answer.get("value"), str):
                    return None
                output_tokens = max(1, round(len(answer["value"]) / CHARACTERS_PER_TOKEN))
            return Entry("text", _json(turn["value"]), None, None, output_tokens)
    return None


def _items(path: Path) -> Iterator[tuple[int, Any]]:
    """(line, object) of every entry; lines count from 1."""
    try:
        # a byte that is no UTF-8 becomes a lone surrogate, which _json refuses at its line
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
            is_list = file.read(CHUNK).lstrip().startswith("[")
            file.seek(0)
            yield from _of_list(path, file) if is_list else _of_lines(path, file)
    except OSError as error:
        raise WorkloadError(f"{path}: cannot be read ({error.strerror or error}); give a file of prompts") from None


def _of_lines(path: Path, file: TextIO) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(file, start=1):
        if line.strip():
            try:
                item = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise _unreadable(path, number, f"not JSON ({error})") from None
            yield number, item


def _of_list(path: Path, file: TextIO) -> Iterator[tuple[int, Any]]:
    decoder = json.JSONDecoder()
    text, line, size = file.read(CHUNK), 1, CHUNK
    at = text.index("[") + 1
    line += text.count("\n", 0, at)
    while True:
        end = _end_of_gap(text, at)
        line += text.count("\n", at, end)
        at = end
        if at < len(text) and text[at] == "]":
            if (text[at + 1 :] + file.read()).strip():
                raise _unreadable(path, line, "something follows after the list's closing ]")
            return
        problem = "the file ends before the list's closing ]"
        if at < len(text):
            try:
                item, end = decoder.raw_decode(text, at)
            except (ValueError, RecursionError) as error:
                problem = f"not JSON, or the file ends too soon ({error})"
            else:
                yield line, item
                line += text.count("\n", at, end)
                at, size = end, CHUNK
                continue
        more = file.read(size)
        if not more:
            raise _unreadable(path, line, problem)
        text, at, size = text[at:] + more, 0, size * 2


def _end_of_gap(text: str, at: int) -> int:
    match = _GAP.match(text, at)
    return match.end() if match else at


def _objects(value: Any, key: str, least: int = 1) -> list[dict[str, Any]]:
    if not isinstance(value, list) or len(value) < least or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"{key} is a list of objects, not {_short(value)}")
    return value


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise ValueError("a text is not UTF-8, or has half of a surrogate pair") from None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unreadable(path: Path, line: int, why: str) -> WorkloadError:
    return WorkloadError(f"{path}, line {line}: {why}; correct it or take it out")
