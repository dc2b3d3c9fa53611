"""A server whose every byte a test decides: one thread a connection, one script a request."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(payload: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(payload), payload)


def event(value: Any) -> bytes:
    """One server-sent event as one HTTP chunk; a str stands as it is, anything else is JSON."""
    text = value if isinstance(value, str) else json.dumps(value)
    return chunk(f"data: {text}\n\n".encode())


def token(text: str = " a") -> bytes:
    return event({"choices": [{"index": 0, "text": text, "finish_reason": None}]})


def usage(prompt: int, completion: int) -> bytes:
    return event({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}})


def completion(tokens: int, prompt: int = 4) -> bytes:
    """A whole streamed answer of /v1/completions."""
    return HEAD + token() * tokens + usage(prompt, tokens) + event("[DONE]") + LAST


@dataclass
class Scripted:
    """`seen`: (connection number, head, body) of every request, in order of arrival."""

    script: Callable[[socket.socket, int, dict[str, Any]], bool]
    port: int = 0
    seen: list[tuple[int, bytes, dict[str, Any]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def serving(script: Callable[[socket.socket, int, dict[str, Any]], bool]) -> Iterator[Scripted]:
    """Serve with `script(link, request number, body)`, which writes the answer; False from it ends the connection."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = Scripted(script, listener.getsockname()[1])
    lock = threading.Lock()

    def serve(link: socket.socket, connection: int) -> None:
        with contextlib.suppress(OSError), link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            read = b""
            while True:
                while b"\r\n\r\n" not in read:
                    block = link.recv(1 << 20)
                    if not block:
                        return
                    read += block
                head, _, read = read.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                while len(read) < length:
                    read += link.recv(1 << 20)
                body, read = json.loads(read[:length]), read[length:]
                with lock:
                    number = len(server.seen)
                    server.seen.append((connection, head, body))
                if not script(link, number, body):
                    return

    def accept() -> None:
        connection = 0
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                threading.Thread(target=serve, args=(link, connection), daemon=True).start()
                connection += 1

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        listener.close()


def reset(link: socket.socket) -> None:
    """Close so that the other side sees a reset, not an end of file."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    link.close()
