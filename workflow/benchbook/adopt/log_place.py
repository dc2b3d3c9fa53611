"""Where in a server's log the time of a benchmark lies: recordings have no byte offsets, but the lines have stamps."""

from __future__ import annotations

import re

from benchbook.engines.log_stamps import unix_s

_STAMP = re.compile(rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d-\d\d \d\d:\d\d:\d\d) ")


def between(log: bytes, t_start_s: float, t_end_s: float, utc_offset_h: float) -> tuple[int, int]:
    """Byte offsets of the lines stamped from `t_start_s` to `t_end_s` (Unix s), the whole seconds around them included.

    vLLM's stamps have no year, the one nearest to `t_start_s` is taken, and are local: `utc_offset_h` ahead of UTC.
    Lines without a stamp go with the one before them. Equal offsets when no line is stamped in that time.
    """
    first, last = int(t_start_s), int(t_end_s + 1)
    place, start, end, inside = 0, 0, 0, False
    for line in log.splitlines(keepends=True):
        found = _STAMP.search(line)
        if found:
            stamp = unix_s(found[1].decode(), first, 3600 * utc_offset_h)
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
