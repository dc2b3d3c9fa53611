"""What sampling costs: CPU time and wall time of every sample by source, so that the report can show it."""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Cost:
    """Cost of one source's samples. Only the thread that takes them may use `sample`."""

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self._wall_ms = array("f")

    @contextmanager
    def sample(self) -> Iterator[None]:
        """Measure the body as one sample, also when it raises."""
        cpu_s, wall_s = time.thread_time(), time.monotonic()
        try:
            yield
        finally:
            self._wall_ms.append((time.monotonic() - wall_s) * 1000)
            self.cpu_s += time.thread_time() - cpu_s

    def summary(self) -> dict[str, float | int | None]:
        """samples, cpu_s, and wall time per sample: median, 99th percentile (nearest rank) and largest, in ms."""
        wall_ms = sorted(self._wall_ms)
        return {
            "samples": len(wall_ms), "cpu_s": self.cpu_s, "wall_median_ms": _rank(wall_ms, 0.5),
            "wall_p99_ms": _rank(wall_ms, 0.99), "wall_max_ms": wall_ms[-1] if wall_ms else None,
        }  # fmt: skip


def _rank(ordered: Sequence[float], share: float) -> float | None:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
