"""`benchbook check`: read a benchmark result of anyone's making honestly."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchbook.commands.kind import Commands


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "check",
        help="read a result of `vllm bench serve` or SGLang's bench_serving: figures, faults, and what may be claimed",
        description="Reads a result as JSON (old or new, with or without single requests, several in one file) or the "
        "block that the benchmark printed. Exits 0 when nothing wrong was found, 1 when something was, 2 when a file "
        "cannot be read.",
    )
    command.add_argument("result", type=Path, metavar="RESULT", help="result of one benchmark or of several")
    command.add_argument("--telemetry", type=Path, metavar="FILE",
                         help="samples taken meanwhile: JSON lines, or nvidia-smi's CSV")  # fmt: skip
    command.add_argument("--log", type=Path, metavar="FILE", help="the server's log")
    command.add_argument("--metrics-before", type=Path, metavar="FILE", help="/metrics, saved just before the run")
    command.add_argument("--metrics-after", type=Path, metavar="FILE", help="/metrics, saved just after the run")
    command.add_argument("--output-len", type=_tokens, metavar="TOKENS",
                         help="output tokens that each request was to get")  # fmt: skip
    command.add_argument("--utc-offset", type=_hours, default=0.0, metavar="HOURS", help="what the local time of the "
                         "result, the log and nvidia-smi is ahead of UTC (default: 0)")  # fmt: skip
    command.add_argument("--json", action="store_true", help="print an object, for several results a list of them; "
                         "null: not known")  # fmt: skip
    command.set_defaults(run=_run)


def _tokens(text: str) -> int:
    tokens = int(text)
    if tokens < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of output tokens; give 1 or more")
    return tokens


def _hours(text: str) -> float:
    hours = float(text)
    if not -24 < hours < 24:
        raise argparse.ArgumentTypeError(f"{text} is no offset from UTC; give hours, such as 2 or -7.5")
    return hours


def _run(given: argparse.Namespace) -> int:
    from benchbook.check import load, printed
    from benchbook.check.examine import Beside, examine
    from benchbook.errors import TextError

    if (given.metrics_before is None) != (given.metrics_after is None):
        raise TextError("--metrics-before and --metrics-after belong together: give both, or neither.")
    results = load.results(given.result)
    offset_s = 3600 * given.utc_offset
    beside = Beside(
        scrapes=(load.scrape(given.metrics_before), load.scrape(given.metrics_after)) if given.metrics_before else None,
        telemetry=load.telemetry(given.telemetry, offset_s) if given.telemetry else None,
        log=load.log(given.log) if given.log else None,
        asked_tokens=given.output_len,
        utc_offset_s=offset_s,
    )
    if len(results) > 1 and beside.scrapes is not None:
        raise TextError(f"{given.result} holds {len(results)} results, and the scrapes of /metrics enclose one: give a "
                        "file with one result.")  # fmt: skip
    examined = [examine(result, beside) for result in results]
    if given.json:
        print(json.dumps(examined if len(examined) > 1 else examined[0], indent=1, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join(printed.text(one) for one in examined), end="")
    return 1 if any(one["tags"] or one["verdict"] == "REFUSED" for one in examined) else 0
