"""When is a server warm enough to be measured? Rules over readings, and the gate over the runs (method.md 2).

One reading is one wave at the run's own concurrency. The session judges with these functions while it measures, derive
judges again with the same ones, and benchmarks/warmup_rules.py measures how often they are wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from benchbook.engines.late_work import late_work

CONVERGED = "CONVERGED"
UNWARMED = "UNWARMED"
PASSED, RERUN_PASSED, FAILED = "passed", "rerun passed", "failed"

LAST, SLOPE_OVER, SETTLED_FROM, LATE_OVER = 3, 5, 3, 2
SLOPE_NEEDS = 4


@dataclass(frozen=True)
class Reading:
    """A wave, or a whole run where the gate is judged.

    `ok` False: some request failed or fell short, and the reading agrees with nothing. `throughput_tok_s` and
    `tpot_mean_ms` are None where nothing came back. `stalled`: a request stalled (method.md 8). `late_work`: the
    server's log shows compiling, tuning or capturing during it. `tpot_first_wave_ms`: mean TPOT of the requests that
    were sent first, as many as the concurrency; None where the record does not say.
    """

    throughput_tok_s: float | None
    tpot_mean_ms: float | None
    stalled: bool = False
    late_work: bool = False
    ok: bool = True
    tpot_first_wave_ms: float | None = None

    @property
    def counts(self) -> bool:
        figures = (self.throughput_tok_s, self.tpot_mean_ms)
        return self.ok and all(figure is not None and math.isfinite(figure) and figure > 0 for figure in figures)


@dataclass(frozen=True)
class Verdict:
    """`accepted` ends the warmup; `verdict` and `reason`, one sentence, are what the report prints."""

    accepted: bool
    verdict: str
    reason: str


@dataclass(frozen=True)
class TwoAgree:
    """Rule two-agree: the last two readings' throughputs differ by at most `tolerance` of the smaller one."""

    min_readings: int
    tolerance: float

    def judge(self, readings: Sequence[Reading]) -> Verdict:
        """`readings`: oldest first."""
        waiting = _too_few(readings, max(2, self.min_readings)) or _without_result(readings, 2)
        if waiting:
            return waiting
        spread = _spread([reading.throughput_tok_s for reading in readings[-2:]])
        told = f"the last two of {len(readings)} readings differ by {_pct(spread)} in throughput"
        if spread > self.tolerance:
            return _not_yet(f"{told}, more than {_pct(self.tolerance)}")
        return _late_work(readings) or Verdict(True, CONVERGED, f"{told}, within {_pct(self.tolerance)}")


