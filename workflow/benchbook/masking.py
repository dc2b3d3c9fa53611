"""What may not be published of a raw file, covered: secrets, and who measured where.

Every byte that is covered becomes an "x", so that a text keeps its length (records point into the server's log by byte)
and its lines, JSON stays JSON, and covering twice is covering once. Derive reads the texts of raw files covered
(rawdata.py), so that tables and report come out equal from the original and from an archive's covered copy.

    secrets    tokens by their shape (Hugging Face, OpenAI, GitHub, GitLab, AWS, Slack, NVIDIA, JWT), private keys, the
               password in a URL, and what is given to a name that ends in token, secret, password, api key, ...
    names      the user in .../home/NAME, /Users/NAME, C:\\Users\\NAME; user, host and home of an Identity, as words

A user or host whose name says nothing of anybody (root, vm, localhost ...) is left alone: as a word it is all over a
log.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

_GENERIC = frozenset({
    "root", "user", "users", "admin", "nobody", "ubuntu", "debian", "ec2-user", "runner", "docker", "app", "test",
    "vllm", "sglang", "default", "home", "data", "node", "local", "localhost", "host", "server", "client", "base",
    "baseline", "gpu", "cpu", "main", "container", "worker", "master", "cluster",
    # words of every engine's flags and log: a user of that name cannot be told from them
    "api", "auto", "batch", "block", "cache", "config", "core", "cuda", "dev", "dummy", "engine", "graph", "key", "len",
    "log", "max", "min", "mode", "model", "num", "page", "port", "rank", "ray", "run", "seed", "seq", "spec", "token",
    "tokens", "torch",
})  # fmt: skip
_SHORTEST_USER, _SHORTEST_HOST, _SHORTEST_SECRET = 3, 4, 8

_NAMED = (
    rb"token|secret|passw(?:or)?d|(?<=_)pwd|passphrase|(?:api|access|private|secret|storage|account)[_-]?key|credentials?"
)
_OF_DIGITS = (b"password", b"passwd", b"pwd")
_SPECIAL = re.compile(
    rb"(?i)(?:bos|eos|pad|unk|sep|cls|mask|stop|image|audio|video|output|input|per|each|next|first)[_-]?$"
)
_IS_SECRET = re.compile(r"(?i)(?:" + _NAMED.decode() + r")$")

# An escape that JSON or a terminal's colours put before a word (\n, \u001b, ESC[36m): its last letter is none of it.
_ESCAPE = re.compile(rb"(?:\\[nrtbf]|\\u[0-9a-fA-F]{4}|\[[0-9;]*m)$")
_LONGEST_ESCAPE = 12
_WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
# A pattern whose group `w` is empty begins a word; looked at afterwards, since a search for plain text is fast.
_PATTERNS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("private key", re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<x>(?:\\[nrt]|[A-Za-z0-9+/=\s:,])*)")),
    ("token", re.compile(rb"\b(?:hf_|gh[pousr]_|github_pat_)(?P<x>[A-Za-z0-9_]{16,})")),
    ("token", re.compile(rb"(?:hf_|gh[pousr]_)(?P<x>[A-Za-z0-9]{20,})")),
    ("token", re.compile(rb"(?P<w>)(?:sk-|glpat-|nvapi-|xox[abprs]-)(?P<x>[A-Za-z0-9_-]{16,})")),
    ("token", re.compile(rb"(?P<w>)(?P<x>(?:AKIA|ASIA)[0-9A-Z]{16})\b")),
    ("token", re.compile(rb"(?P<w>)(?P<x>eyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,})")),
    ("token", re.compile(rb"(?P<w>)(?:npm_|AIza|pypi-|gsk_|r8_)(?P<x>[A-Za-z0-9_-]{30,})")),
    ("token", re.compile(rb"(?i)bearer\s+(?P<x>[A-Za-z0-9._~+/=-]{8,})")),
    ("secret", re.compile(rb"(?i)authorization(?:\\?[\"']?\s{0,9}[:=]|\\?[\"']\s{0,9},)\s{0,9}\\?[\"']?"
                          rb"(?:[a-z]+\s+)?(?P<x>[^\s\"',;\\]{6,})")),
    ("secret", re.compile(rb"(?i)cookie(?:\\?[\"']\s{0,9}[:=,]\s{0,9}\\?[\"']|\s{0,9}[:=]\s{0,9}(?![\[{]))"
                          rb"(?P<x>[^\s\"'\\][^\"'\\\r\n]{5,})")),
    ("secret", re.compile(rb"(?i)(?:x-amz-(?:signature|credential|security-token)|[?&]sig)=(?P<x>[^&\s\"'<>\\]{6,})")),
    ("password in a URL", re.compile(rb"://(?P<x>[^/\s:@\"'<>]+:[^/\s@\"'<>]+|[^/\s:@\"'<>]{12,})@")),
    ("secret", re.compile(rb"(?i)(?<!-)--[a-z-]{0,40}?(?:" + _NAMED + rb")(?:=|\s+|[\"']\s*,\s*[\"'])"
                          rb"(?P<x>(?:\\.|[^\s\"',\]\[{}\\]){6,})")),
    ("home path", re.compile(rb"(?:(?:\\?/|%2[Ff])(?:home|Users)(?:\\?/|%2[Ff])|[A-Za-z]:\\{1,2}Users\\{1,2})"
                             rb"(?P<x>[^/%\\\s\"'`:,;<>()\[\]{}|]+)")),
)  # fmt: skip
_ASSIGNED = re.compile(
    rb"(?i)(?P<n>" + _NAMED + rb")[\"']?\s{0,40}[:=]\s{0,40}\[?\s{0,40}[\"']?(?P<x>(?:\\.|[^\s\"',\]\[{}()<>\\]){6,})"
)
_QUOTED = re.compile(
    rb"(?i)(?P<n>" + _NAMED + rb")(?:\\?[\"'])?\s{0,40}[:=]\s{0,40}(?P<q>\\?[\"'])(?P<x>[^\"'\\\r\n]{6,200})(?P=q)"
)
# A list that is given to such a name or flag; each of its items is looked at.
_LISTED = (
    re.compile(rb"(?i)(?P<n>" + _NAMED + rb")(?:\\?[\"'])?\s{0,40}[:=]\s{0,40}\[(?P<list>[^\]\[{}]{6,2000})\]"),
    re.compile(rb"(?i)(?<!-)--[a-z-]{0,40}?(?P<n>" + _NAMED + rb")[\"']\s{0,40},"
               rb"(?P<list>(?:\s{0,40}\\?[\"'](?!-)[^\"'\\\r\n]*\\?[\"'],?)+)"),
    re.compile(rb"(?i)(?<!-)--[a-z-]{0,40}?(?P<n>" + _NAMED + rb")(?:=|[ \t]{1,9})"
               rb"(?P<list>(?![-\"'])[^\s\"']{6,}(?:[ \t](?![-\"'])[^\s\"'\d]*\d[^\s\"']*)+)"),
)
_ITEM = re.compile(rb"(?:\\.|[^\s\"',\\]){6,}")
_NUMBER = re.compile(rb"[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+|[A-Za-z%/]{0,4})$", re.IGNORECASE)
_WORDS = (b"none", b"null", b"false", b"true", b"infinity", b"-infinity")
_BEFORE, _LOOK_BACK = re.compile(rb"(?:^|[^A-Za-z0-9])(?:[A-Za-z0-9]+[_.-])*[A-Z]*$"), 64


@dataclass(frozen=True)
class Identity:
    """Who measured where: user, host and home of a machine ("" for what is not known), and exact `secrets`."""

    user: str = ""
    host: str = ""
    home: str = ""
    secrets: frozenset[str] = field(default_factory=frozenset)

    def but(self, public: Iterable[str]) -> Identity:
        """The same without a user or host that is also a word of `public`: names that whoever wrote the booking chose
        to print, such as of nodes and arms, tell nothing of it, and are not to be garbled by chance."""
        words = {word for text in public for word in re.findall(r"[A-Za-z0-9_.-]+", text)}
        words |= {part for word in words for part in re.split(r"[.-]", word)}
        user, host = ("" if name in words or name.split(".")[0] in words else name for name in (self.user, self.host))
        return replace(self, user=user, host=host)

    def exact(self) -> list[tuple[str, re.Pattern[bytes]]]:
        """Each kind with the pattern of its words; nothing for a name that is nobody's."""
        found = [("secret", rb"(?P<x>" + re.escape(secret.encode()) + rb")") for secret in sorted(self.secrets, key=len)
                 if len(secret) >= _SHORTEST_SECRET][::-1]  # fmt: skip
        if self.home.count("/") >= 2 or (self.home and not _generic(Path(self.home).name, _SHORTEST_USER)):
            parent, _, name = self.home.rstrip("/").rpartition("/")
            found.append(("home path", re.escape(parent.encode()) + rb"/(?P<x>" + re.escape(name.encode()) + rb")"
                          rb"(?![A-Za-z0-9_-])"))  # fmt: skip
        names = [("host name", name, _SHORTEST_HOST, rb"(?i)")
                 for name in dict.fromkeys((self.host, self.host.split(".")[0]))]  # fmt: skip
        names.append(("user name", self.user, _SHORTEST_USER, b""))
        found += [(kind, how + rb"(?P<w>)(?P<x>" + re.escape(name.encode()) + rb")(?![A-Za-z0-9])")
                  for kind, name, shortest, how in names if not _generic(name, shortest)]  # fmt: skip
        return [(kind, re.compile(pattern)) for kind, pattern in found]


