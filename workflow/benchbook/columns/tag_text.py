"""Tags as the tables hold them: their names, comma separated; empty when there are none."""

from __future__ import annotations

from collections.abc import Iterable


def listed(text: str | None) -> frozenset[str]:
    """The tags in a cell; none in a null one."""
    return frozenset(filter(None, (text or "").split(",")))


def joined(tags: Iterable[str]) -> str:
    """Each tag once, sorted, as a cell."""
    return ",".join(sorted(set(tags)))


def union(cells: Iterable[str]) -> str:
    """The tags of all `cells` as one."""
    return joined(tag for cell in cells for tag in listed(cell))
