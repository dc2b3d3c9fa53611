"""The result of a load for people: how the server did, what failed and why, what the client cost."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchbook.derive import runs

WIDTH = 100
_FLOORS = {"p90": runs.P90_REQUESTS, "p99": runs.P99_REQUESTS}
_METRICS = (("TTFT", "ttft", 2), ("TPOT", "tpot", 3), ("ITL", "itl", 3), ("E2EL", "e2el", 2))
_KINDS = {
    "http_status": "the server answered with an error",
    "error_event": "an error stood in the stream",
    "no_usage": "the stream gave no token count",
    "no_done": "the stream ended without its end mark",
    "short_output": "fewer tokens than asked for",
    "read_gap": "nothing came for too long",
    "reset": "the connection was reset",
    "closed": "the server closed the connection in the middle",
    "refused": "nobody listened",
    "unreachable": "no connection could be made",
    "unreadable": "the answer could not be read",
    "interrupted": "broken off on request",
}


def text(value: Mapping[str, Any], folder: Path | None) -> str:
    return "\n".join(_lines(value, folder)) + "\n"


def _lines(value: Mapping[str, Any], folder: Path | None) -> Iterator[str]:
    told = value["benchbook_client"]
    sent = value["completed"] + value["failed"]
    yield f"{value['completed']} of {sent} requests ended well in {value['duration']:.2f} s" + (
        f"; stopped before the other {value['num_prompts'] - sent} were sent"
        if told["stopped"] and value["num_prompts"] > sent else ""
    )  # fmt: skip
    yield from _failures(value)
    if value["completed"]:
        yield ""
        if told["stopped"]:
            yield "  Broken off, so no throughput: what was in flight took its time and brought no tokens."
        else:
            yield f"  Output throughput   {value['output_throughput']:>12,.1f} tok/s"
            yield f"  Requests            {value['request_throughput']:>12,.2f} a second"
        prompt = "not told" if value["total_input_tokens"] is None else f"{value['total_input_tokens']:,}"
        yield f"  Prompt, output      {prompt:>12} and {value['total_output_tokens']:,} tokens"
        yield ""
        yield f"  {'ms':<14}{'mean':>12}{'median':>12}{'p90':>12}{'p99':>12}"
        for label, name, decimals in _METRICS:
            yield _row(label, value, name, decimals)
        yield from _first_answer(value)
        yield from _from_schedule(value)
    yield from _client(told)
    yield ""
    if folder is not None:
        yield f"{folder}/result.json, requests.parquet, chunks.parquet. Faults and what may be claimed:"
        yield f"  benchbook check {folder}/result.json"
    else:
        yield "Nothing was kept; --out DIR writes every request and chunk, for benchbook check and others."


def _failures(value: Mapping[str, Any]) -> Iterator[str]:
    notes = value["benchbook"]
    for kind, count in sorted(value["benchbook_client"]["failures"].items(), key=lambda item: -item[1]):
        places = [place for place, one in enumerate(notes["failure_kinds"]) if one == kind]
        first = min(places, key=lambda place: notes["failure_s"][place])
        said = "".join(char if char.isprintable() else "?" for char in value["errors"][first].partition(": ")[2])
        after = f", {notes['failure_s'][first]:.2f} s after its start" if kind != "refused" else ""
        line = f"  {count:>6} {kind}: {_KINDS[kind]}" + (f'; the first{after}: "{said}"' if said else after)
        yield from textwrap.wrap(line, WIDTH, subsequent_indent=" " * 9, drop_whitespace=True)


def _row(label: str, value: Mapping[str, Any], name: str, decimals: int) -> str:
    cells = [value[f"{which}_{name}_ms"] for which in ("mean", "median", "p90", "p99")]
    shown = []
    for which, cell in zip(("mean", "median", "p90", "p99"), cells, strict=True):
        few = name != "itl" and value["completed"] < _FLOORS.get(which, 0)
        shown.append("-" if cell is None else "withheld" if few else f"{cell:,.{decimals}f}")
    note = "  (p90 from 64 requests up, p99 from 662)" if "withheld" in shown and name == "ttft" else ""
    return f"  {label:<14}" + "".join(f"{cell:>12}" for cell in shown) + note


def _first_answer(value: Mapping[str, Any]) -> Iterator[str]:
    """Time to the first token that is no reasoning, where there was reasoning: TTFT ends with the first of any kind."""
    notes = value["benchbook"]
    if not any("r" in kinds for kinds in notes["chunk_kinds"]):
        return
    seconds = [moment for moment in notes["answer_ttfts"] if moment is not None]
    silent = value["completed"] - len(seconds)
    mean = f"{1000 * math.fsum(seconds) / len(seconds):,.2f}" if seconds else "-"
    yield f"  {'TTFT, answer':<14}{mean:>12}" + (f"  ({silent} had reasoning only)" if silent else "")


def _from_schedule(value: Mapping[str, Any]) -> Iterator[str]:
    """Latency from when a request was due, of an open loop: what a user waits, with the client's own queue in it."""
    if value["request_rate"] == "inf":
        return
    good = [place for place, kind in enumerate(value["benchbook"]["failure_kinds"]) if kind is None]
    waited_s = [value["queue_times"][place] for place in good]
    for label, name in (("TTFT", "ttfts"), ("E2EL", "latencies")):
        total = [value[name][place] + wait_s for place, wait_s in zip(good, waited_s, strict=True)]
        yield f"  {label + ', schedule':<14}{1000 * math.fsum(total) / len(total):>12,.2f}"
    mean_ms, most_ms = 1000 * math.fsum(waited_s) / len(waited_s), 1000 * max(waited_s)
    yield f"  Sent {mean_ms:,.2f} ms after it was due on average, {most_ms:,.2f} ms at most"


def _client(told: Mapping[str, Any]) -> Iterator[str]:
    if told["span_s"]:
        yield ""
        line = (f"  Client: {told['loop']}, {told['processes']} process{'es' * (told['processes'] > 1)}, "
                f"{told['cpu_s'] / told['span_s']:.2f} cores")  # fmt: skip
        if told["loop_lag_mean_ms"] is not None:
            line += f", event loop {told['loop_lag_mean_ms']:.1f} ms late on average"
        if told["receive_wait_mean_ms"] is not None:
            line += f", {told['receive_wait_mean_ms']:.2f} ms until a byte is read"
        yield line
