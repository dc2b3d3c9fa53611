"""What the network gave for one request, before anyone has read it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

WHOLE, CLOSED, RESET, REFUSED, UNREACHABLE = "whole", "closed", "reset", "refused", "unreachable"
READ_GAP, INTERRUPTED = "read_gap", "interrupted"


@dataclass(frozen=True)
class Raw:
    """One request's bytes and times, untouched; times are time.perf_counter() seconds.

    `index`: place in the request list. `scheduled_s`: when it was due (open loop) or its slot was free (closed loop).
    `started_s`: just before its first byte was written, None when it never was. `sent_s`: the kernel had its last byte.
    `connect_s`: what making a new connection took, None on a kept one. `times` and `sizes`: of each read, seconds and
    bytes; `data`: the reads joined, response head and body as they came. `ended_s`: when it was over, however.
    `ending`: whole (the HTTP message is complete), closed (end of file before it was), reset, refused, unreachable,
    read_gap, interrupted; `ending_text`: detail in words, "" where there is none.
    """

    index: int
    scheduled_s: float
    started_s: float | None
    sent_s: float | None
    connect_s: float | None
    times: array[float]
    sizes: array[int]
    data: bytes
    ended_s: float
    ending: str
    ending_text: str
