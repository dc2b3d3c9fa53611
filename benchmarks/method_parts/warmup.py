"""The table of method.md 2, by warmup_rules.py."""

from __future__ import annotations

import numpy as np
import warmup_rules

from method_parts.cells import Cell, Task, share

TABLE = "warmup rules"
GATE_FAILS = 12
# of these method.md does not say how often they stall, change or how deep: warmup_rules.py does
MODELLED = {"5 s stalls, first 3", "stalls p=.3 for ever", "bimodal 1/.93", "plateau .90 to 1 at 6"}


def _rules(series: int, rng: np.random.Generator) -> list[Cell]:
    found = warmup_rules.table(series, int(rng.integers(2**31)))
    cells = []
    for truth in warmup_rules.TRUTHS:
        specified = truth.name not in MODELLED
        row = found[truth.name]
        for rule, known in zip(warmup_rules.RULES, truth.published, strict=True):
            measured = row[rule] if isinstance(known, tuple) else (row[rule],)
            kinds = zip(("wrong", "never"), known if isinstance(known, tuple) else (known,), measured, strict=False)
            cells += [
                share(TABLE, truth.name, f"{rule}, {kind} %", published, round(value * series / 100), series, specified)
                for kind, published, value in kinds
            ]
    failed = found["steady"]["gate fails"]
    cells.append(share(TABLE, "steady", "gate fails a warm server %", GATE_FAILS, round(failed * series / 100), series))
    return cells


TASKS: dict[str, Task] = {"warmup rules": _rules}
