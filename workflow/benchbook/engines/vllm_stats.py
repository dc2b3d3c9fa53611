"""The lines in which a vLLM server reports its throughput every few seconds (v1/metrics/loggers.py)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

INTERVAL_S = 10.0  # VLLM_LOG_STATS_INTERVAL unless set otherwise
_LINE = re.compile(
    r"(\d\d-\d\d \d\d:\d\d:\d\d)[^\n]*?Engine (\d+): Avg prompt throughput: [\d.]+ tokens/s, "
    r"Avg generation throughput: ([\d.]+) tokens/s, Running: (\d+) reqs, Waiting: (\d+) reqs"
)


@dataclass(frozen=True)
class StatLine:
    """One engine's report at `t_s` (Unix seconds, whole): output tokens a second since the line before."""

    t_s: float
    engine: str
    generation_tok_s: float
    running: int
    waiting: int


def stat_lines(text: str, launched_s: float) -> list[StatLine]:
    """The reports in a server's log, in its order.

    The log writes local time without a year. `launched_s` (Unix) is when it began: the difference to its first time,
    to the quarter of an hour, is the time zone.
    """
    first = re.search(r"\d\d-\d\d \d\d:\d\d:\d\d", text)
    if first is None:
        return []
    year = datetime.fromtimestamp(launched_s, UTC).year
    try:
        began_s = _as_utc(first[0], year)
    except ValueError:
        return []
    zone_s = round((began_s - launched_s) / 900) * 900
    found = []
    for time, engine, rate, running, waiting in _LINE.findall(text):
        try:
            t_s = _as_utc(time, year)
        except ValueError:
            continue
        if t_s < began_s - 86_400:  # the year turned while the server ran
            t_s = _as_utc(time, year + 1)
        found.append(StatLine(t_s - zone_s, engine, float(rate), int(running), int(waiting)))
    return found


def _as_utc(time: str, year: int) -> float:
    return datetime.strptime(f"{year}-{time}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
