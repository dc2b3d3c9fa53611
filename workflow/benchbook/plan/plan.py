"""The whole plan of a booking as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchbook.claims.price import usd
from benchbook.config.records import Booking
from benchbook.plan import budget, detectable, earlier, schedule
from benchbook.plan.budget import Cut
from benchbook.plan.detectable import Detectable
from benchbook.plan.earlier import Earlier
from benchbook.plan.estimate import Estimate
from benchbook.plan.schedule import Planned
from benchbook.plan.times import Times


@dataclass(frozen=True)
class Plan:
    """`seen`: earlier sessions that it rests on; `budget_s`: the shorter of the booking's minutes and of what its money
    buys, None without a budget; `cuts` until it fits, and whether it then does (`can_fit`); `room`: what fits besides.
    """

    booking: Booking
    seen: Sequence[Earlier]
    sessions: Sequence[Planned]
    comparisons: Sequence[Detectable]
    budget_s: float | None
    cuts: Sequence[Cut]
    can_fit: bool
    room: Sequence[str]

    @property
    def time(self) -> Estimate:
        return schedule.whole(self.sessions)

    @property
    def fits(self) -> bool | None:
        """Whether the expected time is within the budget; None without one."""
        return None if self.budget_s is None else self.time.expected_s <= self.budget_s

    def usd(self, seconds: float) -> float | None:
        price = self.booking.node.price_usd_per_hour
        return None if price is None else usd(price, seconds)

    def to_json(self) -> dict[str, Any]:
        return {
            "booking": self.booking.id,
            "node": self.booking.node.name,
            "price_usd_per_hour": self.booking.node.price_usd_per_hour,
            "rests_on": [{"session": item.session, "booking": item.booking} for item in self.seen],
            "sessions": [self._session(item) for item in self.sessions],
            "total": self._costed(self.time),
            "comparisons": [item.to_json() for item in self.comparisons],
            "budget_s": self.budget_s,
            "fits": self.fits,
            "cuts": [item.to_json() | {"saves_usd": self.usd(item.saves_s)} for item in self.cuts],
            "can_be_made_to_fit": self.can_fit,
            "room": list(self.room),
        }

    def _session(self, session: Planned) -> dict[str, Any]:
        phases = [{"what": phase.what, "concurrency": phase.concurrency, **phase.time.to_json(),
                   "source": phase.time.source} for phase in session.phases]  # fmt: skip
        return {"slot": session.slot, "arm": session.arm, **self._costed(session.time), "phases": phases}

    def _costed(self, time: Estimate) -> dict[str, Any]:
        return time.to_json() | {"expected_usd": self.usd(time.expected_s), "high_usd": self.usd(time.high_s)}


def of(booking: Booking, root: Path, registered: Sequence[pd.DataFrame], without: str | None = None) -> Plan:
    """The plan of `booking` in the project at `root`. `registered`: tables `noise` of the registry for its node kind;
    `without`: a booking whose sessions are not to be looked at."""
    seen = earlier.find(root, booking, without)
    times = Times(booking, seen)
    sessions = schedule.sessions(times)
    budget_s = _budget_s(booking)
    needed, can_fit = budget.cuts(times, budget_s) if budget_s is not None else ([], True)
    room = budget.room(times, budget_s) if budget_s is not None and not needed else []
    return Plan(booking, seen, sessions, detectable.of(booking, registered), budget_s, needed, can_fit, room)


def _budget_s(booking: Booking) -> float | None:
    asked, price = booking.budget, booking.node.price_usd_per_hour
    bounds = [60 * asked.minutes] if asked.minutes is not None else []
    if asked.usd is not None and price:
        bounds.append(3600 * asked.usd / price)
    return min(bounds, default=None)
