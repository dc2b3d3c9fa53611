"""Data against one of workflow/schemas/, with a sentence for each problem and the schema's defaults filled in.

The schemas are JSON Schema 2020-12 for editors and other tools. The part of it that they use is small, and reading it
here costs neither the import of jsonschema (0.1 s at every start of Snakemake) nor its messages. Two keywords are ours:
`x-form` says a pattern in words, `x-why` gives the reason of a limit. A test holds the two readings equal.
"""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from benchbook.config.messages import Key, Problems, closest, dotted, listed, shown, unknown
from benchbook.config.read import Document

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"

LARGEST = 2**53  # every whole number up to it is exact as a float, too

Schema = dict[str, Any]

_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_IS = {
    "null": "is no value",
    "boolean": "is a boolean (in YAML yes, no, on and off are booleans too)",
    "integer": "is a number",
    "number": "is a number with a decimal point",
    "string": "is text",
    "array": "is a list",
    "object": "is a map",
}


@cache
def schema(name: str) -> Schema:
    """The schema `workflow/schemas/<name>.schema.yaml` with its references replaced by what they refer to."""
    file = f"{name}.schema.yaml"
    expanded: Schema = _expand(_load(file), file)
    return expanded


@cache
def _load(file: str) -> Schema:
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded: Schema = yaml.load((SCHEMAS / file).read_text(encoding="utf-8"), Loader=loader)
    return loaded


def _expand(part: Any, file: str) -> Any:
    if isinstance(part, list):
        return [_expand(item, file) for item in part]
    if not isinstance(part, dict):
        return part
    own = {name: _expand(value, file) for name, value in part.items() if name != "$ref"}
    if "$ref" not in part:
        return own
    other, _, pointer = part["$ref"].partition("#")
    target: Any = _load(other or file)
    for step in pointer.strip("/").split("/"):
        target = target[step]
    return {**_expand(target, other or file), **own}


def check(document: Document, name: str, file: str, problems: Problems) -> Document:
    """`document` of `file` with the defaults of schema `name` filled in; what does not fit is added to `problems`.

    What does not fit is returned as it was: look at `problems.sound` before using any of it. A document that is no map
    at all becomes an empty one.
    """
    root = schema(name)
    if document.data is None:
        needed = listed(root["required"] if "required" in root else root["properties"])
        problems.add(file, (), f"is empty; it needs {needed}.")
    elif not isinstance(document.data, dict):
        problems.add(file, (), f"{_IS[_KINDS[type(document.data)]]}; write keys and values, each as key: value.")
    else:
        filled = _Checker(root, file, problems).walk(document.data, root, ())
        return Document(filled, document.spelling)
    return Document({})


