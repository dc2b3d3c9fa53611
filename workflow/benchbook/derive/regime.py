"""Is a run of the regime in which a decode step's fixed cost is fitted (method.md 6)?

A step that preempts, that leaves requests waiting, or that has more tokens than the largest captured graph costs what
another law says: a fit must not mix it with others, and none may be carried on to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from benchbook.engines.vllm_layout import Layout

TPOT_SPREAD_MAX = 1.05
_FULL = 0.9  # of the requests that could decode: below it they are kept from it, and do not all meet in one step

Row = Mapping[Any, Any]


def reasons(run: Row, queue: Row, graph_tokens_max: Any, layout: Layout) -> list[str]:
    """Why tag REGIME, each in words that go after "in this run"; empty when nothing speaks against it.

    `run`, `queue`: its rows of tables `runs` and `scheduler` (empty: not watched); `graph_tokens_max`: its session's,
    null where nothing was captured, as with an arm that is eager by design.
    """
    found = []
    preemptions = queue.get("preemptions")
    if pd.notna(preemptions) and preemptions > 0:
        found.append(f"the engine preempted {'1 request' if preemptions == 1 else f'{preemptions:.0f} requests'}")
    waiting = queue.get("waiting_p50")
    if pd.notna(waiting) and waiting >= 1:
        found.append(f"{waiting:.0f} {'request' if waiting < 1.5 else 'requests'} waited in the engine at half of the "
                     "scrapes or more")  # fmt: skip
    tokens = tokens_per_step_and_rank(run, layout)
    if pd.notna(graph_tokens_max) and tokens is not None and tokens > graph_tokens_max and not layout.eager:
        found.append(f"a full step has {tokens} tokens a rank and the largest captured graph {graph_tokens_max}")
    return found


def tokens_per_step_and_rank(run: Row, layout: Layout) -> int | None:
    """Tokens of one rank's decode step, drafts included, when its share of the requests decodes at once: the client's
    concurrency, no more than the engine takes in. Where clearly fewer decoded over the steady window, what kept them
    out keeps such steps from coming up, and their mean counts. None where the depth of speculation is not known."""
    if layout.tokens_per_sequence is None:
        return None
    share: int = math.ceil(layout.sequences(run["concurrency"]))
    share = min(share, layout.sequences_max) if layout.sequences_max is not None else share
    decoding = run["decode_sequences"]
    if pd.notna(decoding) and decoding / layout.ranks < _FULL * share:
        share = math.ceil(decoding / layout.ranks)
    return share * layout.tokens_per_sequence


def uneven(run: Row) -> str | None:
    """Why a run's requests cannot have had one and the same step, or None: p99 over mean TPOT above 1.05, or p90 where
    there are fewer than the 662 requests that a p99 needs. It keeps a run out of a fit and earns no tag."""
    mean = run["tpot_mean_ms"]
    for percent in (99, 90):
        high = run[f"tpot_p{percent}_ms"]
        if pd.notna(high) and pd.notna(mean):
            if high > TPOT_SPREAD_MAX * mean:
                return f"p{percent} of TPOT is {high / mean:.3f} times its mean, above {TPOT_SPREAD_MAX}"
            return None
    return None
