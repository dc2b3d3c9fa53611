"""`benchbook load`: load a server and say how it did."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Any

from benchbook.commands.kind import Commands

UNIFORM, SEPARATOR = "uniform", ":"


def add(commands: Commands) -> None:
    command = commands.add_parser(
        "load",
        help="load a running server, closed or open loop, and say how it did",
        description="Sends requests to a server that speaks the OpenAI form (vLLM, SGLang and others) or SGLang's own, "
        "keeps --concurrency of them in flight or sends --rate a second, and prints what came back. Ctrl-C keeps what "
        "has ended. Exits 0 when the share of failed requests is at most --max-failed, 1 when it is above, 2 when "
        "nothing can be sent, 130 or 143 after Ctrl-C or SIGTERM.",
    )
    command.add_argument("url", metavar="URL", help="the server, such as http://127.0.0.1:8000")
    what = command.add_argument_group("what is sent")
    what.add_argument("--endpoint", choices=("completions", "chat", "responses", "generate"), default="completions",
                      help="/v1/completions, /v1/chat/completions, /v1/responses or SGLang's /generate "
                      "(default: completions)")  # fmt: skip
    what.add_argument("--model", metavar="NAME", help="default: the first that the server lists")
    what.add_argument("--workload", choices=("random", "shared-prefix", "agentic", "file"), default="random",
                      help="random: unrelated prompts; shared-prefix: --prefixes beginnings in turn, then tokens of "
                      "their own; agentic: instructions and tool schemas of 60 to 90 thousand tokens; file: --file "
                      "(default: random)")  # fmt: skip
    what.add_argument("--input-tokens", type=_length, metavar="N|MIN:MAX", help="tokens of a prompt; in shared-prefix "
                      "of its own part (default: 512; agentic: 60000:90000)")  # fmt: skip
    what.add_argument("--output-tokens", type=_length, metavar="N|MIN:MAX",
                      help="tokens of an answer (default: 128; file: as the file says)")  # fmt: skip
    what.add_argument("--prefix-tokens", type=_count, default=1024, metavar="N", help="(default: 1024)")
    what.add_argument("--prefixes", type=_count, default=8, metavar="N", help="(default: 8)")
    what.add_argument("--file", type=Path, metavar="FILE", help="JSONL with prompt, messages or token_ids a line, or "
                      "ShareGPT's JSON")  # fmt: skip
    what.add_argument("--repeat", action="store_true", help="begin --file again where it is too short; its prompts "
                      "are then in the server's prefix cache")  # fmt: skip
    what.add_argument("--vocabulary", type=_count, metavar="N", help="token ids below this (default: 1000 to 30000)")
    what.add_argument("--stop-at-eos", action="store_true", help="let the model end its answers, and take short ones")
    what.add_argument("--extra", type=_object, default={}, metavar="JSON", help="more fields of each request's body")
    what.add_argument("--header", action="append", default=[], type=_header, metavar="NAME:VALUE",
                      help="more headers; OPENAI_API_KEY is sent as a bearer token")  # fmt: skip
    how = command.add_argument_group("how")
    how.add_argument("--concurrency", type=_count, metavar="C", help="requests in flight; with a rate the most that "
                     "may be (default: 1, with a rate no limit)")  # fmt: skip
    how.add_argument("--requests", type=_count, metavar="N", help="(default: 4 for each in flight, with a rate 100)")
    how.add_argument("--rate", type=_positive, metavar="R", help="requests a second, whatever the server does")
    how.add_argument("--arrivals", choices=("constant", "poisson", "gamma"), default="poisson",
                     help="(default: poisson)")  # fmt: skip
    how.add_argument("--burstiness", type=_positive, default=1.0, metavar="B", help="of gamma: 1 is poisson, less is "
                     "burstier (default: 1)")  # fmt: skip
    how.add_argument("--arrival-times", type=Path, metavar="FILE", help="seconds from the start, one a line, "
                     "instead of --rate")  # fmt: skip
    how.add_argument("--seed", type=_seed, metavar="S", help="of prompts and arrivals; the same twice on one server "
                     "repeats prompts (default: a new one)")  # fmt: skip
    how.add_argument("--connections", choices=("kept", "new"), default="kept", help="(default: kept)")
    how.add_argument("--processes", type=_count, metavar="N", help="(default: as a rate needs; a closed loop: 1)")
    how.add_argument("--read-gap", type=_positive, default=120.0, metavar="S", help="a request that gets no byte for "
                     "so long has failed (default: 120)")  # fmt: skip
    back = command.add_argument_group("what comes back")
    back.add_argument("--out", type=Path, metavar="DIR", help="folder for result.json and its Parquet tables")
    back.add_argument("--max-failed", type=_share, default=0.0, metavar="SHARE", help="(default: 0)")
    back.add_argument("--json", action="store_true", help="print what --out has as result.json, without the lists")
    command.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from benchbook.errors import LoadError
    from benchbook.load import asked, bar, files
    from benchbook.measure.client import result, target, workers

    if given.rate is not None and given.arrival_times is not None:
        raise LoadError("--rate and --arrival-times both say when requests are due; give one of them.")
    if given.processes and given.processes > 1 and given.concurrency and (given.rate or given.arrival_times):
        raise LoadError("an open loop with --concurrency has one process, which alone knows how many are in flight; "
                        "leave --processes out.")  # fmt: skip
    if given.out is not None:
        files.refuse_to_overwrite(given.out)
    seed = given.seed if given.seed is not None else secrets.randbits(31)
    headers = _headers(given.header)
    wanted = asked.Asked(
        endpoint=given.endpoint, model=given.model, workload=_workload(given), requests=given.requests,
        concurrency=given.concurrency, rate_req_s=given.rate, arrivals=given.arrivals, burstiness=given.burstiness,
        arrival_times=given.arrival_times, seed=seed, keep_connections=given.connections == "kept",
        processes=given.processes, read_gap_s=given.read_gap, ignore_eos=not given.stop_at_eos, extra=given.extra,
    )  # fmt: skip
    load = asked.planned(wanted, target.parse(given.url, headers))
    print(asked.in_words(load, seed), file=sys.stderr)
    progress = bar.Bar(len(load.prompts), sys.stderr)
    stops = _Stops()
    ran = workers.run(load, progress, stops.asked)
    progress.close()
    burstiness = {"poisson": 1.0, "gamma": given.burstiness}.get(given.arrivals) if given.rate else None
    value = result.result(load, ran, dict(wanted.workload), seed, given.rate, burstiness)
    if given.out is not None:
        files.write(given.out, value)
    if given.json:
        print(json.dumps(files.without_lists(value), indent=1))
    else:
        from benchbook.load import printed  # pandas comes with it, and would start threads before the fork

        print(printed.text(value, given.out), end="")
    if stops.number:
        return 128 + stops.number
    return 1 if _failed_share(value) > given.max_failed else 0


def _headers(given: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The headers asked for, and the key of the environment unless one of them says who asks."""
    from benchbook.errors import LoadError

    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key or any(name.lower() == "authorization" for name, _ in given):
        return tuple(given)
    if not key.isascii() or not key.isprintable():
        raise LoadError("OPENAI_API_KEY holds characters that no header can have; set it again, or unset it.")
    return (*given, ("Authorization", f"Bearer {key}"))


