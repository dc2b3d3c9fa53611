"""Where the seconds of a boot went, phase by phase, from a log's time stamps and the durations that its lines state.

The stamps have whole seconds and no year. A line that ends a phase gives it the time since the line before; where a
line states how long its work took, only that much is laid to it and the rest stays with the phase before it or, when
nothing says what was done, with "other". So the phases add up to the whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchbook.engines.log_lines import NUMBER, Record, seconds

HALF_A_YEAR_S = 183 * 86400.0
LEAP_YEAR_S = 366 * 86400.0
STAMP_S = 1.0


@dataclass(frozen=True)
class _Ends:
    """A line that ends `phase`. With a group, it states the seconds that `phase` took, and the time before that is
    `before`'s (None: what went on is not told)."""

    pattern: re.Pattern[str]
    phase: str
    before: str | None = None


def _table(*rows: tuple[str, str] | tuple[str, str, str | None]) -> tuple[_Ends, ...]:
    return tuple(_Ends(re.compile(row[0]), *row[1:]) for row in rows)


_VLLM = _table(
    (r"Starting to load model", "device_init"),
    (rf"Loading weights took {NUMBER} seconds", "load_weights", "model_load"),
    (rf"Model loading took [\d.]+ GiB(?: memory)? and {NUMBER} seconds", "model_load", "model_load"),
    (rf"Dynamo bytecode transform time: {NUMBER} s", "compile", "profiling"),
    (rf"Compiling a graph for .* takes {NUMBER} s", "compile", "compile"),
    (r"Directly load (?:the compiled graph|AOT compilation)", "compile"),
    (r"torch\.compile (?:took|takes) [\d.]+ s in total", "compile"),
    (rf"Initial profiling/warmup run took {NUMBER} s", "profiling", "profiling"),
    (r"Profiling CUDA graph memory", "profiling"),
    (r"Estimated CUDA graph memory", "graph_profile"),
    (r"Available KV cache memory", "profiling"),
    (r"KV cache size: |Maximum concurrency for ", "kv_allocation"),
    (r"\[Auto[Tt]uner\]: Autotuning process (?:starts|ends)", "kernel_warmup"),
    (rf"Graph capturing finished in {NUMBER} secs", "graph_capture", "kernel_warmup"),
    (r"CUDA graph pool memory|Actual usage is", "engine_rest"),
    (r"init engine \(profile", "engine_rest"),
    (r"Starting vLLM (?:API )?server", "api_start"),
    (r"Application startup complete", "api_start"),
)
_SGLANG = _table(
    (r"server_args=", "config"),
    (r"Init torch distributed begin", "engine_start"),
    (r"Init torch distributed ends", "device_init"),
    (r"Load weight begin", "device_init"),
    (r"Load weight end", "load_weights"),
    (r"KV Cache is allocated|Memory pool end", "kv_allocation"),
    (r"Capture .*graph begin", "kernel_warmup"),
    (rf"Capture .*graph end\..*?(?:Time elapsed: |elapsed=){NUMBER} s", "graph_capture", "kernel_warmup"),
    (r"max_total_num_tokens=\d+,", "engine_rest"),
    (r"Application startup complete", "api_start"),
    (r"The server is fired up and ready to roll", "warmup_request"),
)
_LAST = {"vllm": re.compile(r"Application startup complete"), "sglang": re.compile(r"fired up and ready to roll")}
_ENGINE = re.compile(r"Initializing a V\d LLM engine")
_KV_SIZED = re.compile(r"Available KV cache memory|KV cache size: ")
_LOADING = re.compile(r"Starting to load model|Load weight begin")
_LOADED = re.compile(r"Model loading took|Load weight end")
_SERVING = re.compile(r"Avg prompt throughput|Decode batch|HTTP/1\.\d\" \d\d\d")


@dataclass(frozen=True)
class Timeline:
    """`phases`: phase, start_s from the log's first stamp and duration_s, in order, without gaps. `boot_total_s`: first
    stamp to ready; None where the log never says that the server is ready (the phases then go to the last stamp)."""

    phases: list[dict[str, Any]]
    boot_total_s: float | None


