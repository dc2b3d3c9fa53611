"""Whatever `benchbook facts` is given: which engine's text it is, and all that it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from benchbook.engines import (
    bench_text,
    failures,
    late_work,
    metrics_page,
    sglang_failure,
    sglang_log,
    vllm_failure,
    vllm_log,
)
from benchbook.engines.failures import Failure
from benchbook.engines.log_lines import Record, records
from benchbook.engines.timeline import timeline

_COMMENT = re.compile(r"^#corpus:.*$\n?", re.MULTILINE)
_VLLM = re.compile(r"vllm|EngineCore|APIServer|KV cache size: |Model loading took|init engine \(profile", re.IGNORECASE)
_SGLANG = re.compile(
    r"sglang|server_args=|Load weight (?:begin|end)|KV Cache is allocated|Scheduler hit an exception"
    r"|Capture (?:[a-z]+ )*graph|Decode batch|Prefill batch",
    re.IGNORECASE,
)
_BEGINS = re.compile(
    r"█  version |vLLM API server version|non-default args: |server_args=|^vllm(?: \w+)?: error: "
)
_FAR = re.compile(
    r"Model loading took|Load weight end|KV cache size: |Application startup complete|^Traceback |Error: "
)
_ERROR = re.compile(r"^(?:vllm: error|sglang: error|usage: vllm|usage: sglang|(?:\w+\.)*\w*(?:Error|Exception): )")
_FIRST_ERROR = re.compile(r"^Error 0: .*", re.MULTILINE)


def read(
    text: str, *, exit_code: int | None = None, oom_kills: int | None = None, last_line_age_s: float | None = None
) -> dict[str, Any] | None:
    """Everything that a server's log, a /metrics page or a printed benchmark result says; None when it is none of them.

    Keys: `engine` (vllm or sglang), `kind` (log, bench or metrics), the facts of that kind by name (each key is there,
    None for what the text does not say), and `failure` (failures.Failure.as_json, None: nothing failed). A log also
    has `boots` (how many the file holds; all else is of the last), `boot_total_s`, `timeline` (phase, start_s,
    duration_s; None without time stamps) and `late_work` ([time, message] of compiling, tuning or capturing after the
    server was ready).

    `exit_code`: of the server, where known: it makes a log that just stops a failure. `oom_kills`, `last_line_age_s`:
    see failures.with_evidence.
    """
    text = _COMMENT.sub("", text)
    if (result := bench_text.parse(text)) is not None:
        return _bench(text, result, exit_code)
    log = records(text)
    engine = _engine(log)
    if (page := metrics_page.parse(text)) is not None:
        return {
            "engine": "vllm", "kind": "metrics", **page.engines, "engine_steps": page.engine_steps,
            "note": metrics_page.NOTE, "failure": None,
        }  # fmt: skip
    if engine is None:
        return None
    boots = boots_of(log)
    log = list(boots[-1])
    failure = find_failure(
        log, engine, failed=exit_code is not None and exit_code not in failures.ASKED_TO_END, exit_code=exit_code,
        oom_kills=oom_kills, last_line_age_s=last_line_age_s,
    )  # fmt: skip
    boot = timeline(log, engine)
    return {
        "engine": engine, "kind": "log",
        **(vllm_log.facts(log) if engine == "vllm" else sglang_log.facts(log)),
        "failure": failure.as_json() if failure is not None else None,
        "boots": len(boots), "boot_total_s": boot.boot_total_s, "timeline": boot.phases or None,
        "late_work": _late(log),
    }  # fmt: skip


def boots_of(log: Sequence[Record]) -> list[Sequence[Record]]:
    """The records of each boot, where servers that were started one after the other wrote into one file.

    A boot begins with the engine's banner or its arguments, once the one before has come as far as its model or an
    error: within one boot several processes may print them.
    """
    begins, got_far = [0], False
    for index, record in enumerate(log):
        if got_far and _BEGINS.search(record.text):
            begins.append(index)
            got_far = False
        got_far = got_far or bool(_FAR.search(record.text))
    return [log[start:end] for start, end in zip(begins, [*begins[1:], len(log)], strict=True)]


def find_failure(
    log: Sequence[Record], engine: str, *, failed: bool, exit_code: int | None = None, oom_kills: int | None = None,
    last_line_age_s: float | None = None,
) -> Failure | None:  # fmt: skip
    """The failure that a log tells, with the evidence from outside it; None for a healthy one unless `failed`."""
    found = (vllm_failure if engine == "vllm" else sglang_failure).find(log, failed)
    if found is None:
        return None
    last = log[-1].text.strip()[:300] if log else None
    return failures.with_evidence(
        found, exit_code=exit_code, oom_kills=oom_kills, last_line=last, last_line_age_s=last_line_age_s
    )


def _engine(log: Sequence[Record]) -> str | None:
    """The engine whose words are on more lines that are a log's (head of a record, or an error); None without any."""
    said = [f"{record.process or ''} {record.text}" for record in log
            if record.process or record.level or record.time or _ERROR.match(record.text)]  # fmt: skip
    vllm = sum(1 for text in said if _VLLM.search(text))
    sglang = sum(1 for text in said if _SGLANG.search(text))
    if not vllm and not sglang:
        return None
    return "vllm" if vllm >= sglang else "sglang"


def _late(log: Sequence[Record]) -> list[list[str | None]] | None:
    ready = next((index for index, record in enumerate(log) if "Application startup complete" in record.text
                  or "fired up and ready" in record.text), None)  # fmt: skip
    if ready is None:
        return None
    return [[time, message] for time, message in late_work.among(log[ready:])] or None


def _bench(text: str, result: dict[str, Any], exit_code: int | None) -> dict[str, Any]:
    failure = None
    if bench_text.all_failed(result):
        first = _FIRST_ERROR.search(text)
        failure = Failure("all_requests_failed", None, "client", first[0].strip() if first else None,
                          exit_code=exit_code).as_json()  # fmt: skip
    engine = "sglang" if re.search(r"^Backend:\s+sglang", text, re.MULTILINE) else "vllm"
    return {"engine": engine, "kind": "bench", **result, "failure": failure}
