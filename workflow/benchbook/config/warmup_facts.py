"""What a report says of the booking's warmup rule: its sentence, and its limits beside the method's own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchbook.config.check import schema
from benchbook.config.records import Warmup
from benchbook.config.rules import limits_of
from benchbook.measure.warmup import Converged

_MEANINGS = {
    "min_readings": ("", "at least", "warmup: readings of each concurrency"),
    "throughput_spread": ("", "at most", "warmup: spread of throughput over the last three readings"),
    "throughput_noise": ("", "at most", "warmup: noise of throughput, of which the spread may be four times"),
    "tpot_spread": ("", "at most", "warmup: spread of TPOT over the last three readings"),
    "tpot_slope": ("", "at most", "warmup: trend of TPOT over the last five, per reading"),
    "tpot_above_best": ("", "at most", "warmup: TPOT above the best before it, from the third reading on"),
    "stalls_settled_max": ("", "at most", "warmup: readings after the second that had a stall"),
    "gate_tpot_spread": ("", "at most", "gate: spread of TPOT over the last reading and the runs"),
    "gate_tpot_slope": ("", "at most", "gate: trend of TPOT over the last reading and the runs, per run"),
    "tolerance": ("", "at most", "warmup: difference in throughput at which two readings agree"),
}


def sentence(warmup: Warmup) -> str:
    """The rule in words, with this booking's limits."""
    limits = warmup.limits
    readings = (f"At least {limits.min_readings}, at most {warmup.max_readings} readings, each one wave at the run's "
                "concurrency; nothing compiled, tuned or captured during the last two.")  # fmt: skip
    if not isinstance(limits, Converged):
        return f"two-agree: the last two readings within {_pct(limits.tolerance)} in throughput. {readings}"
    throughput = max(limits.throughput_spread, 4 * limits.throughput_noise)
    return (
        f"converged: the last three readings within {_pct(limits.tpot_spread)} in mean TPOT and {_pct(throughput)} in "
        f"throughput; no trend of TPOT beyond {_pct(limits.tpot_slope)} a reading over the last five; no stall in the "
        f"last three and at most {limits.stalls_settled_max} after the second; no TPOT from the third on more than "
        f"{_pct(limits.tpot_above_best)} above the best before it. {readings} Then the gate: over the last reading and "
        f"the runs TPOT spreads at most {_pct(limits.gate_tpot_spread)} and moves at most "
        f"{_pct(limits.gate_tpot_slope)} a run, without a stall; if not, the runs are measured once more."
    )


def thresholds(warmup: Warmup) -> list[dict[str, Any]]:
    """Fields of present.context.Threshold for each limit of the rule; the method asks for the readings of converged."""
    methods = schema("booking")["properties"]["warmup"]["properties"]
    key = limits_of(warmup.rule)
    return [
        {
            "name": f"warmup.{key}.{name}",
            "value": value,
            "default": methods["converged" if name == "min_readings" else key]["properties"][name]["default"],
            "unit": unit,
            "rule": rule,
            "meaning": meaning,
        }
        for name, value in asdict(warmup.limits).items()
        for unit, rule, meaning in [_MEANINGS[name]]
    ]


def _pct(share: float) -> str:
    return f"{100 * share:g} %"
