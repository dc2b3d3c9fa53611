"""Engine environments, from the name of a file in config/engines/ or from a map in the booking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.config.check import check
from benchbook.config.messages import Key, Problems, dotted, unknown
from benchbook.config.read import Document, read, stems
from benchbook.config.records import Engine


def spelled(env: Mapping[str, Any], key: Key, spelling: Mapping[Key, str]) -> dict[str, str]:
    """`env`, which stands at `key`, with its numbers as they are written in the file."""
    return {name: value if isinstance(value, str) else spelling[(*key, name)] for name, value in env.items()}


class Engines:
    """The engines that one booking names, each read once; problems with them are added as they are met."""

    def __init__(self, root: Path, file: str, booking: Document, problems: Problems) -> None:
        self._root = root
        self._file = file
        self._booking = booking
        self._problems = problems
        self._named: dict[str, Engine | None] = {}
        self._inline: dict[str, tuple[Key, Engine]] = {}

    def get(self, value: Any, key: Key) -> Engine | None:
        """The engine that `value` at `key` of the booking stands for, or None after adding why there is none."""
        if not self._problems.sound(self._file, *key):
            return None
        if isinstance(value, dict):
            return self._from_map(value, key)
        if value not in self._named:
            self._named[value] = self._from_file(value, key)
        return self._named[value]

    def _from_map(self, value: dict[str, Any], key: Key) -> Engine | None:
        name = value["name"]
        engine = _environment(name, value, spelled(value["env"], (*key, "env"), self._booking.spelling))
        if name in stems(self._root, "engines", ".txt", ".yaml"):
            sentence = "is the name of a file in config/engines/ too, and paths hold it; choose another name."
            self._problems.add(self._file, (*key, "name"), sentence, name)
            return None
        place, first = self._inline.setdefault(name, (key, engine))
        if engine != first:
            sentence = f"is the name of another engine at {dotted(place)}, and paths hold it; choose another name."
            self._problems.add(self._file, (*key, "name"), sentence, name)
            return None
        return engine

    def _from_file(self, name: str, key: Key) -> Engine | None:
        pinned, described = f"config/engines/{name}.txt", f"config/engines/{name}.yaml"
        has_pinned, has_described = (self._root / pinned).is_file(), (self._root / described).is_file()
        if has_pinned and has_described:
            self._problems.add(described, (), f"stands beside {pinned}, and both are engine {name}; rename one.")
        elif has_pinned:
            lock = f"config/engines/{name}.lock"
            if (self._root / lock).is_file():
                return Engine(name, "vllm", "requirements", pinned, lock, None, None, {})
            sentence = "does not exist; write what pip freeze prints in the installed environment there."
            self._problems.add(lock, (), sentence)
        elif has_described:
            return self._from_yaml(name, described)
        else:
            known = stems(self._root, "engines", ".txt", ".yaml")
            advice = unknown(name, known, "config/engines/ has", f"use one of these or add {pinned} and its .lock")
            self._problems.add(self._file, key, f"is not an engine {advice}", name)
        return None

    def _from_yaml(self, name: str, file: str) -> Engine | None:
        document = read(self._root, file, self._problems)
        if document is None:
            return None
        checked = check(document, "engine", file, self._problems)
        if not self._problems.sound(file):
            return None
        return _environment(name, checked.data, spelled(checked.data["env"], ("env",), checked.spelling))


def _environment(name: str, data: Mapping[str, Any], env: dict[str, str]) -> Engine:
    command = tuple(data["command"]) if "command" in data else None
    source = "python" if command is None else "command"
    return Engine(name, data["kind"], source, None, None, data.get("python"), command, env)
