"""What a server counted during a run: differences of its /metrics counters, summed over engines (engines.md 3)."""

from __future__ import annotations

from collections.abc import Mapping

Scrape = Mapping[str, float]
FINISHED = ("stop", "length")
_DRAFTS, _ACCEPTED = "vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_accepted_tokens_total"
_OF_A_WHOLE_PAGE = ("vllm:request_success_total", "vllm:time_to_first_token_seconds_count")


class Counted:
    """Counter differences between a scrape before a run and one after it.

    A family that either scrape lacks was not counted and reads None, and so does one of which any series went down or
    away: the server, or one of its engines, was another one by then.
    """

    def __init__(self, before: Scrape, after: Scrape):
        self._first, self._last = _series(before), _series(after)

    def difference(self, family: str) -> float | None:
        """Increase of `family` (a _total, _sum or _count) over all its labels."""
        increases = self._increases(family)
        return None if increases is None else sum(increases.values())

    def mean(self, histogram: str) -> float | None:
        """Mean of the observations that `histogram` got; None without any."""
        total, count = self.difference(f"{histogram}_sum"), self.difference(f"{histogram}_count")
        return total / count if total is not None and count else None

    @property
    def finished_requests(self) -> float | None:
        """Requests that ended by a stop token or their length: not those that were aborted."""
        increases = self._increases("vllm:request_success_total")
        if increases is None:
            return None
        return sum(value for labels, value in increases.items()
                   if labels.partition('finished_reason="')[2].partition('"')[0] in FINISHED)  # fmt: skip

    @property
    def tokens_per_step(self) -> float | None:
        """a = 1 + accepted / drafts, tokens that a decode step yields a sequence (method.md 1).

        1 for a server whose whole page counts no drafts: it does not speculate. None where only some of the page was
        kept, or the counters went down.
        """
        if _DRAFTS not in self._last:
            return 1.0 if all(family in self._last for family in _OF_A_WHOLE_PAGE) else None
        drafts, accepted = self.difference(_DRAFTS), self.difference(_ACCEPTED)
        if drafts is None or accepted is None:
            return None
        return 1 + accepted / drafts if drafts else 1.0

    @property
    def prefix_hit_rate(self) -> float | None:
        """Prefix-cache hits over queried tokens."""
        hits, queries = (self.difference(f"vllm:prefix_cache_{what}_total") for what in ("hits", "queries"))
        return hits / queries if hits is not None and queries else None

    def _increases(self, family: str) -> dict[str, float] | None:
        first, last = self._first.get(family), self._last.get(family)
        if first is None or last is None or first.keys() - last.keys():
            return None
        increases = {labels: value - first.get(labels, 0.0) for labels, value in last.items()}
        return None if any(value < 0 for value in increases.values()) else increases


def _series(scrape: Scrape) -> dict[str, dict[str, float]]:
    """Values by family and labels."""
    found: dict[str, dict[str, float]] = {}
    for name, value in scrape.items():
        family, _, labels = name.partition("{")
        found.setdefault(family, {})[labels] = value
    return found
