"""FlashInfer's MoE autotuner is told how many tokens to tune for (docs/engines.md 4.4)."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.preflight import defaults
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.finding import NOTE, WARNING, Finding
from benchbook.preflight.gpu_memory import is_fp4_moe

CAPTURED = ((0, 20), (0, 26))  # first and last release known to tune for what is captured
FIXED_IN = (0, 32)  # tunes for max(tokens of a step x ranks, 8192), whatever is captured


def findings(arm: ServerAsked, asked: Asked) -> Iterator[Finding]:
    """Of FP4 experts: in 0.20 to 0.26 the range is that of the captured graphs, from 0.32 on 8192 and more."""
    if arm.kind != VLLM or not asked.has_gpus or not is_fp4_moe(arm, asked):
        return
    number = defaults.release(arm.version)
    if number is not None and number >= FIXED_IN:
        return
    largest, chunk = defaults.capture(arm, asked), defaults.batched_tokens(arm, asked)
    place = arm.key("max-cudagraph-capture-size")
    is_known = number is not None and CAPTURED[0] <= number <= CAPTURED[1]
    if not is_known or largest.value is None or chunk.value is None:
        missing = largest.how if largest.value is None else chunk.how
        if not is_known:
            said = f"what {defaults.version_said(arm)} tunes for is not known here"
            missing = said if arm.version else arm.version_from
        yield Finding("autotune-range", NOTE, arm.name, place, f"Not checked: {missing}.", "",
                      "Write down max-cudagraph-capture-size and max-num-batched-tokens.")  # fmt: skip
        return
    tuned = max(largest.value, 1)
    if tuned >= chunk.value:
        return
    yield Finding(
        "autotune-range", WARNING, arm.name, place,
        f"{largest.how}; {chunk.how}; {defaults.version_said(arm)} tunes FP4 experts for the sizes of captured "
        "graphs only. Larger prefill chunks run on tiles tuned for decoding (source 002: 4.63 ms in place of "
        "0.83).",
        f"tuned to max({largest.value:,}, 1) = {tuned:,} tokens < {chunk.value:,} tokens of a prefill chunk",
        "Use vLLM 0.32 or later, widen the range, or capture up to the tokens of a chunk.",
    )  # fmt: skip
