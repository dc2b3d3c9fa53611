"""Two thousand broken files given to the commands: a sentence or a result, exit code 0, 1 or 2, never a traceback."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchbook import cli

pytestmark = pytest.mark.fuzz
TESTS = Path(__file__).parents[1]
LOGS = sorted(path for path in (TESTS / "logs").iterdir() if path.suffix in (".log", ".txt", ".prom"))
RECORDED = TESTS.parent / "recordings" / "h200-qwen3moe"
NOISE = [b"\x00", b"\xff\xfe", b"\r", b"\x1b[31m", b"}", b"NaN", b"-1e999", b'"', b"\xe2\x80\xa8", b"null", b"9" * 400]


def broken(content: bytes, rng: random.Random) -> bytes:
    """`content` after one to four cuts, doublings, swaps, or bytes that do not belong."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(data) + 1), int(rng.expovariate(1 / 200)) + 1
        change = rng.choice(("cut", "drop", "double", "noise", "flip", "line"))
        if change == "cut":
            del data[at:]
        elif change == "drop":
            del data[at : at + length]
        elif change == "double":
            data[at:at] = data[at : at + length]
        elif change == "noise":
            data[at:at] = rng.choice(NOISE)
        elif change == "flip" and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        else:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines) if len(lines) < 50 else lines.pop(rng.randrange(len(lines)))
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def shorter(content: bytes, requests: int = 6) -> bytes:
    """A result with its first requests only, so that a mutation hits more than numbers."""
    return json.dumps({key: value[:requests] if isinstance(value, list) else value
                       for key, value in json.loads(content).items()}).encode()  # fmt: skip


def plain(name: str) -> bytes:
    return gzip.decompress((RECORDED / name).read_bytes())


def logs() -> Iterator[bytes]:
    yield from (path.read_bytes() for path in LOGS)
    yield b"\n".join(plain("base.server.log.gz").split(b"\n")[:140])


def results() -> Iterator[bytes]:
    yield from (shorter(plain(f"base-c{level}-r1.bench.json.gz")) for level in (1, 8))
    yield json.dumps({key: value for key, value in json.loads(plain("warm1.bench.json.gz")).items()
                      if not isinstance(value, list)}).encode()  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    told = capsys.readouterr()
    assert ended.value.code in (0, 1, 2), (arguments, ended.value.code)
    assert "Traceback" not in told.err
    if ended.value.code == 2:
        assert told.err.startswith("benchbook: ") and len(told.err.splitlines()) == 1, told.err
    else:
        assert told.out.strip()


def rounds(count: int, sources: Callable[[], Iterator[bytes]], seed: int) -> Iterator[bytes]:
    rng, whole = random.Random(seed), list(sources())
    return (broken(rng.choice(whole), rng) for _ in range(count))


def test_logs(tmp_path, capsys):
    path = tmp_path / "server.log"
    for number, content in enumerate(rounds(1000, logs, 20260911)):
        path.write_bytes(content)
        run(capsys, "facts", str(path), *(["--json"] if number % 2 else []))


def test_results(tmp_path, capsys):
    path = tmp_path / "result.json"
    for number, content in enumerate(rounds(700, results, 20260912)):
        path.write_bytes(content)
        run(capsys, "check", str(path), *(["--json"] if number % 2 else []))


def test_telemetry(tmp_path, capsys):
    result, telemetry = tmp_path / "result.json", tmp_path / "telemetry.jsonl"
    result.write_bytes(plain("base-c1-r1.bench.json.gz"))
    sources = lambda: iter([plain("base-c1-r1.telemetry.jsonl.gz")])  # noqa: E731
    for content in rounds(300, sources, 20260913):
        telemetry.write_bytes(content)
        run(capsys, "check", str(result), "--telemetry", str(telemetry), "--json")
