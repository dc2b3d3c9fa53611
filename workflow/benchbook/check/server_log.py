"""What the server's log says of a run: work that warmup should have done, and tokens."""

from __future__ import annotations

from benchbook.check.clock import Span
from benchbook.derive import reconcile
from benchbook.engines.late_work import late_work
from benchbook.engines.log_stamps import STAMP, unix_s
from benchbook.engines.vllm_stats import stat_lines

LATEST_S = 30.0


def late_lines(text: str, span: Span, utc_offset_s: float) -> list[str]:
    """Messages of the lines within the run that speak of compiling, tuning or capturing.

    The log writes local time to the second, without a year: the run's year, or that before it, whichever is nearer.
    """
    found = []
    for time, message in late_work(text):
        t_s = unix_s(time, span.start_s, utc_offset_s) if time is not None else None
        if t_s is not None and span.start_s - span.error_s < t_s + 1 and t_s < span.end_s + span.error_s:
            found.append(message)
    return found


def covers(text: str, span: Span, utc_offset_s: float) -> bool:
    """Whether the log's time stamps reach around the run; a report follows a run within seconds."""
    stamps = STAMP.findall(text)
    ends = [unix_s(stamp, span.start_s, utc_offset_s) for stamp in (stamps[0], stamps[-1])] if stamps else []
    if len(ends) < 2 or ends[0] is None or ends[1] is None:
        return False
    return ends[0] <= span.start_s + span.error_s and span.end_s - span.error_s <= ends[1] + LATEST_S


def output_tokens(text: str, span: Span, utc_offset_s: float) -> float | None:
    """Output tokens that the log's throughput lines report for the run; None where they do not tell them apart."""
    first = STAMP.search(text)
    launched_s = unix_s(first[0], span.start_s, utc_offset_s) if first else None
    if launched_s is None:
        return None
    return reconcile.log_tokens(stat_lines(text, launched_s), span.start_s, span.end_s, [])
