"""The sentences a person reads when a config file cannot be used."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from benchbook.errors import ConfigError

Key = tuple[str | int, ...]

LISTED = 16
SHOWN = 60
ABSENT = object()


class Problems:
    """The problems found so far, each one sentence naming its file, its key and the value there."""

    def __init__(self) -> None:
        self._found: list[tuple[str, Key, str]] = []

    def add(self, file: str, key: Key, sentence: str, value: Any = ABSENT) -> None:
        """Note that `key` of `file`, where `value` stands, is as `sentence` goes on to say."""
        place = f"{file}: {dotted(key)} " if key else f"{file} "
        equals = "" if value is ABSENT else f"= {shown(value)} "
        self._found.append((file, key, place + equals + sentence))

    def sound(self, file: str, *key: str | int) -> bool:
        """Whether nothing was found at `key`, inside it, or at what holds it."""
        return not any(
            file == other and (key[: len(found)] == found or found[: len(key)] == key)
            for other, found, _ in self._found
        )

    def raise_any(self) -> None:
        """Raise ConfigError with every sentence on its own line, or return when there is none."""
        if self._found:
            raise ConfigError("\n".join(sentence for _, _, sentence in self._found))


def dotted(key: Key) -> str:
    """`("arms", 1, "name")` as `arms[1].name`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += "." + (part if re.fullmatch(r"[\w.-]+", part) else shown(part))
    return text.removeprefix(".")


def shown(value: Any) -> str:
    """`value` as it would be written in the file, cut where it gets long."""
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def listed(names: Iterable[str]) -> str:
    """The names, comma separated; those past the first few only counted."""
    names = list(names)
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "") if names else "nothing"


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be, whatever its case; None when none is close."""
    import difflib

    by_lower = {other.lower(): other for other in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None


def unknown(name: str, known: Iterable[str], where: str, otherwise: str) -> str:
    """That `name` is not among the `known` ones of `where`, and which was meant; `otherwise` when none is close."""
    known = list(known)
    meant = closest(name, known)
    advice = f"did you mean {meant}?" if meant else f"{otherwise}."
    return f"({where} {listed(known)}); {advice}"
