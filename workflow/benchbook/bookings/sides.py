"""Which bookings stand for which side of a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchbook.errors import ConfigError

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_KEYS = {"title", "question", "sides"}


def of_list(given: str | Sequence[str]) -> dict[str, list[str]]:
    """Each booking of `--config bookings=a,b` as a side of its own, the first as the baseline. Raises ConfigError."""
    names = [name.strip() for name in given.strip("[]").split(",")] if isinstance(given, str) else list(given)
    return _checked({name: [name] for name in names}, "--config bookings=", len(names))


def of_file(root: Path, name: str) -> tuple[str, str, dict[str, list[str]]]:
    """Title, question and sides of config/compared/<name>.yaml; the first side is the baseline. Raises ConfigError."""
    file = f"config/compared/{name}.yaml"
    if not _NAME.fullmatch(name) or not (root / file).is_file():
        raise ConfigError(f"{file} does not exist; create it with title: and sides: (a map from side to bookings).")
    try:
        told: Any = yaml.safe_load((root / file).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is no YAML ({str(error).splitlines()[0]}).") from error
    if not isinstance(told, dict) or set(told) - _KEYS or not isinstance(told.get("sides"), dict):
        raise ConfigError(f"{file}: give title, question and sides, and sides as a map from a side to its bookings.")
    named = {str(side): list(map(str, items)) if isinstance(items, list) else []
             for side, items in told["sides"].items()}  # fmt: skip
    sides = _checked(named, file, sum(map(len, named.values())))
    return str(told.get("title") or name), str(told.get("question") or ""), sides


def _checked(sides: Mapping[str, Sequence[str]], where: str, count: int) -> dict[str, list[str]]:
    bookings = {name for names in sides.values() for name in names}
    wrong = sorted(name for name in bookings if not _NAME.fullmatch(name))
    if wrong:
        raise ConfigError(f"{where}: {wrong[0]!r} cannot be the name of a booking.")
    if len(sides) < 2 or not all(sides.values()):
        raise ConfigError(f"{where}: name two sides at least, each with a booking.")
    if len(bookings) != count:
        raise ConfigError(f"{where}: a booking is named twice; it can stand for one side only.")
    return {side: list(names) for side, names in sides.items()}