NOBODY = Identity()


def _generic(name: str, shortest: int) -> bool:
    return len(name) < shortest or name.lower() in _GENERIC or name.isdigit() or not name.strip("xX")


def this_machine(environment: Mapping[str, str] | None = None) -> Identity:
    """User, host and home of the machine that this runs on, and the values of its environment variables that are named
    like secrets."""
    environment = os.environ if environment is None else environment
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without an entry in the user database
        user = ""
    secrets = frozenset(
        value for name, value in environment.items()
        if _IS_SECRET.search(name) and len(value) >= _SHORTEST_SECRET and not value.isdigit() and "/" not in value[:1]
    )  # fmt: skip
    return Identity(user, socket.gethostname(), str(Path.home()), secrets)


def of(environment: Mapping[str, Any] | None, spec: Mapping[str, Any]) -> Identity:
    """The identity that a session wrote down in its environment.json, NOBODY where it wrote none; names of its
    specification are public."""
    told = (environment or {}).get("identity") or {}
    user, host, home = (str(told.get(name) or "") for name in ("user", "host", "home"))
    return Identity(user, host, home).but(_names(spec))


def _names(spec: Mapping[str, Any]) -> list[str]:
    """What a specification calls its booking, arm, node, model and engine."""
    parts = [spec.get(name) for name in ("booking", "arm", "slot", "node", "model", "engine")]
    named = [value for part in parts if isinstance(part, dict) for value in (part.get("name"), part.get("kind"))]
    return [value for value in (*parts, *named) if isinstance(value, str)]


