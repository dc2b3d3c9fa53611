"""What a run cost its own client, and how late that made it: the figures a run is judged by (tag CLIENT)."""

from __future__ import annotations

import math
from typing import Any

from benchbook.measure.client.workers import Ran


def figures(ran: Ran) -> dict[str, Any]:
    """The mapping `client` of a run's record; None where nothing was sent or no sample fell into the run.

    cpu_s, span_s: CPU seconds of all processes between the first request's sending and the last one's end, and that
    time; busiest_cpu_s: those of the busiest process. loop_lag_*_ms: how much later than asked a sleep of 10 ms in an
    event loop ended. receive_queue_*_bytes: bytes that waited unread in all sockets; receive_wait_mean_ms: how long a
    byte waited there on average, by Little's law (mean bytes waiting / bytes a second). parse_s: reading the answers,
    after the run.
    """
    seen = [one for one in ran.watched if one is not None]
    lags = sorted(lag for one in seen for lag in one.lags_ms)
    span_s = max((one.span_s for one in seen), default=None)
    queued = [sum(one.queued_bytes) / len(one.queued_bytes) for one in seen if one.queued_bytes]
    queue_mean = math.fsum(queued) if queued else None
    bytes_per_s = ran.received_bytes / span_s if span_s else None
    return {
        "name": "native",
        "loop": ran.loop,
        "processes": len(ran.watched),
        "cpu_s": math.fsum(one.cpu_s for one in seen) if seen else None,
        "busiest_cpu_s": max((one.cpu_s for one in seen), default=None),
        "span_s": span_s,
        "loop_lag_mean_ms": math.fsum(lags) / len(lags) if lags else None,
        "loop_lag_p99_ms": lags[min(len(lags) - 1, int(0.99 * len(lags)))] if lags else None,
        "loop_lag_max_ms": lags[-1] if lags else None,
        "receive_queue_mean_bytes": queue_mean,
        "receive_queue_max_bytes": max((most for one in seen for most in one.queued_bytes), default=None),
        "receive_wait_mean_ms": 1000 * queue_mean / bytes_per_s if queue_mean is not None and bytes_per_s else None,
        "parse_s": ran.parse_s,
    }

