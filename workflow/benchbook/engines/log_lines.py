"""A server's log as records: who wrote a line, how grave it is, when, and what it says.

Covers what vLLM 0.8 to 0.33 and SGLang 0.5 print (engines.md 1): terminal codes, carriage returns of progress bars,
bars glued to the next record, stamps that docker, kubernetes or journald put in front, process prefixes of every
version, several ranks in one log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b\r\n]{0,200}\x07|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BREAK = re.compile(r"[\r\n\x85\u2028\u2029]+")
_LEVELS = "DEBUG|INFO|WARNING|ERROR|CRITICAL"
_PROCESS = re.compile(r"\((?P<process>[A-Za-z][\w.-]*)(?P<rank> rank=\d+)? pid=\d+\) ?")
_GLUED = re.compile(
    rf"(?<=.)(?:(?=\([A-Za-z][\w.-]*(?: rank=\d+)? pid=\d+\) (?:{_LEVELS}) \d\d-\d\d )"
    rf"|(?<!\) )(?=(?:{_LEVELS}) \d\d-\d\d \d\d:\d\d:\d\d )|(?=\[20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\] ))"
)
_OUTER = re.compile(
    r"^(?:[\w.-]+ +\| )?"  # docker compose: service name
    r"(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)? \| "
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) (?:std(?:out|err) [FP] )?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ \S+\[\d+\]: )?"
)
_VLLM = re.compile(
    rf"^(?P<level>{_LEVELS}) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? (?:\[[^\]]*:\d+\] ?)?"
    rf"|^(?P<uvicorn>{_LEVELS}): +"
)
_LIBRARY = re.compile(
    rf"^20\d\d-(?P<time>\d\d-\d\d \d\d:\d\d:\d\d)[,.]\d+ - (?P<level>{_LEVELS}) - \S+:\d+ - (?:[\w.]+: )?"
)
_SGLANG = re.compile(
    r"^\[20\d\d-(?P<time>\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d+)?(?P<process>(?: [A-Z]+\d+)*)\] "
    rf"(?:(?P<level>{_LEVELS}): +)?"
)
LONGEST = 16384
# For the engines' patterns: no run of digits that is longer than a figure can be.
NUMBER = r"(-?\d{1,15}(?:\.\d{1,15})?)"
WHOLE = r"(\d{1,15})"
GROUPED = r"(\d[\d,]{0,19})"
# A request that went well, as uvicorn notes each of them, with nothing beside it on its line.
_ANSWERED_END = ' HTTP/1.1" 200 OK'
_ANSWERED = re.compile(
    r'(?:\([A-Za-z][\w.-]* pid=\d+\) )?INFO: +[\d.:a-fA-F\[\]]+ - "(?:GET|POST) [\w/.-]+ HTTP/1\.1" 200 OK'
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # every terminal code begins with one
_EXPERT_RANK = re.compile(r" ?\bEP\d+\b")


@dataclass(frozen=True)
class Record:
    """One line. `process` is the name that it carries (None: none), `level` and `time` ("MM-DD HH:MM:SS", engines leave
    the year out or it is cut off here) are None where the line has none; `text` is what is left."""

    process: str | None
    level: str | None
    time: str | None
    text: str


def without_terminal_codes(text: str) -> str:
    """The text without colours, titles and control characters; its line ends stay."""
    return _TERMINAL.sub("", text) if _CONTROL.search(text) else text


def without_answered(text: str) -> str:
    """The text without the lines that note a request that went well: one a request, and they say nothing else."""
    return "\n".join(
        line for line in text.split("\n") if not (line.endswith(_ANSWERED_END) and _ANSWERED.fullmatch(line))
    )


def lines(text: str) -> list[str]:
    """The log's lines without terminal codes and blank lines; a carriage return ends a line too (progress bars)."""
    return [line for line in _BREAK.split(without_terminal_codes(text)) if line.strip()]


def records(text: str) -> list[Record]:
    """Every line of the log as a record, in order; of a line longer than LONGEST the rest is left out."""
    return [
        _record(part[:LONGEST])
        for line in lines(text)
        for part in _unglued(_OUTER.sub("", line, count=1))
        if part.strip()
    ]


def seconds(time: str) -> float | None:
    """Seconds of a record's time within a year, in order to take differences; None where it is no date."""
    try:
        moment = datetime.strptime(f"2024-{time}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
    return (moment - datetime(2024, 1, 1)).total_seconds()


def _unglued(line: str) -> Iterator[str]:
    """A progress bar leaves no line end behind: the next record may stand on its line."""
    if "%" not in line or "|" not in line:
        yield line
        return
    start = 0
    for match in _GLUED.finditer(line):
        yield line[start : match.start()]
        start = match.start()
    yield line[start:]


def _record(line: str) -> Record:
    process = None
    while prefix := _PROCESS.match(line):
        process = prefix["process"] + (prefix["rank"] or "").replace(" rank=", "_")
        line = line[prefix.end() :]
    if head := _SGLANG.match(line):
        process = _EXPERT_RANK.sub("", head["process"]).strip() or process
        return Record(process, head["level"], head["time"], line[head.end() :])
    if head := _LIBRARY.match(line):
        return Record(process, head["level"], head["time"], line[head.end() :])
    if head := _VLLM.match(line):
        return Record(process, head["level"] or head["uvicorn"], head["time"], line[head.end() :])
    return Record(process, None, None, line)
