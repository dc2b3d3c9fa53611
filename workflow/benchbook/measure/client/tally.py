"""How far each process of a run has come, in memory that they share: for the progress line only."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass

_SLOT = struct.Struct("<qqq")


@dataclass(frozen=True)
class Progress:
    """Requests that are over, those of them that failed (as far as is known before the answers are read), reads."""

    finished: int
    failed: int
    chunks: int


class Tally:
    """One process's slot."""

    def __init__(self, memory: mmap.mmap, process: int) -> None:
        self._memory, self._offset = memory, process * _SLOT.size

    def note(self, finished: int, failed: int, chunks: int) -> None:
        _SLOT.pack_into(self._memory, self._offset, finished, failed, chunks)


def memory(processes: int) -> mmap.mmap:
    """Zeroed memory that processes forked later share."""
    return mmap.mmap(-1, processes * _SLOT.size)


def total(memory: mmap.mmap, processes: int) -> Progress:
    slots = [_SLOT.unpack_from(memory, process * _SLOT.size) for process in range(processes)]
    return Progress(*(sum(column) for column in zip(*slots, strict=True)))
