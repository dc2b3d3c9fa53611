"""Drafting takes tokens from the scheduler's budget: arms that draft differently do not schedule alike
(docs/engines.md 4.11)."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.preflight import flags
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.finding import ERROR, Finding


def findings(asked: Asked) -> Iterator[Finding]:
    """Of the booking: arms with unlike speculation that leave the budget to the engine."""
    arms = [arm for arm in asked.arms if arm.kind == VLLM]
    drafts = {arm.name: _drafting(arm) for arm in arms}
    if len(set(drafts.values())) < 2:
        return
    unwritten = [arm.name for arm in arms
                 if not {"max-num-batched-tokens", "max-num-scheduled-tokens"} & arm.args.keys()]  # fmt: skip
    if not unwritten:
        return
    told = "; ".join(f"{name}: {drafting}" for name, drafting in drafts.items())
    yield Finding(
        "speculation-budget", ERROR, None, "server.args.max-num-batched-tokens",
        f"{told}. Slots for drafted tokens are taken off the tokens that a step may schedule, and "
        f"{', '.join(unwritten)} leave that number to the engine: prefill is cut into other chunks, and a "
        "comparison takes it for the effect.",
        "in a log of vLLM 0.25, 32 sequences with 15 drafted tokens: 2,048 tokens a step became 1,600",
        "Write down max-num-batched-tokens in every arm, so that the logs' max_num_scheduled_tokens are equal.",
    )  # fmt: skip


def _drafting(arm: ServerAsked) -> str:
    told = flags.section(arm.args, "speculative-config")
    if not told:
        return "no drafting"
    return f"{told.get('method', 'method not said')}, {told.get('num_speculative_tokens', 'depth not said')} tokens"
