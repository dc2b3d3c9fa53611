"""Workload `shared-prefix`: a few long beginnings, each request one of them and an ending of its own.

    {"kind": "shared-prefix", "prefix_tokens": N, "prefixes": G, "input_tokens": L, "output_tokens": L,
     "token_ids": [low, high], "prefix_seed": 0}        or "text": true

`input_tokens` is the length of the ending. Request i of a list takes beginning i modulo G. The beginnings depend on
`prefix_seed` alone, so that all runs on a server share them; the endings on the run's seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.workloads.content import content
from benchbook.measure.client.workloads.draw import draws
from benchbook.measure.client.workloads.form import seed as seed_of
from benchbook.measure.client.workloads.form import whole
from benchbook.measure.client.workloads.lengths import lengths


def prompts(workload: Mapping[str, Any], count: int, seed: int) -> list[Prompt]:
    """Prompts whose `value` is (beginning, ending); equal beginnings are one bytes object."""
    made_of = content(workload)
    prefix_tokens, groups = whole(workload, "prefix_tokens"), whole(workload, "prefixes")
    prefix_seed = seed_of(workload, "prefix_seed")
    beginnings = [
        made_of.opening + made_of.run(draws("shared-prefix beginning", prefix_seed, group), prefix_tokens)
        for group in range(min(groups, count))
    ]
    draw = draws("shared-prefix ending", seed)
    inputs = lengths(workload["input_tokens"], draws("shared-prefix input", seed), "input_tokens")
    outputs = lengths(workload["output_tokens"], draws("shared-prefix output", seed), "output_tokens")
    return [
        Prompt(
            kind=made_of.kind,
            value=(beginnings[index % groups], made_of.separator + made_of.run(draw, tokens) + made_of.closing),
            output_tokens=output_tokens,
            tokens=prefix_tokens + tokens if made_of.exact else None,
        )
        for index, tokens, output_tokens in zip(range(count), inputs, outputs, strict=False)
    ]
