"""`benchbook facts`: what a server's log says of its start, and why it failed when it did."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import sys
import zlib
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "facts",
        help="say what a vLLM or SGLang server's log tells: version, memory, KV cache, graphs, boot by phase, failure",
        description="Reads a server's log (vLLM 0.8 to 0.33, SGLang 0.5), a saved /metrics page or the printed result "
        "of a benchmark. Exits 0 when nothing failed, 1 when something did, 2 when the file is none of these.",
    )
    command.add_argument("log", type=Path, metavar="LOG", help="file to read")
    command.add_argument("--json", action="store_true", help="print every fact; null: the text does not say")
    command.add_argument("--exit-code", type=int, metavar="N", help="exit code of the process, where it is known: "
                         "other than 0 it makes a log that just stops a failure")  # fmt: skip
    command.add_argument("--oom-kills", type=int, metavar="N", help="rise of oom_kill in the control group's "
                         "memory.events meanwhile; names the host's out-of-memory killer as the cause")  # fmt: skip
    command.add_argument("--last-line-age", type=_seconds, metavar="S", help="seconds since the log's last line; kept "
                         "with a failure")  # fmt: skip
    command.set_defaults(run=_run)


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e12:
        raise argparse.ArgumentTypeError(f"{text} is no age in seconds")
    return value


def _run(given: argparse.Namespace) -> int:
    from benchbook.engines import facts, facts_text
    from benchbook.errors import TextError

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that is not UTF-8
    data = given.log.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise TextError(f"{given.log} cannot be unpacked ({error}): restore it from a copy.") from error
    if not data.strip():
        raise TextError(f"{given.log} is empty: name the file that the server's output went to.")
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", errors="replace")
    found = facts.read(
        text, exit_code=given.exit_code, oom_kills=given.oom_kills, last_line_age_s=given.last_line_age
    )
    if found is None:
        binary = text.count("\ufffd") + text.count("\x00") > len(text) / 100
        what = "is binary (compressed files: unpack them first)" if binary else "is no text of a vLLM or SGLang server"
        raise TextError(
            f"{given.log} {what}: name a server's log, a saved /metrics page or the printed result of a benchmark."
        )
    if given.json:
        print(json.dumps({"file": given.log.name, **found}, indent=1, ensure_ascii=False))
    else:
        print("\n".join(facts_text.lines_of(found)))
    return 1 if found["failure"] is not None else 0
