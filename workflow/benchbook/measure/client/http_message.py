"""Take the framing off an HTTP/1.x response (RFC 9112): status, headers, body, and where each byte of it stood."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

_STATUS = re.compile(rb"HTTP/(1\.[01]) (\d{3})(?: [^\r\n]*)?\r\n")
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)
_LENGTH = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Message:
    """One response, as far as it came.

    `status`: None when no whole head came. `headers`: names in lower case. `head_bytes`: length of all heads. `body`:
    without the framing. `whole`: the framing says that all of it is here; None where only the connection's end ends it.
    `fault`: what about the framing cannot be read, None when all can; the body is then what stood before the fault, at
    byte `fault_at` of the data.
    """

    status: int | None
    headers: Mapping[str, str]
    head_bytes: int
    body: bytes
    whole: bool | None
    fault: str | None = None
    fault_at: int = 0
    _ends: list[int] = field(default_factory=list, repr=False)
    _shifts: list[int] = field(default_factory=list, repr=False)

    def offsets(self, ends: Iterable[int]) -> list[int]:
        """How many bytes of the response had to come for each of these lengths (at least 1) of the body."""
        pieces, shifts = self._ends, self._shifts
        return [end + shifts[bisect_left(pieces, end)] for end in ends]


@dataclass(frozen=True)
class Head:
    """The head of a response, after those of any 1xx before it. `size`: bytes of all of them."""

    version: str
    status: int
    headers: Mapping[str, str]
    size: int

    @property
    def keeps_alive(self) -> bool:
        return self.version == "1.1" and "close" not in self.headers.get("connection", "").lower()

    @property
    def transfer(self) -> str:
        """Transfer-Encoding in lower case, "" without one."""
        return self.headers.get("transfer-encoding", "").strip().lower()

    @property
    def length(self) -> int | None:
        """Bytes of a body that is not chunked; None where only the connection's end ends it, or it is no number."""
        if self.status in (204, 304):
            return 0
        told = self.headers.get("content-length", "")
        return int(told) if _LENGTH.fullmatch(told) else None


def head(data: bytes) -> Head | str | None:
    """The head at the beginning of `data`; None when it is not whole yet, a sentence when it is none."""
    start = 0
    while True:
        end = data.find(b"\r\n\r\n", start)
        line = _STATUS.match(data, start)
        if line is None and (end >= 0 or b"\r\n" in data[start:] or not _may_become_status(data[start : start + 9])):
            told = data[start : start + 40].split(b"\r\n")[0].decode("latin-1")
            return f"the response does not begin with an HTTP status line: {told!r}"
        if line is None or end < 0:
            return None
        fields, start = data[line.end() : end + 2], end + 4
        if line[2][:1] != b"1":
            return Head(line[1].decode(), int(line[2]), _headers(fields), start)


def read(data: bytes) -> Message:
    """Read `data`, the bytes of one response or the beginning of them. Never raises: see `Message.fault`."""
    found = head(data)
    if not isinstance(found, Head):
        return Message(None, {}, 0, b"", False, found)
    status, headers, start = found.status, found.headers, found.size
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        told = f"the body is compressed ({encoding}), which was not asked for"
        return Message(status, headers, start, b"", False, told, start)
    if found.transfer == "chunked":
        return _chunked(data, status, headers, start)
    if found.transfer:
        told = f"Transfer-Encoding {found.transfer!r} is not known"
        return Message(status, headers, start, b"", False, told, start)
    if found.length is not None:
        return _plain(data, status, headers, start, found.length, len(data) - start >= found.length)
    if "content-length" in headers:
        told = f"Content-Length {headers['content-length']!r} is no number of bytes"
        return Message(status, headers, start, b"", False, told, start)
    return _plain(data, status, headers, start, len(data) - start, None)


def _may_become_status(beginning: bytes) -> bool:
    return b"HTTP/1.0 ".startswith(beginning) or b"HTTP/1.1 ".startswith(beginning) or len(beginning) == 9


def _headers(head: bytes) -> dict[str, str]:
    headers = {}
    for line in head.decode("latin-1").split("\r\n"):
        name, colon, value = line.partition(":")
        if colon:
            headers[name.lower()] = value.strip(" \t")
    return headers


def _plain(
    data: bytes, status: int, headers: Mapping[str, str], start: int, length: int, whole: bool | None
) -> Message:
    body = data[start : start + length]
    return Message(status, headers, start, body, whole, _ends=[len(body)], _shifts=[start])


def _chunked(data: bytes, status: int, headers: Mapping[str, str], start: int) -> Message:
    pieces: list[bytes] = []
    ends: list[int] = []
    shifts: list[int] = []
    place, body_bytes = start, 0
    while (line_end := data.find(b"\r\n", place)) >= 0:
        size = _size(data[place:line_end])
        first = line_end + 2
        if not size or not data.startswith(b"\r\n", last := first + size):
            break
        pieces.append(data[first:last])
        body_bytes += size
        ends.append(body_bytes)
        shifts.append(last - body_bytes)
        place = last + 2
    whole, fault = False, None
    if line_end >= 0:
        if size is None:
            fault = f"chunk size {data[place : min(line_end, place + 40)].decode('latin-1')!r} is no hexadecimal number"
        elif size == 0:
            whole = data.startswith(b"\r\n", first) or data.find(b"\r\n\r\n", first) >= 0
        else:  # the last chunk that came, and not all of it
            if not b"\r\n".startswith(data[last : last + 2]):
                fault = f"a chunk does not end where its size says ({size} bytes)"
            if rest := data[first:last]:
                pieces.append(rest)
                ends.append(body_bytes + len(rest))
                shifts.append(first - body_bytes)
    return Message(status, headers, start, b"".join(pieces), whole, fault, place, ends, shifts)


@lru_cache(maxsize=4096)
def _size(line: bytes) -> int | None:
    """The size in a chunk's first line, which may carry extensions; None when there is none."""
    found = _SIZE.fullmatch(line)
    return int(found[1], 16) if found else None
