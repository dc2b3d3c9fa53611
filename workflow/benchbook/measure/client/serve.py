"""A session's load client: sends one run for every line it is given (python -m benchbook.measure.client.serve).

Standard input, one JSON object a line: {"load": {...}, "result": PATH, "log": PATH}; `load` is what `run_once` reads.
Standard output, one JSON object a line: {"event": "ready", "import_s": CPU seconds so far} once, then for each line
{"event": "done", "ok": BOOL, "error": TEXT or null, "t_start_s", "t_end_s": Unix time, "m_start_s", "m_end_s": the
clock of the result's start_times, "client": own_cost.figures or null}.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchbook.errors import BenchbookError
from benchbook.measure.client import load, own_cost, result, target, workers, workloads


def run_once(asked: Mapping[str, Any], written_to: Path) -> dict[str, Any]:
    """Send one run and write its result; returns what the reply says of it.

    `asked`: url, endpoint, model, workload, num_prompts, concurrency, seed, offset, chunks_per_s (planned; null: not
    known), read_gap_s, connections (kept | new), request_id.
    """
    prompts = workloads.prompts(asked["workload"], asked["num_prompts"], asked["seed"], asked["offset"])
    planned = load.Load(
        target=target.parse(asked["url"]),
        endpoint=asked["endpoint"],
        model=asked["model"],
        prompts=prompts,
        concurrency=asked["concurrency"],
        keep_connections=asked["connections"] == "kept",
        processes=load.processes_for(asked["chunks_per_s"], asked["concurrency"]),
        read_gap_s=asked["read_gap_s"],
        request_id=asked["request_id"],
    )
    ran = workers.run(planned)
    value = result.result(planned, ran, dict(asked["workload"]), asked["seed"])
    written_to.write_text(json.dumps(value), encoding="utf-8")
    return {
        "t_start_s": ran.t_start_s, "t_end_s": ran.t_end_s, "m_start_s": ran.m_start_s, "m_end_s": ran.m_end_s,
        "client": own_cost.figures(ran),
    }  # fmt: skip


def reply_to(line: str) -> dict[str, Any]:
    """Run what `line` asks for, with all that is printed meanwhile in its log; never raises for what a run does."""
    asked = json.loads(line)
    error, told = None, dict.fromkeys(("t_start_s", "t_end_s", "m_start_s", "m_end_s", "client"))
    with open(asked["log"], "w", encoding="utf-8") as log, _output_to(log.fileno()):
        t_start_s, m_start_s = time.time(), time.perf_counter()
        try:
            told = run_once(asked["load"], Path(asked["result"]))
        except BenchbookError as problem:
            error = str(problem)
        except Exception as problem:
            traceback.print_exc()
            error = f"{type(problem).__name__}: {problem}"
        if error is not None:
            told |= {"t_start_s": t_start_s, "t_end_s": time.time(), "m_start_s": m_start_s,
                     "m_end_s": time.perf_counter()}  # fmt: skip
    return {"event": "done", "ok": error is None, "error": error, **told}


@contextlib.contextmanager
def _output_to(descriptor: int) -> Any:
    saved = os.dup(1), os.dup(2)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, kept in enumerate(saved, start=1):
            os.dup2(kept, number)
            os.close(kept)


def serve() -> None:
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # nothing that is printed may stand between the replies
    print(json.dumps({"event": "ready", "import_s": time.process_time()}), file=replies)
    for line in sys.stdin:
        print(json.dumps(reply_to(line)), file=replies)


if __name__ == "__main__":
    serve()
