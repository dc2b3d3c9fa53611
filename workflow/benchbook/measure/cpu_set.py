"""Pinning a server to a number of cores, and what /proc says of it afterwards.

Source 000 names the CPU sweep (8, 32, 64 cores) as the cheapest way to tell a host-bound decode step from another. The
load client is not pinned: the kernel finds it a place beside the server's cores while there is one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from benchbook.measure import processes

SYSTEM, PROC = Path("/sys/devices/system/cpu"), Path("/proc")


class TooFewCores(ValueError):
    """The machine, or this process's share of it, has fewer cores than were asked for."""


def choose(count: int, allowed: Collection[int] | None = None, system: Path = SYSTEM) -> list[int]:
    """`count` CPU numbers of those this process may use: one thread of every core first, then the second threads.

    `allowed`: None asks the kernel. Raises TooFewCores.
    """
    numbers = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    if len(numbers) < count:
        raise TooFewCores(f"{count} cores were asked for, and this process may use {len(numbers)} "
                          f"({spelled(numbers)})")  # fmt: skip
    by_thread = sorted(numbers, key=lambda number: (_thread_of_core(number, system), number))
    return sorted(by_thread[:count])


def _thread_of_core(number: int, system: Path) -> int:
    """0 for the first hardware thread of a core, 1 for its second; 0 where the kernel does not say."""
    try:
        siblings = parsed((system / f"cpu{number}/topology/thread_siblings_list").read_text())
    except (OSError, ValueError):
        return 0
    return siblings.index(number) if number in siblings else 0


@contextlib.contextmanager
def pinned(cpus: Collection[int] | None) -> Iterator[None]:
    """What this thread starts inside inherits the CPU set `cpus`; None changes nothing."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def seen(kernel_session: int, proc: Path = PROC) -> dict[str, Any]:
    """Where the threads of a process tree may run: `threads`, how many there are, and `cpus`, all numbers of any."""
    threads, cpus = 0, set[int]()
    for pid in processes.members([kernel_session]):
        for status in (proc / f"{pid}/task").glob("*/status"):
            with contextlib.suppress(OSError, ValueError):
                line = next(line for line in status.read_text().splitlines() if line.startswith("Cpus_allowed_list:"))
                cpus.update(parsed(line.partition(":")[2]))
                threads += 1
    return {"threads": threads, "cpus": sorted(cpus)}


def held(cpus: Collection[int], place: dict[str, Any] | None) -> bool | None:
    """Whether every thread stayed inside `cpus`; None when no thread was seen."""
    if not place or not place["threads"]:
        return None
    return set(place["cpus"]) <= set(cpus)


def parsed(text: str) -> list[int]:
    """CPU numbers of the kernel's list form: `0-2,8` is 0, 1, 2, 8. ValueError for anything else."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def spelled(numbers: Iterable[int]) -> str:
    """The kernel's list form of CPU numbers: 0, 1, 2, 8 is `0-2,8`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
