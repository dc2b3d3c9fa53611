"""What tables cost as bookings grow: 10^4, 10^5 and 10^6 requests, in runs of a thousand, through every derive rule.

    python benchmarks/scale.py [--sizes 10 100 1000] [--cores 2] [--folder FOLDER]

Raw folders of known shape are written first (scale_parts/stores.py: 32 output tokens a request, native and vLLM's
client in turn, 8 GPUs sampled at 5 Hz, /metrics at 2 Hz, 25 runs a session), then each rule's own script goes over all
stores in processes of its own, as many as cores. Seconds are those of the rule, start of its processes included; memory
is the sum of their largest. CPU seconds, without that start, say what a rule takes where other work is on the machine.
What a job of Snakemake costs whatever its size (its start, the fingerprint of its code) is paid once a process here.

Exits 1 when a target was missed.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from scale_parts import rules, stores

READ_MB_S, SECONDS, PEAK_GIB, EXPONENT = 100.0, 120.0, 4.0, 1.1
NAMES = (rules.READ, *(rule.name for rule in rules.RULES))


def measured(name: str, folder: Path, of: Sequence[str], cores: int) -> dict[str, float]:
    """A rule over the stores `of`, shared among `cores` processes: `wall_s`, the longest `seconds` without start-up,
    sums of `cpu_s`, `bytes` and `peak_gib`."""
    whole = name == rules.READ or any(rule.name == name and rule.whole for rule in rules.RULES)
    shares = [list(of)] if whole else [share for core in range(cores) if (share := list(of[core::cores]))]
    command = [sys.executable, __file__, "--rule", name, "--folder", str(folder), "--stores"]
    started_s = time.perf_counter()
    running = [subprocess.Popen([*command, *share], stdout=subprocess.PIPE, text=True, cwd=stores.ROOT)
               for share in shares]  # fmt: skip
    told = []
    for process in running:
        out, _ = process.communicate()
        if process.returncode:
            sys.exit(f"rule {name} ended with {process.returncode}")
        told.append(json.loads(out.splitlines()[-1]))
    return {
        "wall_s": time.perf_counter() - started_s, "seconds": max(one["seconds"] for one in told),
        **{key: sum(one[key] for one in told) for key in ("cpu_s", "bytes", "peak_gib")},
    }  # fmt: skip


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """b of seconds ~ size^b, from the smallest to the largest size."""
    return math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])


def one_size(folder: Path, runs: int, cores: int, seed: int) -> dict[str, dict[str, float]]:
    started_s = time.perf_counter()
    names = stores.build(folder, runs, seed)
    size = sum(path.stat().st_size for path in (folder / "raw").rglob("*") if path.is_file())
    print(f"\n{runs * stores.REQUESTS:,} requests in {runs:,} runs of {len(names)} stores, {size / 1e6:,.0f} MB "
          f"(written in {time.perf_counter() - started_s:.0f} s)")  # fmt: skip
    print(f"{'rule':<14}{'wall s':>10}{'CPU s':>10}{'peak GiB':>10}")
    found = {}
    for name in NAMES:
        found[name] = one = measured(name, folder, names, cores)
        rate = f"   {one['bytes'] / 1e6 / one['seconds']:,.0f} MB/s of client JSON" if name == rules.READ else ""
        print(f"{name:<14}{one['wall_s']:>10.1f}{one['cpu_s']:>10.1f}{one['peak_gib']:>10.2f}{rate}", flush=True)
    derive = [one for name, one in found.items() if name != rules.READ]
    wall_s, cpu_s = (sum(one[key] for one in derive) for key in ("wall_s", "cpu_s"))
    print(f"{'all tables':<14}{wall_s:>10.1f}{cpu_s:>10.1f}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Time and memory of every derive rule over growing bookings.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000], help="runs, a thousand requests each")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the stores are written and stay; else they are removed")
    parser.add_argument("--rule", help=argparse.SUPPRESS)
    parser.add_argument("--stores", nargs="*", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.rule:
        print(json.dumps(rules.run(asked.rule, asked.folder, asked.stores)))
        return 0
    found = {}
    for runs in sorted(asked.sizes):
        with tempfile.TemporaryDirectory(prefix="benchbook-scale-") as folder:
            found[runs] = one_size((asked.folder or Path(folder)) / str(runs), runs, asked.cores, asked.seed)
    return judged(found)


def judged(found: dict[int, dict[str, dict[str, float]]]) -> int:
    """Print each target beside what was measured; 1 when one was missed."""
    sizes = sorted(found)
    derive = {size: [one for name, one in found[size].items() if name != rules.READ] for size in sizes}
    last, read = derive[sizes[-1]], found[sizes[-1]][rules.READ]
    figures = [
        ("client JSON, MB/s", read["bytes"] / 1e6 / read["seconds"], READ_MB_S, "at least"),
        (f"every table of {sizes[-1] * stores.REQUESTS:,} requests, s", sum(one["wall_s"] for one in last), SECONDS,
         "under"),
        ("most memory of a rule, GiB", max(one["peak_gib"] for one in last), PEAK_GIB, "under"),
    ]  # fmt: skip
    if len(sizes) > 1:
        grown = exponent(sizes, [sum(one["cpu_s"] for one in derive[size]) for size in sizes])
        figures.append(("exponent of CPU seconds over requests", grown, EXPONENT, "under"))
    print(f"\n{'':<48}{'measured':>10}   target")
    missed = 0
    for what, value, target, side in figures:
        met = value >= target if side == "at least" else value < target
        missed += not met
        print(f"{what:<48}{value:>10.2f}   {side} {target:g}{'' if met else '   MISSED'}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
