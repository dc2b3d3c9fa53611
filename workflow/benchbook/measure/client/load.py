"""One run of the load client: what is to be sent, and how."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchbook.measure.client.endpoints import Sampling
from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.target import Target

CHUNKS_A_PROCESS = 60_000


@dataclass(frozen=True)
class Load:
    """`prompts` in the order they are sent, to `endpoint` (a name of endpoints.ENDPOINTS) of `target`.

    `concurrency`: requests kept in flight (closed loop), or the most that may be in flight (open loop; None: no limit).
    `arrivals_s`: seconds from the start at which each request is due, ascending; None is a closed loop. `exact`: an
    answer with fewer tokens than asked for is a failure. `read_gap_s`: the longest time without a byte. `request_id`
    begins the X-Request-Id of every request. `processes`: an open loop with a limit has one, whatever is asked.
    """

    target: Target
    endpoint: str
    model: str
    prompts: Sequence[Prompt]
    concurrency: int | None
    arrivals_s: Sequence[float] | None = None
    keep_connections: bool = True
    processes: int = 1
    read_gap_s: float = 120.0
    exact: bool = True
    sampling: Sampling = field(default_factory=Sampling)
    request_id: str = "benchbook-"


def processes_for(chunks_per_s: float | None, concurrency: int | None) -> int:
    """How many processes a planned rate of chunks needs, CHUNKS_A_PROCESS each: half of what one can read.

    At most one for each request in flight, and one core stays for the rest of the machine. One where the rate is not
    known.
    """
    if chunks_per_s is None:
        return 1
    wanted = math.ceil(chunks_per_s / CHUNKS_A_PROCESS)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(wanted, max(1, cores - 1), concurrency or wanted))
