"""The facts of engines.facts.read as a person reads them: the failure first, then what the log says, aligned."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WIDTH = 110
BAR = 40
PHASES = {
    "config": "read the configuration", "engine_start": "start the engine process", "device_init": "set up the device",
    "model_load": "load the model, rest", "load_weights": "load weights", "compile": "compile",
    "profiling": "profile memory", "graph_profile": "profile graph memory", "kv_allocation": "allocate the KV cache",
    "kernel_warmup": "warm up kernels", "graph_capture": "capture graphs", "engine_rest": "rest of the engine's start",
    "api_start": "start the API server", "warmup_request": "server's own first request", "other": "not told",
}  # fmt: skip
_MEMORY = {
    "weight": "weights", "consumed": "weights and other", "activation": "activation peak",
    "non_torch": "outside torch", "graph": "graphs", "total": "of",
}  # fmt: skip
_SHOWN_LATE = 5
_LONG = 600


def lines_of(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines to print. Facts that the text does not tell are left out, not shown as zero."""
    if found["failure"] is not None:
        yield from _failure(found["failure"])
        yield ""
    if found["kind"] == "bench":
        yield from _rows(_bench(found))
        yield "Whether these figures can be trusted: benchbook check"
    elif found["kind"] == "metrics":
        yield from _metrics(found)
    else:
        if found["boots"] > 1:
            yield f"The file holds {found['boots']} boots; all this is of the last."
        yield from _rows(_vllm(found) if found["engine"] == "vllm" else _sglang(found))
        yield from _timeline(found)
        yield from _late(found["late_work"])


def _failure(failure: Mapping[str, Any]) -> Iterator[str]:
    phase = f" in {failure['phase']}" if failure["phase"] else ""
    said = failure["reported_by"]
    rows = [("FAILED", failure["class"] + phase)]
    if said not in (None, "none"):
        rows.append(("said by", said))
    if failure.get("failed_rank"):
        rows.append(("failed rank", failure["failed_rank"]))
    rows.append(("root cause", (failure["root_cause"] or "the log names none")[:_LONG]))
    if failure["root_cause"] is None and failure.get("last_line"):
        age = failure["last_line_age_s"]
        rows.append(("last line", failure["last_line"] + (f" ({age:.0f} s ago)" if age is not None else "")))
    if failure["exit_code"] is not None:
        rows.append(("exit code", str(failure["exit_code"])))
    rows.append(("what to do", failure["remedy"]))
    yield from _rows(rows)


