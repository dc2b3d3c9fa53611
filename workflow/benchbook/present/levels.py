"""The levels of a verdict, from what may be claimed to what may not: name, shape, what it allows (method.md 10)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """`shape` is the marker that figures draw and the style sheet prints before the name; `filled` where something may
    be claimed."""

    name: str
    shape: str
    filled: bool
    meaning: str

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")

    @property
    def key(self) -> str:
        """The name as part of a key of the summary."""
        return self.slug.replace("-", "_")


LEVELS = (
    Level("SOLID", "o", True, "May be claimed, with its direction and size: boots enough on both sides, no tag, and "
                              "the interval excludes no effect."),
    Level("SOLID-SCALE", "D", True, "May be claimed as a ratio: runs complete, and a factor of two or more is beyond "
                                    "what noise or a tag explains."),
    Level("EQUIVALENT", "s", True, "May be claimed: no difference beyond the margin."),
    Level("WITHIN NOISE", "s", False, "No difference was found. One smaller than the MDE would have been missed."),
    Level("UNREPLICATED", "o", False, "Too few boots: a value and a band, and no direction."),
    Level("CONFOUNDED", "^", False, "Something else changed along with it, or a tag is on the runs: no cause may be "
                                    "named."),
    Level("REFUSED", "x", False, "Nothing may be said: the runs do not carry this claim."),
)
BY_NAME = {level.name: level for level in LEVELS}
