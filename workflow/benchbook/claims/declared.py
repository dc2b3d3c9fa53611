"""Which hypotheses were there before anything was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def before_measuring(specs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The hypotheses that stand, word for word, in every one of the sessions' specifications `specs`.

    A session's specification is frozen when it boots: what was added or changed between two boots is in only some of
    them, and what was added after the last is in none. None without a session.
    """
    if not specs:
        return []
    first, *others = ([dict(item) for item in spec.get("hypotheses", [])] for spec in specs)
    return [item for item in first if all(item in listed for listed in others)]