def _vllm(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "engine", f"vLLM {found['version'] or '(version not told)'}"
    yield from _arguments(found["args"])
    backends = [*(found["attn"] or []), *(found["moe"] or [])]
    if backends:
        yield "backends", ", ".join(backends)
    if found["async_scheduling"] is not None:
        yield "scheduling", "asynchronous" if found["async_scheduling"] else "synchronous"
    for gib, seconds in found["load"] or []:
        weights = found["weights_s"] if len(found["load"]) == 1 else None
        rest = f", of which weights {sum(weights):.1f} s" if weights else ""
        yield "model", f"{gib:.2f} GiB in {seconds:.1f} s{rest}"
    for memory in found["memory"] or []:
        yield "memory", ", ".join(
            f"{name} {memory[key]:.2f} GiB"
            for key, name in _MEMORY.items()
            if key in memory
        )
    if found["utilization"] is not None:
        asked, effective = found["utilization"]
        yield "utilization", f"{asked:g} asked, {effective:g} without graph memory"
    if found["kv_tokens"]:
        yield "KV cache", _kv(found)
    for tokens, requests in found["max_concurrency"] or []:
        yield "", f"{requests:g} requests of {tokens:,} tokens at once"
    if found["compile_s"]:
        yield "compile", f"{sum(found['compile_s']):.1f} s"
    if found["autotune_s"] is not None:
        yield "autotune", f"{found['autotune_s']:.0f} s"
    if found["graph_profile"]:
        yield "graphs", "profiled " + ", ".join(
            f"{mode} {number} (largest {largest})" for mode, (number, largest) in found["graph_profile"].items()
        ) + (f", estimate {found['graph_estimate_gib']:.2f} GiB" if found["graph_estimate_gib"] is not None else "")
    if found["capture_bars"] or found["capture"]:
        bars = ", ".join(f"{number} {mode}" for mode, number in (found["capture_bars"] or {}).items())
        took = "; ".join(f"{seconds} s, {gib:.2f} GiB" for seconds, gib in found["capture"] or [])
        yield "graphs", "captured " + ": ".join(part for part in (bars, took) if part)
    for seconds, compilation in found["engine_init"] or []:
        yield "engine init", f"{seconds:.1f} s" + (f", of which compile {compilation:.1f} s" if compilation else "")
    if found["startup_plan"]:
        yield "startup plan", "an earlier boot's KV size may have been used (VLLM_ENABLE_STARTUP_PLAN)"
    if found["ready"]:
        yield "ready", f"{found['ready']} API server(s) on {', '.join(dict.fromkeys(found['starts'] or ['?']))}"


def _kv(found: Mapping[str, Any]) -> str:
    tokens = found["kv_tokens"]
    gib = found["kv_available_gib"]
    each = " + ".join(f"{number:,}" for number in tokens)
    total = f" = {sum(tokens):,}" if len(tokens) > 1 else ""
    return f"{each}{total} tokens" + (f" in {', '.join(f'{value:g}' for value in gib)} GiB" if gib else "")


def _sglang(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "engine", "SGLang"
    yield from _arguments(found["args"])
    for model, number, seconds, gigabytes in _same(found["load"]):
        took = f" in {seconds:.1f} s" if seconds is not None else ""
        yield "model", f"{model}: {gigabytes:g} GB{took}" + _times(number)
    for number, tokens in _counted(found["kv_tokens"] or []):
        yield "KV cache", f"{tokens:,} tokens" + _times(number)
    for what, seconds, gigabytes in found["capture"] or []:
        yield "graphs", f"captured {what}: {seconds:.1f} s, {gigabytes:.2f} GB"
    if found["totals"]:
        yield "limits", ", ".join(f"{name} {value:,}" for name, value in found["totals"].items())
    if found["ready"]:
        yield "ready", ", ".join(dict.fromkeys(found["starts"] or ["yes"]))
    decode = found["decode"] or []
    if len(decode) > 1:
        rates = [line[1] for line in decode[1:]]
        yield "decode", f"{min(rates):,.1f} to {max(rates):,.1f} tok/s in {len(rates)} lines"
        yield "", "without the first line, which counts the idle time before it"
    if found["graph_off"]:
        yield "", f"{found['graph_off']} decode lines ran without a graph"


def _same(loads: Sequence[Sequence[Any]] | None) -> Iterator[tuple[str, int, float | None, float]]:
    """Loads of the same model and size once, with how many ranks say so and the slowest rank's seconds."""
    groups: dict[tuple[str, float], list[float | None]] = {}
    for model, seconds, gigabytes in loads or []:
        groups.setdefault((model, gigabytes), []).append(seconds)
    for (model, gigabytes), times in groups.items():
        yield model, len(times), max((time for time in times if time is not None), default=None), gigabytes


def _counted(values: Sequence[int]) -> Iterator[tuple[int, int]]:
    for value in dict.fromkeys(values):
        yield values.count(value), value


def _times(number: int) -> str:
    return f" ({number} lines)" if number > 1 else ""


def _arguments(args: Mapping[str, Any] | str | None) -> Iterator[tuple[str, str]]:
    if isinstance(args, Mapping):
        yield "arguments", ", ".join(f"{name}={value}" for name, value in args.items())
    elif args is not None:
        yield "arguments", textwrap.shorten(args, 2 * WIDTH, placeholder=" ...")


def _bench(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = {
        "ok": "requests that succeeded", "failed": "requests that failed", "conc": "concurrency", "dur": "duration, s",
        "in": "input tokens", "out": "output tokens", "rps": "requests/s", "otps": "output tokens/s",
        "ttft": "mean TTFT, ms", "tpot": "mean TPOT, ms", "itl": "mean ITL, ms", "accept": "tokens a step",
    }  # fmt: skip
    for key, name in names.items():
        if found[key] is None:
            yield name, "not printed by this format"
        elif found["ok"] == 0 and key in ("ttft", "tpot", "itl"):
            yield name, "none: no request succeeded"
        else:
            yield name, f"{found[key]:,}"


def _metrics(found: Mapping[str, Any]) -> Iterator[str]:
    for engine, counters in found.items():
        if engine.isdigit():
            yield f"engine {engine}"
            yield from _rows((f"  {name}", "-" if value is None else f"{value:,}") for name, value in counters.items())
    steps = found["engine_steps"]
    yield from _rows([("engine steps", "not known from this page" if steps is None else f"{steps:,}")])
    yield from textwrap.wrap(found["note"], WIDTH)


def _timeline(found: Mapping[str, Any]) -> Iterator[str]:
    phases = found["timeline"]
    if not phases:
        return
    total = sum(phase["duration_s"] for phase in phases)
    yield ""
    if found["boot_total_s"] is not None:
        yield f"Boot: {found['boot_total_s']:.0f} s from the log's first line to ready"
    else:
        yield f"{total:.0f} s from the log's first line; it never says that the server is ready"
    width = max(len(PHASES.get(phase["phase"], phase["phase"])) for phase in phases)
    for phase in phases:
        begin = round(phase["start_s"] / total * BAR)
        length = max(1, round((phase["start_s"] + phase["duration_s"]) / total * BAR) - begin)
        bar = (" " * min(begin, BAR - 1) + "█" * length)[:BAR]
        name = PHASES.get(phase["phase"], phase["phase"])
        yield f"  {name:<{width}}  {phase['duration_s']:7.1f} s  {bar}".rstrip()


def _late(late: Sequence[Sequence[str | None]] | None) -> Iterator[str]:
    if not late:
        return
    yield ""
    yield f"Compiling, tuning or capturing after the server was ready (lines: {len(late)}):"
    for time, message in late[:_SHOWN_LATE]:
        yield f"  {time or '':<14}  {textwrap.shorten(message or '', WIDTH - 18, placeholder=' ...')}"


def _rows(rows: Any) -> Iterator[str]:
    """Name and value in two columns; a long value goes on below itself."""
    listed = list(rows)
    width = max((len(name) for name, _ in listed), default=0)
    shown = None
    for name, value in listed:
        label = "" if name == shown else name
        shown = name or shown
        wrapped = textwrap.wrap(value, WIDTH - width - 2) or [""]
        yield f"{label:<{width}}  {wrapped[0]}"
        for line in wrapped[1:]:
            yield " " * (width + 2) + line
