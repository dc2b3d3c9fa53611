"""Python tracebacks in a server's log, told apart by process although their lines are interleaved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchbook.engines.log_lines import Record

_HEAD = re.compile(r"Traceback \(most recent call last\):")
_FRAME = re.compile(r'^\s+File "[^"]*", line \d+, in (\S+)')
_ENDED_BY = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]?\w*(?:Error|Exception|Exit|Interrupt|Expired)(?::(?: |$)|$)")
_ANY_NAME = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: .*)?$")
_NAMED = re.compile(r"^Process ([\w-]+):$")
_IGNORED = re.compile(r"^Exception ignored in")
_DETAIL = re.compile(r"validation errors? for \w+$")


@dataclass(frozen=True)
class Raised:
    """An exception: `index` of its record in the log, `process` that raised it (None: not known), `error` the line that
    names it, `frames` the functions on the way there, outermost first (none when the log has only the last line)."""

    index: int
    process: str | None
    error: str
    frames: tuple[str, ...]


@dataclass
class _Open:
    frames: list[str] = field(default_factory=list)
    headed: bool = False
    ignored: bool = False


def raised(log: Sequence[Record]) -> list[Raised]:
    """Every exception that the log prints, in order; those that Python ignored (in destructors) are left out.

    vLLM 0.32 and SGLang print tracebacks without a prefix: such lines are laid to the process that a line "Process X:"
    names before them, else to the one that logged last.
    """
    found: list[Raised] = []
    open_by_process: dict[str | None, _Open] = {}
    last_process: str | None = None
    for index, record in enumerate(log):
        named = _NAMED.match(record.text)
        if named and record.process is None:
            last_process = named[1]
        elif record.process is not None or record.time is not None:
            last_process = record.process
        state = open_by_process.setdefault(record.process, _Open())
        if _IGNORED.match(record.text):
            state.ignored = True
        elif _HEAD.search(record.text):
            state.frames, state.headed = [], True
        elif frame := _FRAME.match(record.text):
            state.frames.append(frame[1])
        elif _ENDED_BY.match(record.text) or (state.headed and state.frames and _ANY_NAME.match(record.text)):
            if not state.ignored:
                who = record.process or last_process
                found.append(Raised(index, who, _error(log, index), tuple(state.frames)))
            open_by_process[record.process] = _Open()
    return found


def _error(log: Sequence[Record], index: int) -> str:
    """The line, with the next one where pydantic puts the reason there."""
    text = log[index].text.strip()
    if _DETAIL.search(text) and index + 1 < len(log):
        detail = next((later.text.strip() for later in log[index + 1 : index + 4] if later.text.startswith("  ")), "")
        return f"{text}: {detail}".removesuffix(": ")
    return text
