"""Which arm boots when, and which run follows which: decided before anything is measured.

Sessions come in rounds, each arm once a round. In order ABBA the rounds run forwards and backwards as the Thue-Morse
sequence has it (AB BA BA AB), so that neither arm gets the early or the late places (method.md 4). The sweep goes up
through the concurrencies in even rounds and down in odd ones, for the same reason inside a session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Slot:
    """One place in the schedule. `position` counts from 1; `descending`: the sweep runs from high to low."""

    name: str
    position: int
    arm: str
    descending: bool


def slots(arms: Sequence[str], sessions_per_arm: int, order: str) -> list[Slot]:
    """The sessions of a booking in the order they are measured; `order` is ABBA or blocked (AABB)."""
    if order == "blocked":
        places = [(arm, round_) for arm in arms for round_ in range(sessions_per_arm)]
    else:
        places = [
            (arm, round_)
            for round_ in range(sessions_per_arm)
            for arm in (reversed(arms) if round_.bit_count() % 2 else arms)
        ]
    return [
        Slot(name=f"s{position}", position=position, arm=arm, descending=round_ % 2 == 1)
        for position, (arm, round_) in enumerate(places, start=1)
    ]


def runs(clients: Sequence[str], repeats: int) -> list[str]:
    """Which client sends each run of one concurrency: each `repeats` times, a pair's order as that of the arms' rounds.

    The runs 2k - 1 and 2k of two clients are a pair, measured one after the other; AB BA BA AB.
    """
    return [
        client
        for repeat in range(repeats)
        for client in (reversed(clients) if repeat.bit_count() % 2 else clients)
    ]


def seed(booking: str, base: int, concurrency: int, phase: str, repeat: int) -> int:
    """The load generator's seed, below 2**31: the same for every arm and session, and no two alike on one server.

    vLLM's random data set is a function of its seed, so a seed used twice on one server turns prompts into
    prefix-cache hits (method.md 0).
    """
    text = f"{booking}|{base}|{concurrency}|{phase}|{repeat}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1