class _Checker:
    def __init__(self, root: Schema, file: str, problems: Problems) -> None:
        self._root = root
        self._file = file
        self._problems = problems

    def walk(self, value: Any, part: Schema, key: Key) -> Any:
        kinds = _kinds(part)
        kind = _KINDS[type(value)]
        if kind not in kinds and not (kind == "integer" and "number" in kinds):
            self._refuse(key, value, _IS[kind], part)
        elif isinstance(value, dict):
            return self._map(value, part, key)
        elif isinstance(value, list):
            return self._list(value, part, key)
        elif isinstance(value, str):
            self._text(value, part, key)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._number(value, part, key)
        return value

    def _refuse(self, key: Key, value: Any, what: str, part: Schema) -> None:
        numeric = not {"integer", "number"}.isdisjoint(_kinds(part))
        hint = ""
        if isinstance(value, str) and numeric and _reads_as_number(value):
            hint = ", without quotes" if "e" not in value.lower() else ", with a decimal point before the exponent"
        elif not isinstance(value, str | list | dict | None) and _kinds(part) == ["string"] and "enum" not in part:
            hint = ", in quotes"
        why = f" ({part['x-why']})" if "x-why" in part else ""
        self._problems.add(self._file, key, f"{what}; give {allowed(part)}{hint}{why}.", value)

    def _number(self, value: float, part: Schema, key: Key) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            self._refuse(key, value, "is not a finite number", part)
        elif abs(value) > LARGEST:
            self._refuse(key, value, "is beyond what can be counted", part)
        elif value < part.get("minimum", -math.inf) or value <= part.get("exclusiveMinimum", -math.inf):
            self._refuse(key, value, "is too small", part)
        elif value > part.get("maximum", math.inf) or value >= part.get("exclusiveMaximum", math.inf):
            self._refuse(key, value, "is too large", part)

    def _text(self, value: str, part: Schema, key: Key) -> None:
        if len(value) < part.get("minLength", 0):
            self._refuse(key, value, "is empty", part)
        elif "enum" in part and value not in part["enum"]:
            advice = unknown(value, part["enum"], "known:", f"give {allowed(part)}")
            self._problems.add(self._file, key, f"is unknown {advice}", value)
        elif "pattern" in part and not re.fullmatch(part["pattern"], value):
            self._refuse(key, value, "does not have the right form", part)

    def _list(self, value: list[Any], part: Schema, key: Key) -> list[Any]:
        if len(value) < part.get("minItems", 0):
            self._refuse(key, value, "is empty", part)
        if part.get("uniqueItems"):
            for index, item in enumerate(value):
                first = value.index(item)
                if first < index and type(value[first]) is type(item):
                    sentence = f"repeats {dotted((*key, first))}; give each value once."
                    self._problems.add(self._file, (*key, index), sentence, item)
        items = part.get("items", {})
        return [self.walk(item, items, (*key, index)) for index, item in enumerate(value)]

    def _map(self, value: dict[str, Any], part: Schema, key: Key) -> dict[str, Any]:
        if len(value) < part.get("minProperties", 0):
            self._refuse(key, value, "is empty", part)
        self._names(value, part, key)
        known = part.get("properties", {})
        others = part.get("additionalProperties", True)
        strangers = [name for name in value if name not in known] if others is False else []
        meant = {self._stranger(name, value[name], known, key) for name in strangers}
        self._presence(value, part, key, meant)
        filled: dict[str, Any] = {}
        for name, item in value.items():
            inner = known.get(name, others if isinstance(others, dict) else None)
            filled[name] = item if inner is None else self.walk(item, inner, (*key, name))
        for name, inner in known.items():
            if name not in value and "default" in inner:
                filled[name] = self.walk(inner["default"], inner, (*key, name))
        return filled

    def _names(self, value: dict[str, Any], part: Schema, key: Key) -> None:
        rule = part.get("propertyNames", {})
        if "x-form" in rule:
            for name in value:
                if not re.fullmatch(rule["pattern"], name):
                    sentence = f"has a name of the wrong form; name it with {rule['x-form']}."
                    self._problems.add(self._file, (*key, name), sentence)

    def _stranger(self, name: str, value: Any, known: Schema, key: Key) -> str | None:
        homes = [section for section, inner in self._root["properties"].items() if name in inner.get("properties", {})]
        where = f"{dotted(key)} has" if key else "known here:"
        if homes:
            advice = f"({where} {listed(known)}); move it to {homes[0]}."
        else:
            advice = unknown(name, known, where, "remove it")
        self._problems.add(self._file, (*key, name), f"is an unknown key {advice}", value)
        return None if homes else closest(name, known)

    def _presence(self, value: dict[str, Any], part: Schema, key: Key, meant: set[str | None]) -> None:
        known = part.get("properties", {})
        for name in part.get("required", []):
            if name not in value and name not in meant:
                self._missing((*key, name), known[name])
        for name, companions in part.get("dependentRequired", {}).items():
            for companion in companions:
                if name in value and companion not in value and companion not in meant:
                    self._missing((*key, companion), known[companion])
        choice = [branch["required"][0] for branch in part.get("oneOf", []) if "required" in branch]
        present = [name for name in choice if name in value]
        if choice and len(present) != 1 and meant.isdisjoint(choice):
            both = " and ".join(present) if present else f"neither {' nor '.join(choice)}"
            advice = "keep one of them" if present else f"add one of them ({_means(choice, known)})"
            self._problems.add(self._file, key, f"has {'both ' if present else ''}{both}; {advice}.")

    def _missing(self, key: Key, part: Schema) -> None:
        self._problems.add(self._file, key, f"is missing; give {allowed(part)} ({part['description']}).")


def allowed(part: Schema) -> str:
    """What the schema `part` allows, in words."""
    kinds = _kinds(part)
    form = part.get("x-form")
    words = []
    for kind in kinds:
        if kind in ("integer", "number"):
            words.append(("a whole number" if kind == "integer" else "a number") + _limits(part))
        elif kind == "string":
            choice = part.get("enum")
            words.append(form or (listed(choice) if choice and len(choice) == 1 else "text"))
            if choice and len(choice) > 1:
                words[-1] = f"one of {listed(choice)}"
        elif kind == "object" and not (form and "string" in kinds):
            words.append(form or "a map")
        elif kind == "array":
            words.append(f"a list of at least one entry, each {allowed(part['items'])}")
        elif kind in ("boolean", "null"):
            words.append("true or false" if kind == "boolean" else "null")
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _limits(part: Schema) -> str:
    low, high = part.get("minimum"), part.get("maximum")
    above, below = part.get("exclusiveMinimum"), part.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f" from {shown(low)} to {shown(high)}"
    words = [
        f"{word} {shown(limit)}"
        for word, limit in (("of at least", low), ("above", above), ("at most", high), ("below", below))
        if limit is not None
    ]
    return " " + " and ".join(words) if words else ""


def _kinds(part: Schema) -> list[str]:
    kinds = part.get("type", list(_KINDS.values()))
    return [kinds] if isinstance(kinds, str) else kinds


def _means(names: list[str], known: Schema) -> str:
    return "; ".join(f"{name}: {known[name]['description']}" for name in names)


def _reads_as_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
