"""YAML text to plain data, refusing what PyYAML lets pass: keys given twice, keys that are not text, tags, cycles."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchbook.config.messages import Key, Problems, shown

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STANDARD = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Document:
    """A file's data as JSON would hold it (every key text), and how each of its numbers was spelled."""

    data: Any
    spelling: dict[Key, str] = field(default_factory=dict)


def read(root: Path, file: str, problems: Problems) -> Document | None:
    """The content of `root/file`; None, with the reasons added to `problems`, when it is not plain YAML.

    Raises FileNotFoundError when there is no such file.
    """
    try:
        text = (root / file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problems.add(file, (), f"is not UTF-8 text (byte {error.start}); save it as UTF-8.")
        return None
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        problems.add(file, (), f"cannot be read: {error.strerror}; make it a readable file.")
        return None
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return Document(None)
        builder = _Builder(loader, file, problems)
        data = builder.build(node, ())
    except yaml.YAMLError as error:
        problems.add(file, (), _syntax(text, error))
        return None
    finally:
        if loader is not None:
            loader.dispose()
    return Document(data, builder.spelling) if problems.sound(file) else None


def stems(root: Path, folder: str, *endings: str) -> list[str]:
    """The names, without their ending, of the files of config/`folder`, sorted."""
    found = {path.stem for ending in endings or (".yaml",) for path in (root / "config" / folder).glob(f"*{ending}")}
    return sorted(found)


class _Builder:
    """Makes plain data from YAML nodes, knowing the key it is at."""

    def __init__(self, loader: Any, file: str, problems: Problems) -> None:
        self._loader = loader
        self._file = file
        self._problems = problems
        self._open: set[int] = set()
        self._flat: set[int] = set()
        self.spelling: dict[Key, str] = {}

    def build(self, node: yaml.Node, key: Key) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, key)
        if id(node) in self._open:
            self._problems.add(self._file, key, "contains itself; write the value out.")
            return None
        if node.tag not in (_STANDARD + "map", _STANDARD + "seq"):
            self._refuse_tag(node, key)
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, key)
            return [self.build(item, (*key, index)) for index, item in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _refuse_tag(self, node: yaml.Node, key: Key) -> None:
        tag = node.tag.replace(_STANDARD, "!!")
        self._problems.add(self._file, key, f"has the tag {tag}; leave the tag out.")

    def _scalar(self, node: yaml.ScalarNode, key: Key) -> Any:
        try:
            value = self._loader.construct_object(node)
        except yaml.constructor.ConstructorError:
            self._refuse_tag(node, key)
            return None
        except ValueError:
            name = node.tag.removeprefix(_STANDARD)
            self._problems.add(self._file, key, f"is not a valid {name}; put it in quotes.", node.value)
            return None
        if not isinstance(value, str | int | float | None):
            self._problems.add(self._file, key, f"is read as a {type(value).__name__}; put it in quotes.", node.value)
            return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            self.spelling[key] = node.value
        return value

    def _mapping(self, node: yaml.MappingNode, key: Key) -> dict[str, Any]:
        if id(node) not in self._flat:
            self._refuse_twice(node, key)
            self._loader.flatten_mapping(node)
            self._flat.add(id(node))
        data: dict[str, Any] = {}
        for name_node, value_node in node.value:
            name = self._name(name_node, key)
            if name is not None:
                data[name] = self.build(value_node, (*key, name))
        return data

    def _refuse_twice(self, node: yaml.MappingNode, key: Key) -> None:
        first_lines: dict[str, int] = {}
        for name_node, _ in node.value:
            name, line = str(name_node.value), name_node.start_mark.line + 1
            if name in first_lines:
                self._problems.add(
                    self._file,
                    (*key, name),
                    f"is given on line {first_lines[name]} and again on line {line}, and YAML would silently keep "
                    "the last; remove one.",
                )
            first_lines.setdefault(name, line)

    def _name(self, node: yaml.Node, key: Key) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._problems.add(self._file, key, "has a list or a map for a key; make the key text.")
        elif node.tag in (_STANDARD + "str", _STANDARD + "int"):
            return str(node.value)
        else:
            sentence = f"has the key {node.value}, which YAML does not take as text; put it in quotes."
            self._problems.add(self._file, key, sentence)
        return None


def _syntax(text: str, error: yaml.YAMLError) -> str:
    """What is wrong with the YAML and where."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"is not YAML: {' '.join(str(error).split())}; remove what is not text."
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: max(mark.column + 1, len(line) - len(line.lstrip()))]:
        return (
            f"is not YAML: line {mark.line + 1} has a tab, {shown(line)}, and YAML allows only spaces there; "
            "replace the tab with spaces."
        )
    context = getattr(error, "context", None)
    problem = getattr(error, "problem", None)
    return (
        f"is not YAML: line {mark.line + 1}, column {mark.column + 1}: {problem}{f' ({context})' if context else ''}; "
        "correct it there."
    )
