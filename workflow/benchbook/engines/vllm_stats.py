"""The lines in which a vLLM server reports its throughput every few seconds (v1/metrics/loggers.py)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchbook.engines.log_stamps import STAMP, unix_s

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
    first = STAMP.search(text)
    began_s = unix_s(first[0], launched_s) if first else None
    if began_s is None:
        return []
    zone_s = round((began_s - launched_s) / 900) * 900
    found = []
    for time, engine, rate, running, waiting in _LINE.findall(text):
        t_s = unix_s(time, began_s)
        if t_s is None:
            continue
        found.append(StatLine(t_s - zone_s, engine, float(rate), int(running), int(waiting)))
    return found
