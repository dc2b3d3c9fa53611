"""report.html against the one made anew: every difference, by the address of what it stands in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from html.parser import HTMLParser

from benchbook.verify.finding import Finding

_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_AROUND = 24


@dataclass
class _Places(HTMLParser):
    """Where each part of a page begins, and what it belongs to. `starts`: (line, column) in order; `names`: the address
    from there on."""

    starts: list[tuple[int, int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    values: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self._open: list[tuple[str, str]] = []
        self._note("report:head")

    def _note(self, name: str) -> None:
        self.starts.append(self.getpos())
        self.names.append(name)

    def _inner(self) -> str:
        return self._open[-1][1] if self._open else "report:head"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = self._name(tag, dict(attrs))
        self._note(name)
        if tag not in _VOID:
            self._open.append((tag, name))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(self._name(tag, dict(attrs)))

    def _name(self, tag: str, given: dict[str, str | None]) -> str:
        if given.get("data-address"):
            self.values += 1
            return str(given["data-address"])
        if tag in ("style", "script"):
            return f"report:{given.get('id') or tag}"
        if tag in ("section", "figure", "table", "nav", "header", "footer", "dialog") and (given.get("id") or tag):
            return f"report:{given.get('id') or tag}"
        return "report:body" if tag == "body" else self._inner()

    def handle_data(self, data: str) -> None:
        self._note(self._inner())

    def handle_entityref(self, name: str) -> None:
        self._note(self._inner())

    def handle_charref(self, name: str) -> None:
        self._note(self._inner())

    def handle_endtag(self, tag: str) -> None:
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at][0] == tag:
                self._note(self._inner())
                del self._open[at:]
                return

    def at(self, line: int, column: int) -> str:
        """The address of what stands at a place of the page (line from 1, column from 0)."""
        return self.names[max(0, bisect_right(self.starts, (line, column)) - 1)]


@lru_cache(maxsize=1)
def _places(text: str) -> _Places:
    parser = _Places()
    parser.feed(text)
    parser.close()
    return parser


def values(text: str) -> int:
    """How many values with an address a page shows."""
    return _places(text).values


def compare(shown: str, anew: str) -> list[Finding]:
    """Every difference of the page `shown` from the page `anew`, in their order; places are those of `anew`, since an
    address that was changed leads nowhere."""
    if shown == anew:
        return []
    places = _places(anew)
    return [
        Finding(places.at(line, column), f"line {line} of report.html differs",
                _excerpt(now, column), _excerpt(then, column))
        for line, column, now, then in _differences(shown.split("\n"), anew.split("\n"))
    ]  # fmt: skip


def _differences(shown: list[str], anew: list[str]) -> Iterator[tuple[int, int, str, str]]:
    """line and column in `anew`, and the lines there as shown and as made anew."""
    if len(shown) == len(anew):
        pairs = [(at, at) for at in range(len(anew)) if shown[at] != anew[at]]
        for mine, theirs in pairs:
            for column in _columns(shown[mine], anew[theirs]):
                yield theirs + 1, column, shown[mine], anew[theirs]
        return
    matcher = SequenceMatcher(None, shown, anew, autojunk=False)
    for kind, i, k, j, m in matcher.get_opcodes():
        if kind != "equal":
            at = min(j, len(anew) - 1)
            yield at + 1, 0, "\n".join(shown[i:k]) or "nothing", "\n".join(anew[j:m]) or "nothing"


def _columns(shown: str, anew: str) -> list[int]:
    """Where two lines begin to differ; of lines of one length each place, of others the first."""
    if len(shown) != len(anew):
        pairs = zip(shown, anew, strict=False)
        return [next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(shown), len(anew)))]
    differing = [at for at, (a, b) in enumerate(zip(shown, anew, strict=True)) if a != b]
    return [at for place, at in enumerate(differing) if place == 0 or differing[place - 1] != at - 1]


def _excerpt(line: str, column: int) -> str:
    start = max(0, column - _AROUND)
    return repr(line[start : column + _AROUND])
