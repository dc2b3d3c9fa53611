"""A load client that imports vLLM once and then runs `vllm bench serve` for every line it is given.

A start of `vllm bench serve` costs about nine seconds of imports; a session has dozens of runs. This process calls the
same entry point (vllm/benchmarks/serve.py: add_cli_args, main) with the same arguments, so its result files have the
form of the command's.

Standard input, one JSON object a line: {"argv": [...], "log": PATH}. Standard output, one JSON object a line:
{"event": "ready", "import_s": S} once, then for each request {"event": "done", "ok": BOOL, "error": TEXT or null,
"t_start_s", "t_end_s": Unix time, "m_start_s", "m_end_s": the monotonic clock that the result's start_times are on,
"client": how busy this process was, see client_truth.py, or null when no request was sent}.
"""

import functools
import gc
import json
import os
import sys
import time
import traceback

import client_truth
import vllm_launch  # noqa: F401  (answers the metadata lookup for `vllm`)


def load_entry_point():
    from vllm import platforms
    from vllm.benchmarks import serve
    from vllm.benchmarks.lib import endpoint_request_func
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    if platforms.current_platform.is_unspecified():
        from vllm.platforms.cpu import CpuPlatform

        platforms.current_platform = CpuPlatform()
    serve.get_tokenizer = functools.lru_cache(maxsize=4)(serve.get_tokenizer)
    client_truth.install(serve, endpoint_request_func)
    parser = FlexibleArgumentParser(prog="vllm bench serve")
    serve.add_cli_args(parser)
    return serve.main, parser


def run_once(main, parser, request: dict) -> dict:
    """Run one benchmark with its output in the file `log`; never raises for what the benchmark does."""
    error = None
    with open(request["log"], "w", encoding="utf-8") as log:
        saved = os.dup(1), os.dup(2)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        client_truth.current = client_truth.RunNotes()
        t_start_s, m_start_s = time.time(), time.perf_counter()
        try:
            main(parser.parse_args(request["argv"]))
        except SystemExit as stop:
            error = f"the benchmark exited with {stop.code}" if stop.code else None
        except Exception as problem:
            traceback.print_exc()
            error = f"{type(problem).__name__}: {problem}"
        finally:
            t_end_s, m_end_s = time.time(), time.perf_counter()
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)
            os.close(saved[0])
            os.close(saved[1])
    return {"event": "done", "ok": error is None, "error": error, "t_start_s": t_start_s, "t_end_s": t_end_s,
            "m_start_s": m_start_s, "m_end_s": m_end_s, "client": client_truth.current.client()}


def serve_requests() -> None:
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # whatever the imports print must not stand between the replies
    started = time.perf_counter()
    main, parser = load_entry_point()
    gc.collect()
    gc.freeze()  # vLLM collects and freezes before each run; with the imports frozen already that takes 1 ms, not 400
    print(json.dumps({"event": "ready", "import_s": time.perf_counter() - started}), file=replies)
    for line in sys.stdin:
        print(json.dumps(run_once(main, parser, json.loads(line))), file=replies)


if __name__ == "__main__":
    serve_requests()
