"""How often each warmup rule is wrong, on servers whose truth is known: the table of method.md 2, computed again.

    python benchmarks/warmup_rules.py [--series 4000] [--seed 1]

Ten kinds of server, a number of series of each. A reading is a throughput X with noise of 0.7 % and a mean TPOT with
noise of 0.3 %, independent; TPOT is the inverse of X's true level. Rules see at most ten readings; the gate sees the
three measurements after the accepted reading. Two-agree, converged and the gate are the session's own functions.

*Wrong*: accepted while the server's true throughput is more than 2 % off its final level; or before a transient of
stalls is over, or with one of its stalls among the readings compared; or at all, when the server has no final level
(stalls for ever, drift, two modes).

What method.md does not say of its series is chosen so that its table comes out: a stall hits a wave with probability
0.5 (0.3 for ever) and takes 40 % of its throughput, while mean TPOT stays (the stall is in TTFT); the modes change with
probability 0.2 a wave; decays start at reading 1, and the plateau is reached at reading 6.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from benchbook.measure.warmup import Converged, Reading, TwoAgree
from numpy.typing import NDArray

Floats = NDArray[np.float64]
READINGS, RUNS = 10, 3
NOISE_X, NOISE_TPOT = 0.007, 0.003
OFF = 0.02
STALLED_X = 0.6
WAVES = np.arange(READINGS + RUNS)

TWO = TwoAgree(min_readings=2, tolerance=0.02)
W = Converged(
    min_readings=6, throughput_spread=0.02, throughput_noise=NOISE_X, tpot_spread=0.01, tpot_slope=0.0025,
    tpot_above_best=0.02, stalls_settled_max=1, gate_tpot_spread=0.01, gate_tpot_slope=0.0025,
)  # fmt: skip
RULES = ("two", "three", "CoV5", "W", "W + gate")
COMPARED = {"two": 2, "three": 3, "CoV5": 5, "W": 3}


@dataclass(frozen=True)
class Truth:
    """A kind of server. `level`: true throughput of n series, shape (n, 13); `stall`: chance of a stall by wave.

    `transient`: number of the last wave that may stall, 0 for none. `settles` False: every acceptance is wrong.
    `published`: wrong-accept % and never % of two, three, CoV5 and W, then wrong-accept % of W + gate, from method.md.
    """

    name: str
    level: Callable[[np.random.Generator, int], Floats]
    published: tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int], int]
    stall: Floats | None = None
    transient: int = 0
    settles: bool = True


def _fixed(level: NDArray[np.floating[Any]] | float) -> Callable[[np.random.Generator, int], Floats]:
    return lambda _, n: np.tile(np.broadcast_to(level, WAVES.shape), (n, 1)).astype(float)


def _two_modes(rng: np.random.Generator, n: int) -> Floats:
    changes = rng.random((n, len(WAVES))) < np.where(WAVES == 0, 0.5, 0.2)
    return np.where(np.cumsum(changes, axis=1) % 2 == 1, 0.93, 1.0)


TRUTHS = (
    Truth("steady", _fixed(1.0), ((0, 0), (0, 0), (0, 0), (0, 0), 0)),
    Truth("decay 30 %, tau 1", _fixed(1 - 0.30 * np.exp(-WAVES / 1)), ((0, 0), (0, 0), (0, 4), (0, 3), 0)),
    Truth("decay 15 %, tau 6", _fixed(1 - 0.15 * np.exp(-WAVES / 6)), ((100, 0), (98, 2), (10, 90), (0, 100), 0)),
    Truth("decay 8 %, tau 15", _fixed(1 - 0.08 * np.exp(-WAVES / 15)), ((100, 0), (100, 0), (98, 2), (24, 76), 2)),
    Truth("5 s stalls, first 3", _fixed(1.0), ((60, 0), (11, 0), (0, 2), (0, 0), 0),
          stall=np.where(WAVES < 3, 0.5, 0.0), transient=3),
    Truth("stalls p=.3 for ever", _fixed(1.0), ((100, 0), (87, 13), (41, 59), (49, 51), 14),
          stall=np.full(WAVES.shape, 0.3), settles=False),
    Truth("drift -1 %/wave", _fixed(1 - 0.01 * WAVES), ((100, 0), (100, 0), (6, 94), (0, 100), 0), settles=False),
    Truth("drift -0.3 %/wave", _fixed(1 - 0.003 * WAVES), ((100, 0), (100, 0), (99, 1), (54, 46), 5), settles=False),
    Truth("bimodal 1/.93", _two_modes, ((100, 0), (99, 1), (74, 26), (52, 48), 24), settles=False),
    Truth("plateau .90 to 1 at 6", _fixed(np.where(WAVES < 5, 0.90, 1.0)), ((100, 0), (98, 0), (91, 1), (0, 7), 0)),
)  # fmt: skip


@dataclass(frozen=True)
class Series:
    """What n servers of one kind did: true throughput, stalls, and what was read of X and TPOT, shape (n, 13) each."""

    level: Floats
    stalled: NDArray[np.bool_]
    throughput: Floats
    tpot: Floats

    def readings(self, row: int) -> list[Reading]:
        return [
            Reading(float(x), float(t), stalled=bool(s))
            for x, t, s in zip(self.throughput[row], self.tpot[row], self.stalled[row], strict=True)
        ]


def simulate(truth: Truth, n: int, rng: np.random.Generator) -> Series:
    level = truth.level(rng, n)
    stalled = rng.random(level.shape) < (0.0 if truth.stall is None else truth.stall)
    throughput = np.where(stalled, level * STALLED_X, level) * (1 + NOISE_X * rng.standard_normal(level.shape))
    tpot = (1 + NOISE_TPOT * rng.standard_normal(level.shape)) / level
    return Series(level, stalled, throughput, tpot)


def three_agree(throughput: Sequence[float]) -> bool:
    last = throughput[-3:]
    return len(last) == 3 and max(last) / min(last) - 1 <= 0.02


def cov5(throughput: Sequence[float]) -> bool:
    last = np.asarray(throughput[-5:])
    return len(last) == 5 and bool(np.std(last, ddof=1) <= 0.01 * np.mean(last))


def accepted_at(rule: str, readings: Sequence[Reading]) -> int | None:
    """Number of the reading at which `rule` ends the warmup; None when it never does within ten."""
    seen = [reading.throughput_tok_s or 0.0 for reading in readings]
    judge: Callable[[int], bool] = {
        "two": lambda k: TWO.judge(readings[:k]).accepted,
        "three": lambda k: three_agree(seen[:k]),
        "CoV5": lambda k: cov5(seen[:k]),
        "W": lambda k: W.judge(readings[:k]).accepted,
    }[rule]
    return next((k for k in range(1, READINGS + 1) if judge(k)), None)


def wrong(truth: Truth, series: Series, row: int, rule: str, at: int) -> bool:
    if not truth.settles:
        return True
    if truth.transient:
        return at < truth.transient or bool(series.stalled[row, at - COMPARED[rule] : at].any())
    return bool(abs(series.level[row, at - 1] - 1) > OFF)


@cache
def table(n: int, seed: int) -> dict[str, dict[str, Any]]:
    """By truth: (wrong-accept %, never %) of two, three, CoV5 and W; wrong-accept % of "W + gate"; `gate fails`, the
    share of W's right acceptances (%) that the gate fails, None where W accepts none."""
    rng = np.random.default_rng(seed)
    found: dict[str, dict[str, Any]] = {}
    for truth in TRUTHS:
        series = simulate(truth, n, rng)
        counts = {rule: [0, 0] for rule in COMPARED}
        passed_wrong = failed_right = right = 0
        for row in range(n):
            readings = series.readings(row)
            for rule in COMPARED:
                at = accepted_at(rule, readings[:READINGS])
                if at is None:
                    counts[rule][1] += 1
                    continue
                mistaken = wrong(truth, series, row, rule, at)
                counts[rule][0] += mistaken
                if rule == "W":
                    gate = W.stayed(readings[at - 1], readings[at : at + RUNS])
                    assert gate is not None
                    passed_wrong += mistaken and gate[0]
                    failed_right += not mistaken and not gate[0]
                    right += not mistaken
        found[truth.name] = {
            **{rule: (100 * bad / n, 100 * never / n) for rule, (bad, never) in counts.items()},
            "W + gate": 100 * passed_wrong / n,
            "gate fails": 100 * failed_right / right if right else None,
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Wrong-accept % / never % of warmup rules on series of known truth.")
    parser.add_argument("--series", type=int, default=4000, help="series of each kind")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    found = table(asked.series, asked.seed)
    print(f"wrong-accept % / never %, {asked.series:,} series of each kind, seed {asked.seed}; [as in method.md 2]\n")
    print(f"{'truth':<22}" + "".join(f"{rule:>22}" for rule in RULES))
    for truth in TRUTHS:
        row, cells = found[truth.name], []
        for rule, known in zip(RULES, truth.published, strict=True):
            if isinstance(known, tuple):
                cells.append(f"{row[rule][0]:.1f}/{row[rule][1]:.1f} [{known[0]}/{known[1]}]")
            else:
                cells.append(f"{row[rule]:.1f} [{known}]")
        print(f"{truth.name:<22}" + "".join(f"{cell:>22}" for cell in cells))
    print(f"\nthe gate fails {found['steady']['gate fails']:.1f} % of the steady servers [12], which costs one rerun")


if __name__ == "__main__":
    main()
