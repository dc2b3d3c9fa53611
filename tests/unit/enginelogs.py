"""Server logs of this project that several test modules read, and ways in which the same log arrives elsewhere."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
SIDECARS = sorted((TESTS / "logs").glob("own-*.json"))


def sidecar(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def text_of(path: Path) -> str:
    return (path.parent / sidecar(path)["file"]).read_text(encoding="utf-8")


def recorded(name: str) -> str:
    """A recording with its carriage returns."""
    return gzip.decompress((TESTS / "recorded" / f"{name}.server.log.gz").read_bytes()).decode()


def ansi(text: str) -> str:
    """As vLLM 0.10 to 0.19 colours its prefixes."""
    return re.sub(r"^(\(\w+ pid=\d+\)) ", "\x1b[1;36m\\1\x1b[0;0m ", text, flags=re.MULTILINE)


def docker(text: str) -> str:
    return re.sub(r"^", "2026-11-30 18:51:13.904 | ", text, flags=re.MULTILINE)


def docker_t(text: str) -> str:
    return re.sub(r"^", "2026-11-30T18:51:13.904531234Z ", text, flags=re.MULTILINE)


def compose(text: str) -> str:
    return re.sub(r"^", "vllm-1  | ", text, flags=re.MULTILINE)


def windows(text: str) -> str:
    return text.replace("\n", "\r\n")


WAYS = [ansi, docker, docker_t, compose, windows]
