"""What the runs behind a claim say of it."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from benchbook.claims.records import Row, records
from benchbook.columns.tag_text import listed
from benchbook.derive import little

_ASKED = ("run_id", "session_id", "arm", "concurrency", "status", "tags", "little", "little_delta",
          "throughput_tok_s")  # fmt: skip


class Behind:
    """Runs by what a claim asks of them. `run_ids`: as a table's column of that name, space separated; of one that is
    not among the runs nothing is known, and it counts for nothing."""

    def __init__(self, runs: pd.DataFrame) -> None:
        named = [*_ASKED, *(["booking"] if "booking" in runs else [])]
        self._by_id: dict[str, Row] = {row["run_id"]: row for row in records(runs[named])}

    def tags(self, run_ids: str) -> frozenset[str]:
        return frozenset(tag for run in self._of(run_ids) for tag in listed(run["tags"]))

    def sessions(self, run_ids: str) -> int:
        return len({run["session_id"] for run in self._of(run_ids)})

    def bookings(self, run_ids: str) -> int:
        """Bookings of the arm that has fewer; 1 where the runs do not name theirs."""
        found: dict[str, set[str | None]] = {}
        for run in self._of(run_ids):
            found.setdefault(run["arm"], set()).add(run.get("booking"))
        return min(map(len, found.values()), default=1)

    def impossible(self, run_ids: str) -> int:
        """Runs that Little's check refuses with a delta that cannot be (method.md 5)."""
        return sum(run["little"] == little.REFUSED and (run["little_delta"] or 0.0) > little.CLOCK_ERROR
                   for run in self._of(run_ids))  # fmt: skip

    def incomplete(self, arm: str, concurrency: int | None = None) -> int:
        """Runs of an arm, at a concurrency or at all, that are not ok."""
        return sum(run["arm"] == arm and concurrency in (None, run["concurrency"]) and run["status"] != "ok"
                   for run in self._by_id.values())  # fmt: skip

    def idle(self, *points: tuple[str, int]) -> str | None:
        """What refuses a claim of these arms and concurrencies: runs that are ok and put out nothing."""
        count = sum((run["arm"], run["concurrency"]) in points and run["status"] == "ok"
                    and run["throughput_tok_s"] is not None and run["throughput_tok_s"] <= 0
                    for run in self._by_id.values())  # fmt: skip
        which = "1 run that ended well has" if count == 1 else f"{count} runs that ended well have"
        return f"{which} a throughput of 0 or less; see the run index, and measure again" if count else None

    def carries(self, arm: str, tag: str) -> bool:
        """Whether any run of `arm` has this tag."""
        return any(run["arm"] == arm and tag in listed(run["tags"]) for run in self._by_id.values())

    def sides(self, run_ids: str, by: str) -> dict[str, str]:
        """Each tag and whose runs carry it: values of `by`, arm or concurrency."""
        carriers: dict[str, set[str]] = {}
        for run in self._of(run_ids):
            for tag in listed(run["tags"]):
                carriers.setdefault(tag, set()).add(f"C={run[by]}" if by == "concurrency" else run[by])
        return {tag: ", ".join(sorted(items)) for tag, items in carriers.items()}

    def by_session(self, values: Iterable[tuple[str, float]]) -> list[float]:
        """Mean in each session of values by run id."""
        found: dict[str, list[float]] = {}
        for run_id, value in values:
            if run_id in self._by_id:
                found.setdefault(self._by_id[run_id]["session_id"], []).append(value)
        return [sum(mine) / len(mine) for mine in found.values()]

    def _of(self, run_ids: str) -> list[Row]:
        return [self._by_id[run_id] for run_id in run_ids.split() if run_id in self._by_id]
