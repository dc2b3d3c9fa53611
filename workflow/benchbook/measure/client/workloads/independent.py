"""Workload `random`: prompts that have nothing in common.

    {"kind": "random", "input_tokens": L, "output_tokens": L, "token_ids": [low, high]}     exact ids, uniform
    {"kind": "random", "input_tokens": L, "output_tokens": L, "text": true}                 words, about one token each

L as in `lengths`. Two prompts agree in their first n tokens with a chance of (1 / ids)**n, so no prefix cache block is
ever shared with the default ids; prompts of very few tokens can be equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.workloads.content import content
from benchbook.measure.client.workloads.draw import draws
from benchbook.measure.client.workloads.lengths import lengths


def prompts(workload: Mapping[str, Any], count: int, seed: int) -> list[Prompt]:
    made_of = content(workload)
    draw = draws("random", seed)
    inputs = lengths(workload["input_tokens"], draws("random input", seed), "input_tokens")
    outputs = lengths(workload["output_tokens"], draws("random output", seed), "output_tokens")
    return [
        Prompt(
            kind=made_of.kind,
            value=(made_of.opening + made_of.run(draw, tokens) + made_of.closing,),
            output_tokens=output_tokens,
            tokens=tokens if made_of.exact else None,
        )
        for _, tokens, output_tokens in zip(range(count), inputs, outputs, strict=False)
    ]
