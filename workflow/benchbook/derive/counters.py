"""What a server counted during a run: differences of its /metrics counters, summed over engines (engines.md 3)."""

from __future__ import annotations

from collections.abc import Mapping

Scrape = Mapping[str, float]
FINISHED = ("stop", "length")


class Counted:
    """Counter differences between a scrape before a run and one after it.

    A family that either scrape lacks was not counted and reads None, and so does one that went down: the server was
    another one by then.
    """

    def __init__(self, before: Scrape, after: Scrape):
        self._first, self._last = _totals(before), _totals(after)
        self._finished = _by_reason(before), _by_reason(after)

    def difference(self, family: str) -> float | None:
        """Increase of `family` (a _total, _sum or _count) over all its labels."""
        if family not in self._first or family not in self._last:
            return None
        increase = self._last[family] - self._first[family]
        return increase if increase >= 0 else None

    def mean(self, histogram: str) -> float | None:
        """Mean of the observations that `histogram` got; None without any."""
        total, count = self.difference(f"{histogram}_sum"), self.difference(f"{histogram}_count")
        return total / count if total is not None and count else None

    @property
    def finished_requests(self) -> float | None:
        """Requests that ended by a stop token or their length: not those that were aborted."""
        first, last = self._finished
        if not last:
            return None
        increase = sum(last.get(reason, 0.0) - first.get(reason, 0.0) for reason in FINISHED)
        return increase if increase >= 0 else None

    @property
    def tokens_per_step(self) -> float | None:
        """a = 1 + accepted / drafts, tokens that a decode step yields a sequence (method.md 1).

        1 for a server that counts no drafts: it does not speculate.
        """
        drafts = self.difference("vllm:spec_decode_num_drafts_total")
        accepted = self.difference("vllm:spec_decode_num_accepted_tokens_total")
        if drafts is None or accepted is None:
            return 1.0 if self._last else None
        return 1 + accepted / drafts if drafts else 1.0

    @property
    def prefix_hit_rate(self) -> float | None:
        """Prefix-cache hits over queried tokens."""
        hits, queries = (self.difference(f"vllm:prefix_cache_{what}_total") for what in ("hits", "queries"))
        return hits / queries if hits is not None and queries else None


def _totals(scrape: Scrape) -> dict[str, float]:
    totals: dict[str, float] = {}
    for name, value in scrape.items():
        family = name.partition("{")[0]
        totals[family] = totals.get(family, 0.0) + value
    return totals


def _by_reason(scrape: Scrape) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in scrape.items():
        family, _, labels = name.partition("{")
        if family == "vllm:request_success_total":
            reason = labels.partition('finished_reason="')[2].partition('"')[0]
            found[reason] = found.get(reason, 0.0) + value
    return found
