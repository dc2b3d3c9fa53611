"""Where in a server's log the time of a benchmark lies: recordings have no byte offsets, but the lines have stamps."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta

_STAMP = re.compile(rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d-\d\d \d\d:\d\d:\d\d) ")


def between(log: bytes, t_start_s: float, t_end_s: float, utc_offset_h: float) -> tuple[int, int]:
    """Byte offsets of the lines stamped from `t_start_s` to `t_end_s` (Unix s), the whole seconds around them included.

    vLLM's stamps have no year, which is taken from `t_start_s`, and are local: `utc_offset_h` ahead of UTC. Lines
    without a stamp go with the one before them. Equal offsets when no line is stamped in that time.
    """
    zone = timedelta(hours=utc_offset_h)
    first, last = (datetime.fromtimestamp(int(t), UTC) + zone for t in (t_start_s, t_end_s + 1))
    place, start, end, inside = 0, 0, 0, False
    for line in log.splitlines(keepends=True):
        found = _STAMP.search(line)
        if found:
            stamp = _stamp(found[1].decode(), first)
            if stamp is None:
                place += len(line)
                continue
            entered = first <= stamp <= last
            if entered and start == end:
                start = place
            inside = entered
        place += len(line)
        if inside:
            end = place
    return start, end


def _stamp(text: str, near: datetime) -> datetime | None:
    """The moment of a stamp without a year, in the year that brings it nearest; None when there is no such day."""
    moments = []
    for year in (near.year - 1, near.year, near.year + 1):
        with contextlib.suppress(ValueError):
            moments.append(datetime.strptime(f"{year}-{text}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC))
    return min(moments, key=lambda moment: abs(moment - near), default=None)
