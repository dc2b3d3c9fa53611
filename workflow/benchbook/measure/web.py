"""Plain GET requests to a server on this machine."""

from __future__ import annotations

import http.client
import json
import socket

UNREACHABLE = (OSError, http.client.HTTPException)


def get(port: int, path: str, timeout_s: float = 5.0) -> tuple[int, bytes]:
    """Status and body of GET `path`; raises one of UNREACHABLE when nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def model_ids(port: int) -> list[str]:
    """Names of the models that the server on `port` serves; [] when it does not answer as an OpenAI-like server."""
    try:
        status, body = get(port, "/v1/models")
        return [model["id"] for model in json.loads(body)["data"]] if status == 200 else []
    except (*UNREACHABLE, ValueError, KeyError, TypeError):
        return []


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def taken(port: int) -> bool:
    """Whether somebody accepts connections on `port`."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