def timeline(log: Sequence[Record], engine: str) -> Timeline:
    """Phases of the boot in a vLLM or SGLang log; none where it has no time stamps.

    With several servers the boot ends with the first that is ready. The time before the first line (interpreter start,
    imports) is in no log and so in no phase.
    """
    moments = _moments(log)
    known = [moment for moment in moments if moment is not None]
    if not known:
        return Timeline([], None)
    begin = known[0]
    ready = next((index for index, record in enumerate(log) if _LAST[engine].search(record.text)), None)
    if ready is not None and moments[ready] is None:
        ready = None
    serving = next((index for index, record in enumerate(log) if _SERVING.search(record.text)), len(log))
    stop = serving if ready is None else ready + 1
    if stop == 0:
        return Timeline([], None)
    spans = _Spans(begin)
    table, sized = (_VLLM, False) if engine == "vllm" else (_SGLANG, True)
    started = loading = loaded = False
    before_this = begin
    for record, moment in zip(log[:stop], moments, strict=False):
        if moment is None:
            continue
        if engine == "vllm" and not started and _ENGINE.search(record.text):
            started = True
            spans.until(before_this, "config")
            spans.until(moment, "engine_start")
        before_this = moment
        found = next(((ends, match) for ends in table if (match := ends.pattern.search(record.text))), None)
        if found is not None:
            ends, match = found
            phase, before = ends.phase, ends.before
            if phase == "graph_capture" and not sized:
                phase, before = "graph_profile", "profiling"  # the V2 runner's first pass
            elif phase in ("load_weights", "model_load") and not loading:
                before = None
            elif phase in ("profiling", "kv_allocation", "engine_rest") and loading and not loaded:
                phase = "other"  # vLLM on CPU does not say when the model is there
            elif phase == "engine_start" and loading:
                phase = "model_load"  # of a draft model
            if match.re.groups:
                spans.split(moment - float(match[1]), before or "other")
            spans.until(moment, phase)
        sized = sized or bool(_KV_SIZED.search(record.text))
        loading = loading or bool(_LOADING.search(record.text))
        loaded = loaded or bool(_LOADED.search(record.text))
    end = moments[ready] if ready is not None else moments[stop - 1]
    if end is None:
        return Timeline([], None)
    spans.until(end, "other")
    return Timeline(spans.phases(), end - begin if ready is not None else None)


class _Spans:
    """Consecutive stretches of time; a stretch never starts before the last one's end."""

    def __init__(self, begin: float):
        self._begin = begin
        self._spans: list[tuple[str, float, float]] = []

    def until(self, moment: float, phase: str) -> None:
        start = self._spans[-1][2] if self._spans else self._begin
        if moment <= start:
            return
        if self._spans and self._spans[-1][0] == phase:
            start = self._spans.pop()[1]
        self._spans.append((phase, start, moment))

    def split(self, moment: float, phase: str) -> None:
        """`until` the start of work whose length a line states; within the stamps' whole second it is no gap."""
        start = self._spans[-1][2] if self._spans else self._begin
        if moment - start >= STAMP_S:
            self.until(moment, phase)

    def phases(self) -> list[dict[str, Any]]:
        return [
            {"phase": phase, "start_s": round(start - self._begin, 3), "duration_s": round(end - start, 3)}
            for phase, start, end in self._spans
        ]


def _moments(log: Sequence[Record]) -> list[float | None]:
    """Seconds of each record; one without a stamp has the last one's before it, and a new year goes on counting."""
    moments: list[float | None] = []
    last: float | None = None
    years = 0.0
    for record in log:
        at = seconds(record.time) if record.time is not None else None
        if at is not None:
            at += years
            if last is not None and at < last - HALF_A_YEAR_S:
                years += LEAP_YEAR_S
                at += LEAP_YEAR_S
            last = at
        moments.append(last)
    return moments
