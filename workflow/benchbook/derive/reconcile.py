"""Three counts of one run held against each other: the client's records, /metrics, and the server's log lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.derive.counters import Counted
from benchbook.derive.run_key import KEY
from benchbook.engines.vllm_stats import StatLine

AGREES, DIFFERS, NOT_COMPARED = "agrees", "differs", "not compared"
SLACK_S = 1.0  # the log's times are whole seconds


@dataclass(frozen=True)
class Busy:
    """Consecutive log reports of one engine with tokens in them: what it put out from `start_s` to `end_s` (Unix).
    `whole`: it had nothing left to do at the end."""

    start_s: float
    end_s: float
    tokens: float
    whole: bool


def rows(
    run: Mapping[Any, Any], counted: Counted | None, log_tokens: float | None, difference_max: float
) -> list[dict[str, Any]]:
    """Rows of table `reconciliation` for one run: its row of table `runs`, what the server counted, what its log said.

    Requests that the client holds for failed are not in its sums while the server may have served them; such a
    difference is one that the reader should see.
    """
    server = {
        "requests": counted.finished_requests if counted else None,
        "prompt_tokens": counted.difference("vllm:prompt_tokens_total") if counted else None,
        "output_tokens": counted.difference("vllm:generation_tokens_total") if counted else None,
    }
    listed = []
    for quantity, client in (("requests", run["completed"]), ("prompt_tokens", run["prompt_tokens"]),
                             ("output_tokens", run["output_tokens"])):  # fmt: skip
        ours = None if pd.isna(client) else float(client)
        logged = log_tokens if quantity == "output_tokens" else None
        off = [abs(other - ours) / max(ours, 1.0) for other in (server[quantity], logged)
               if other is not None and ours is not None]  # fmt: skip
        listed.append({
            **{name: run[name] for name in KEY},
            "quantity": quantity,
            "client": _whole(ours),
            "metrics": _whole(server[quantity]),
            "log": _whole(logged),
            "difference": max(off) if off else None,
            "outcome": NOT_COMPARED if not off else DIFFERS if max(off) > difference_max else AGREES,
        })  # fmt: skip
    return listed


def table(listed: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return schema.check(pd.DataFrame(list(listed)), "reconciliation") if listed else schema.empty("reconciliation")


def busy_stretches(lines: Sequence[StatLine]) -> list[Busy]:
    """Stretches of reports with tokens, engine by engine; a report covers the interval before it, which is the shortest
    step between two: an idle server leaves reports out."""
    found = []
    for engine in sorted({line.engine for line in lines}):
        mine = [line for line in lines if line.engine == engine]
        steps = [later.t_s - earlier.t_s for earlier, later in pairwise(mine) if later.t_s > earlier.t_s]
        if not steps:
            continue  # one report alone does not say how long it covers
        period_s = median(step for step in steps if step <= 1.1 * min(steps))
        stretch: list[StatLine] = []
        for index, line in enumerate(mine):
            if line.generation_tok_s > 0:
                stretch.append(line)
            later = mine[index + 1] if index + 1 < len(mine) else None
            goes_on = later is not None and later.generation_tok_s > 0 and later.t_s - line.t_s <= 1.5 * period_s
            if stretch and not goes_on:
                idle = stretch[-1].running == 0 and stretch[-1].waiting == 0
                found.append(Busy(stretch[0].t_s - period_s, stretch[-1].t_s,
                                  period_s * sum(item.generation_tok_s for item in stretch), idle))  # fmt: skip
                stretch = []
    return found


def log_tokens(
    lines: Sequence[StatLine], start_s: float, end_s: float, others: Sequence[tuple[float, float]]
) -> float | None:
    """Output tokens that the log reports for a run from `start_s` to `end_s`, over all engines.

    None unless its stretches of the log are whole and hold nothing else: `others` are the times of the session's other
    runs and readings.
    """
    mine = [busy for busy in busy_stretches(lines) if _meet(busy, start_s, end_s)]
    if not mine or not all(busy.whole for busy in mine):
        return None
    if any(_meet(busy, *other) for busy in mine for other in others):
        return None
    return sum(busy.tokens for busy in mine)


def _whole(count: float | None) -> int | None:
    return None if count is None else round(count)


def _meet(busy: Busy, start_s: float, end_s: float) -> bool:
    return busy.start_s - SLACK_S < end_s and start_s < busy.end_s + SLACK_S