def cover(data: bytes, *who: Identity) -> tuple[bytes, Counter[str]]:
    """`data` with all covered that may not be published, and how often each kind was. Same length, same lines."""
    found: Counter[str] = Counter()
    covered = bytearray(data)

    def put(kind: str, start: int, end: int) -> None:
        new = re.sub(rb"[^\r\n]", b"x", covered[start:end])
        if new != covered[start:end]:
            found[kind] += 1
            covered[start:end] = new

    for kind, pattern in (*_PATTERNS, *(exact for one in who for exact in one.exact())):
        for match in pattern.finditer(bytes(covered)):
            if "w" not in pattern.groupindex or _begins_a_word(covered, match.start()):
                put(kind, *match.span("x"))
    for match in chain.from_iterable(pattern.finditer(bytes(covered)) for pattern in (_QUOTED, _ASSIGNED)):
        before = bytes(covered[max(0, match.start() - _LOOK_BACK) : match.start()])
        if _is_secret(match["n"], match["x"], before, bytes(covered[match.start("x") - 1 : match.start("x")])):
            put("secret", *match.span("x"))
    for match in chain.from_iterable(pattern.finditer(bytes(covered)) for pattern in _LISTED):
        before = bytes(covered[max(0, match.start() - _LOOK_BACK) : match.start()])
        for item in _ITEM.finditer(match["list"]):
            start, end = (match.start("list") + at for at in item.span())
            if _is_secret(match["n"], item[0], before, bytes(covered[start - 1 : start])):
                put("secret", start, end)
    return bytes(covered), found


def _begins_a_word(data: bytearray, at: int) -> bool:
    if at == 0 or data[at - 1] not in _WORD:
        return True
    return bool(_ESCAPE.search(data, max(0, at - _LONGEST_ESCAPE), at))


def _is_secret(name: bytes, value: bytes, before: bytes, opening: bytes) -> bool:
    """Whether what is given to a name that ends in `name` and begins with `before` may be a secret: no number, no word
    of Python, and none of a tokenizer's own tokens. A password may be of digits where `opening`, the byte before it,
    shows that it is no number of JSON."""
    if not _BEFORE.search(before) or _SPECIAL.search(before):
        return False
    if value.isdigit():
        return name.lower() in _OF_DIGITS and opening in (b'"', b"'", b"=")
    return bool(re.search(rb"[A-Za-z]", value)) and value.lower() not in _WORDS and not _NUMBER.match(value)


def cover_text(text: str, *who: Identity) -> str:
    """The same of a text; what is no character is kept as it is."""
    return cover(text.encode("utf-8", "surrogateescape"), *who)[0].decode("utf-8", "surrogateescape")


def names(found: Iterable[Counter[str]]) -> dict[str, int]:
    """How often each kind was covered in all, by kind."""
    total: Counter[str] = Counter()
    for counter in found:
        total += counter
    return dict(sorted(total.items()))