class _Stops:
    """Counts SIGINT and SIGTERM from now on."""

    def __init__(self) -> None:
        self._count = 0
        self.number = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        self._count, self.number = self._count + 1, number

    def asked(self) -> int:
        return self._count


def _failed_share(value: dict[str, Any]) -> float:
    """Failed requests over those that were sent; what Ctrl-C broke off counts as neither. 1 when nothing was sent."""
    broken_off = value["benchbook_client"]["failures"].get("interrupted", 0)
    failed, sent = value["failed"] - broken_off, value["completed"] + value["failed"] - broken_off
    return failed / sent if sent else float(not broken_off)


def _workload(given: argparse.Namespace) -> dict[str, Any]:
    """The workload's mapping, as measure/client/workloads reads it."""
    from benchbook.errors import LoadError
    from benchbook.measure.client import workloads

    if (given.workload == "file") != (given.file is not None):
        raise LoadError("--workload file and --file FILE belong together: give both, or neither.")
    answers = given.output_tokens or (None if given.workload == "file" else 128)
    made: dict[str, Any] = {"kind": given.workload, "output_tokens": answers}
    if given.workload == "file":
        return made | {"path": str(given.file), "seed_order": 0, "repeat": given.repeat}
    words = given.endpoint in ("chat", "responses")
    if given.workload == "agentic":
        if given.input_tokens:
            made["input_tokens"] = given.input_tokens
        return made | {"text": not words}
    made |= {"input_tokens": given.input_tokens or 512, "text": words}
    if not words:
        made["token_ids"] = list(workloads.token_range(given.vocabulary))
    if given.workload == "shared-prefix":
        made |= {"prefix_tokens": given.prefix_tokens, "prefixes": given.prefixes}
    return made


def _length(text: str) -> int | dict[str, Any]:
    low, colon, high = text.partition(SEPARATOR)
    if not colon:
        return _count(text)
    if _count(low) > _count(high):
        raise argparse.ArgumentTypeError(f"{text}: the smaller number comes first")
    return {"distribution": UNIFORM, "min": int(low), "max": int(high)}


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of 1 or more")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no whole number of 0 or more")
    return int(text)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return value


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no share between 0 and 1")
    return value


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no JSON ({error})") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f'{text} is no JSON object; give one such as {{"top_k": 1}}')
    return value


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not text.isprintable() or not text.isascii():
        raise argparse.ArgumentTypeError(f"{text!r} is no header; give NAME:VALUE, in ASCII")
    if name.strip().lower() in ("content-length", "host", "connection", "transfer-encoding"):
        raise argparse.ArgumentTypeError(f"{name.strip()} is set by the request itself; leave it out")
    return name.strip(), value.strip()
