"""Where requests go: a server's URL taken apart and its address looked up, before the run."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from benchbook.errors import LoadError


@dataclass(frozen=True)
class Target:
    """A server. `prefix`: the path that stands before every endpoint's own; `headers`: name and value pairs to add."""

    host: str
    port: int
    tls: bool
    prefix: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.prefix}"

    def address(self) -> tuple[int, tuple[object, ...]]:
        """Address family and socket address; LoadError when the name is not known."""
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except OSError as error:
            told = f"{self.url}: the host is not known ({error}). Give the server's name or address."
            raise LoadError(told) from error
        return found[0][0], found[0][4]

    def tls_context(self) -> ssl.SSLContext | None:
        return ssl.create_default_context() if self.tls else None


def _plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url


def parse(url: str, headers: tuple[tuple[str, str], ...] = ()) -> Target:
    """`url`: http or https, with or without a path; a last /v1 is left out, since the endpoints' paths begin with it.

    LoadError when it is none.
    """
    whole = url if "//" in url else f"http://{url}"
    try:
        parts = urlsplit(whole)
        port = parts.port
    except ValueError as error:
        raise LoadError(f"{url} is no URL ({error}); give one such as http://127.0.0.1:8000.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not _plain(whole):
        raise LoadError(f"{url} is no URL of a server; give one such as http://127.0.0.1:8000.")
    tls = parts.scheme == "https"
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    return Target(parts.hostname, port or (443 if tls else 80), tls, prefix, headers)
