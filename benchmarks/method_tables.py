"""The simulated tables of method.md 2, 4 and 8, computed again with the product's own functions.

    python benchmarks/method_tables.py [--series 4000] [--seed 1] [--only coverage] [--markdown docs/method.md]

Prints each cell beside the figure it repeats. A cell agrees when the two differ by no more than the rounding and three
standard errors of their difference. Exit code 1: a cell whose data method.md specifies does not agree. Where it does
not say how the data were drawn the model is ours (each module of method_parts says which), and a difference is shown
and is no failure. `--markdown` puts the tables into a document, at its marks.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from method_parts import anomalies, coverage, designs, warmup
from method_parts.cells import Cell
from method_parts.markdown import NoMark, figure, put

TASKS = {**warmup.TASKS, **coverage.TASKS, **designs.TASKS, **anomalies.TASKS}
PROCESSES = 2


def simulated(name: str, series: int, seed: int) -> tuple[list[Cell], float]:
    """Cells of one task, and the CPU seconds it took. Its generator depends on seed and name, and on no other task."""
    started = time.process_time()
    cells = TASKS[name](series, np.random.default_rng([seed, zlib.crc32(name.encode())]))
    return cells, time.process_time() - started


def all_cells(names: Sequence[str], series: int, seed: int) -> tuple[list[Cell], float]:
    """Cells of the tasks `names`, in their order, and the CPU seconds of all. Runs two at a time; says on stderr which
    are done."""
    found: dict[str, list[Cell]] = {}
    total_s = 0.0
    with ProcessPoolExecutor(PROCESSES) as pool:
        asked = {pool.submit(simulated, name, series, seed): name for name in names}
        for done in as_completed(asked):
            found[asked[done]], cpu_s = done.result()
            total_s += cpu_s
            print(f"{len(found):>3} of {len(names)} done: {asked[done]} ({cpu_s:.1f} s of CPU)", file=sys.stderr,
                  flush=True)  # fmt: skip
    return [cell for name in names for cell in found[name]], total_s


def printed(cells: Sequence[Cell]) -> str:
    lines, table = [], ""
    for cell in cells:
        if cell.table != table:
            table = cell.table
            lines.append(f"\n{table}\n{'':<58}{'':<38}{'method.md':>10}{'found, ± 2 errors':>20}")
        known = "" if cell.published is None else f"{cell.published:g}"
        told = {None: "", True: "agrees", False: "DIFFERS" if cell.specified else "differs; the model is ours"}
        lines.append(f"{cell.row:<58}{cell.column:<38}{known:>10}{figure(cell):>20}  {told[cell.agrees]}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="The simulated tables of method.md 2, 4 and 8, computed again.")
    parser.add_argument("--series", type=int, default=4000, help="series of each kind; an eighth of it for anomalies")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="tasks whose name begins so")
    parser.add_argument("--markdown", type=Path, help="document whose tables are to be replaced")
    asked = parser.parse_args()
    names = [name for name in TASKS if name.startswith(asked.only)]
    if not names:
        parser.error(f"no task begins with {asked.only!r}; there are: {', '.join(TASKS)}")
    if asked.markdown and asked.only:
        parser.error("--markdown writes all tables; leave out --only")
    started = time.monotonic()
    cells, cpu_s = all_cells(names, asked.series, asked.seed)
    print(printed(cells))
    known = [cell for cell in cells if cell.agrees is not None]
    failed, other = [c for c in known if c.failed], [c for c in known if c.agrees is False and not c.specified]
    print(f"\n{len(known)} figures repeated with {asked.series:,} series each ({asked.series // 8:,} for anomalies), "
          f"seed {asked.seed}, in {time.monotonic() - started:.0f} s ({cpu_s:.0f} s of CPU): "
          f"{len(known) - len(failed) - len(other)} agree, "
          f"{len(failed)} do not, {len(other)} more do not where the model is ours")  # fmt: skip
    if asked.markdown:
        try:
            put(asked.markdown, cells, f"Seed {asked.seed}, {asked.series:,} series of each kind"
                f" ({asked.series // 8:,} for anomalies), `python benchmarks/method_tables.py`.")  # fmt: skip
        except (NoMark, OSError) as error:
            print(error, file=sys.stderr)
            return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
