"""A log's time stamps, which have no year and are local, as moments."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime

STAMP = re.compile(r"\d\d-\d\d \d\d:\d\d:\d\d")


def unix_s(stamp: str, near_s: float, utc_offset_s: float = 0.0) -> float | None:
    """Unix time of `stamp` ("MM-DD HH:MM:SS", `utc_offset_s` ahead of UTC) in the year that brings it nearest to
    `near_s` (Unix); None when there is no such day."""
    year = datetime.fromtimestamp(near_s, UTC).year
    moments = []
    for candidate in (year, year - 1, year + 1):
        with contextlib.suppress(ValueError):
            moment = datetime.strptime(f"{candidate}-{stamp}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
            moments.append(moment.timestamp() - utc_offset_s)
    return min(moments, key=lambda t_s: abs(t_s - near_s), default=None)
