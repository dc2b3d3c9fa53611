"""Does a server see a prompt twice (docs/method.md 0)? Then it answers from its prefix cache."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.measure.specification import VLLM_BENCH
from benchbook.preflight import flags
from benchbook.preflight.asked import Asked, ServerAsked
from benchbook.preflight.finding import ERROR, NOTE, WARNING, Finding

BLOCK_GPU, BLOCK_CPU = 16, 128


def findings(arm: ServerAsked, asked: Asked) -> Iterator[Finding]:
    """Seeds differ by construction: from booking, concurrency, phase and repeat. What is left are files that are begun
    again, and prompts of vLLM's client, which are runs of consecutive token ids from a start that the seed draws."""
    if not _caches(arm):
        return
    if asked.repeats_prompts:
        yield Finding(
            "prompts-repeat", ERROR, arm.name, "workload.repeat",
            "repeat: true begins the file of prompts again on the same server, whose prefix cache is on.", "",
            "Give more prompts, or set no-enable-prefix-caching: true, or allow it where hits are meant.",
        )  # fmt: skip
        return
    if VLLM_BENCH not in asked.clients or asked.kind != "random" or asked.longest_prompt is None:
        return
    block = flags.whole(arm.args.get("block-size")) or (BLOCK_GPU if asked.has_gpus else BLOCK_CPU)
    if asked.longest_prompt <= block:
        return  # only whole blocks are kept, and the last token is always computed
    vocabulary = (asked.model["config"] or {}).get("vocab_size")
    sent = sum(level.prompts * level.repeats for level in asked.levels)
    if asked.clients[0] == VLLM_BENCH and not asked.recorded:  # readings, which the first client sends
        sent += asked.max_readings * sum(level.concurrency for level in asked.levels)
    if not isinstance(vocabulary, int):
        yield Finding("prompts-repeat", NOTE, arm.name, "client",
                      "Not checked: the model's vocabulary is not known here, and vllm-bench draws the start of a "
                      "prompt from it.", f"{sent:,} prompts are sent to one server",
                      "Look at the share of prefix-cache hits in the report.")  # fmt: skip
        return
    share = sent / vocabulary
    if share > asked.prefix_hits_max:
        yield Finding(
            "prompts-repeat", WARNING, arm.name, "client",
            f"vllm-bench sends consecutive token ids from a start that it draws out of {vocabulary:,}: by the "
            "last run a server has seen this share of the starts.",
            f"{sent:,} prompts / {vocabulary:,} ids = {100 * share:.1f} % > {100 * asked.prefix_hits_max:g} %",
            "Use client: native, whose prompts are drawn token by token, or set no-enable-prefix-caching: true.",
        )  # fmt: skip


def _caches(arm: ServerAsked) -> bool:
    off = ("no-enable-prefix-caching", "disable-radix-cache")
    return not any(flags.is_on(arm.args, name) for name in off)