@dataclass(frozen=True)
class Converged:
    """Rule W of method.md 2, and the gate that the runs after it must pass.

    All but `min_readings` and `stalls_settled_max` are shares of one. Accepted when, of at least `min_readings`
    readings, the last three spread by at most max(`throughput_spread`, 4 x `throughput_noise`) in throughput and
    `tpot_spread` in mean TPOT; |slope of ln TPOT| over the last five is at most `tpot_slope` a reading; none of the
    last three stalled and at most `stalls_settled_max` after the second; no TPOT from the third on lies more than
    `tpot_above_best` over the best before it since the second; and the log shows no late work in the last two.
    `throughput_noise` is sigma of the throughput of one reading, relative.
    """

    min_readings: int
    throughput_spread: float
    throughput_noise: float
    tpot_spread: float
    tpot_slope: float
    tpot_above_best: float
    stalls_settled_max: int
    gate_tpot_spread: float
    gate_tpot_slope: float

    def judge(self, readings: Sequence[Reading]) -> Verdict:
        """`readings`: oldest first. The reason names the first condition that fails."""
        count = len(readings)
        return (
            _too_few(readings, max(SLOPE_OVER, self.min_readings))
            or _without_result(readings, SLOPE_OVER)
            or _late_work(readings)
            or self._stalls(readings)
            or self._above_best(readings)
            or self._spreads_and_slope(readings)
            or Verdict(True, CONVERGED, f"the last three of {count} readings agree within {_pct(self.tpot_spread)} in "
                       f"TPOT and {_pct(self._throughput_limit)} in throughput, without trend or stall")
        )  # fmt: skip

    def stayed(self, before: Reading, runs: Sequence[Reading]) -> tuple[bool, str] | None:
        """Whether the server stayed where `before`, the measurement just before `runs`, left it; and why, in words.

        Over `before` and those of `runs` that are ok, oldest first: TPOT spread, |slope of ln TPOT| a run, no stall.
        None when no run is ok. Below four measurements the slope is left out: noise alone would fail it.
        """
        good = [reading for reading in (before, *runs) if reading.counts]
        if not before.counts or len(good) < 2:
            return None
        tpots = [reading.tpot_mean_ms for reading in good]
        spread, told = _spread(tpots), f"over the {len(good)} measurements from the last before the runs"
        stalled = sum(reading.stalled for reading in good)
        if stalled:
            return False, f"{stalled} of the {len(good)} measurements from the last before the runs had a stall"
        if spread > self.gate_tpot_spread:
            return False, f"TPOT spreads {_pct(spread)} {told}, more than {_pct(self.gate_tpot_spread)}"
        slope = _slope(tpots) if len(good) >= SLOPE_NEEDS else 0.0
        if abs(slope) > self.gate_tpot_slope:
            return False, f"TPOT moves {_signed(slope)} a run {told}, more than {_pct(self.gate_tpot_slope)}"
        return True, f"TPOT spreads {_pct(spread)} {told}, within {_pct(self.gate_tpot_spread)}"

    @property
    def _throughput_limit(self) -> float:
        return max(self.throughput_spread, 4 * self.throughput_noise)

    def _stalls(self, readings: Sequence[Reading]) -> Verdict | None:
        last = sum(reading.stalled for reading in readings[-LAST:])
        if last:
            return _not_yet(f"{last} of the last three of {len(readings)} readings had a stall")
        settled = sum(reading.stalled for reading in readings[SETTLED_FROM - 1 :])
        if settled > self.stalls_settled_max:
            return _not_yet(f"{settled} readings after the second had a stall, more than {self.stalls_settled_max}")
        return None

    def _above_best(self, readings: Sequence[Reading]) -> Verdict | None:
        best: float | None = None
        for number, reading in enumerate(readings, start=1):
            if number < SETTLED_FROM - 1 or not reading.counts:
                continue
            tpot = reading.tpot_mean_ms
            assert tpot is not None
            if best is not None and tpot > best * (1 + self.tpot_above_best):
                return _not_yet(f"TPOT of reading {number} lies {_pct(tpot / best - 1)} above the best before it, "
                                f"more than {_pct(self.tpot_above_best)}")  # fmt: skip
            best = tpot if best is None else min(best, tpot)
        return None

    def _spreads_and_slope(self, readings: Sequence[Reading]) -> Verdict | None:
        told = f"the last three of {len(readings)} readings"
        spread = _spread([reading.tpot_mean_ms for reading in readings[-LAST:]])
        if spread > self.tpot_spread:
            return _not_yet(f"TPOT of {told} spreads {_pct(spread)}, more than {_pct(self.tpot_spread)}")
        slope = _slope([reading.tpot_mean_ms for reading in readings[-SLOPE_OVER:]])
        if abs(slope) > self.tpot_slope:
            return _not_yet(f"TPOT moves {_signed(slope)} a reading over the last five of {len(readings)}, "
                            f"more than {_pct(self.tpot_slope)}")  # fmt: skip
        spread = _spread([reading.throughput_tok_s for reading in readings[-LAST:]])
        if spread > self._throughput_limit:
            return _not_yet(f"throughput of {told} spreads {_pct(spread)}, more than {_pct(self._throughput_limit)}")
        return None


@dataclass(frozen=True)
class Gate:
    """`outcome`: PASSED, FAILED, or RERUN_PASSED: only the runs measured once more did; `reason`: one sentence."""

    outcome: str
    reason: str


Rule = TwoAgree | Converged
RULES: dict[str, type[TwoAgree] | type[Converged]] = {"two-agree": TwoAgree, "converged": Converged}


def rule(spec: Mapping[str, Any]) -> Rule:
    """The rule of a specification's `warmup`; KeyError when it names none of RULES or lacks one of its limits."""
    kind = RULES[spec["rule"]]
    return kind(**{field.name: spec[field.name] for field in fields(kind)})


def gate(
    rule: Rule, readings: Sequence[Reading], first: Sequence[Reading], again: Sequence[Reading] = ()
) -> Gate | None:
    """Whether the server stayed warm over the runs `first`, or over the same runs measured once more, `again`.

    `first` is judged from the last of `readings`, carried over to a whole run (`_as_a_run`), `again` from the last of
    `first` that is ok; each of `again` must be ok, and there must be as many. None when there is nothing to judge: the
    rule is two-agree, it did not accept `readings`, or no run is ok.
    """
    if not isinstance(rule, Converged) or not readings or not rule.judge(readings).accepted:
        return None
    judged = rule.stayed(_as_a_run(readings[-1], first), first)
    if judged is None:
        return None
    passed, reason = judged
    if passed or not again:
        return Gate(PASSED if passed else FAILED, reason)
    if len(again) < len(first) or not all(reading.counts for reading in again):
        return Gate(FAILED, f"{reason}; measured once more, not every run ended well")
    judged = rule.stayed([reading for reading in first if reading.counts][-1], again)
    assert judged is not None
    return Gate(RERUN_PASSED if judged[0] else FAILED, f"{reason}; measured once more, {judged[1]}")


def _as_a_run(wave: Reading, runs: Sequence[Reading]) -> Reading:
    """What a run would have read where `wave` was read: its TPOT times that of the first good run over that run's own
    first wave; unchanged where no run's record says what its first wave took.

    A wave's requests are prefilled before any of them decodes for long. In a run every later wave is prefilled between
    the decode steps of the one before, which is slower and no movement of the server: 0.6 to 1 % at concurrency 128 and
    256 of a mixture of experts on one H200.
    """
    run = next((run for run in runs if run.counts and run.tpot_first_wave_ms), None)
    if run is None or not wave.counts:
        return wave
    assert wave.tpot_mean_ms and run.tpot_mean_ms and run.tpot_first_wave_ms
    return replace(wave, tpot_mean_ms=wave.tpot_mean_ms * run.tpot_mean_ms / run.tpot_first_wave_ms)


def reading(record: Mapping[str, Any], log: str | None) -> Reading:
    """A Reading from the record.json of a wave or run, and what the server logged in its course (None: not known)."""
    return Reading(
        throughput_tok_s=record["throughput_tok_s"],
        tpot_mean_ms=record["tpot_mean_ms"],
        stalled=bool(record.get("stalls")),
        late_work=bool(log and late_work(log)),
        ok=record["status"] == "ok",
        tpot_first_wave_ms=record.get("tpot_first_wave_ms"),
    )


def _spread(values: Sequence[float | None]) -> float:
    """(largest - smallest) / smallest; every value is there and above 0."""
    known = [value for value in values if value is not None]
    return (max(known) - min(known)) / min(known)


def _slope(values: Sequence[float | None]) -> float:
    """Least-squares slope of ln value against its place."""
    logs = [math.log(value) for value in values if value is not None]
    middle = (len(logs) - 1) / 2
    mean = math.fsum(logs) / len(logs)
    above = math.fsum((place - middle) * (log - mean) for place, log in enumerate(logs))
    return above / sum((place - middle) ** 2 for place in range(len(logs)))


def _too_few(readings: Sequence[Reading], least: int) -> Verdict | None:
    if len(readings) >= least:
        return None
    return _not_yet(f"{len(readings)} reading{'s' * (len(readings) != 1)}, and the rule asks for at least {least}")


def _without_result(readings: Sequence[Reading], last: int) -> Verdict | None:
    numbers = [number for number, reading in enumerate(readings, start=1) if not reading.counts]
    if not numbers or numbers[-1] <= len(readings) - last:
        return None
    return _not_yet(f"requests of reading {numbers[-1]} failed, which is one of the last {_NUMBERS[last]} of "
                    f"{len(readings)}")  # fmt: skip


def _late_work(readings: Sequence[Reading]) -> Verdict | None:
    late = [number for number, reading in enumerate(readings, start=1) if reading.late_work]
    if not late or late[-1] <= len(readings) - LATE_OVER:
        return None
    return _not_yet(f"the server's log shows it compiling, tuning or capturing during reading {late[-1]}, which is one "
                    f"of the last two of {len(readings)}")  # fmt: skip


_NUMBERS = {2: "two", SLOPE_OVER: "five"}


def _not_yet(reason: str) -> Verdict:
    return Verdict(False, UNWARMED, reason)


def _pct(share: float) -> str:
    return f"{100 * share:.3g} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.2g} %"
