"""Graphs are captured in tokens: a step with more of them is launched kernel by kernel (docs/engines.md 4.1, 4.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchbook.engines.vllm_layout import layout, sequences_in_graph
from benchbook.preflight import defaults
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.finding import ERROR, NOTE, WARNING, Finding
from benchbook.preflight.value import Value


def findings(arm: ServerAsked, asked: Asked) -> Iterator[Finding]:
    """Of a vLLM server on GPUs that asks for graphs."""
    if arm.kind != VLLM or not asked.has_gpus:
        return
    taken = defaults.sequences(arm, asked)
    if (below := _below(arm, asked, taken)) is not None:
        yield below
    if not defaults.graphs_wanted(arm):
        return
    if (conflict := _conflict(arm)) is not None:
        yield conflict
    largest = defaults.capture(arm, asked)
    if (small := _small(arm, asked, taken, largest)) is not None:
        yield small


def _small(arm: ServerAsked, asked: Asked, taken: Value[int], largest: Value[int]) -> Finding | None:
    laid = layout(arm.args)
    tokens = laid.tokens_per_sequence
    place = arm.key("max-cudagraph-capture-size")
    if tokens is None or largest.value is None:
        missing = "how many tokens are drafted is not written down" if tokens is None else largest.how
        return Finding("capture-too-small", NOTE, arm.name, place, f"Not checked: {missing}.", "",
                       "Write down max-num-seqs, max-cudagraph-capture-size and num_speculative_tokens.")  # fmt: skip
    covered = sequences_in_graph(largest.value, tokens - 1)
    leaves = [level.concurrency for level in asked.levels if _on_a_rank(level.concurrency, laid.ranks, taken) > covered]
    need = None if taken.value is None else taken.value * tokens
    short = need is not None and need > largest.value
    if not leaves and not short:
        return None
    severity = ERROR if leaves or largest.written else WARNING
    sums = []
    if need is not None:
        sign = ">" if short else "<="
        sums.append(f"{taken.value:,} x (1 + {tokens - 1}) = {need:,} {sign} {largest.value:,} tokens")
    edge = f"{largest.value:,} // {tokens} = {covered:,} sequences"
    if laid.ranks > 1:
        edge += f" a rank, x {laid.ranks} ranks = {covered * laid.ranks:,}"
    swept = (f"the sweep leaves the graphs above {covered * laid.ranks:,} in flight, at {_listed(leaves)}" if leaves
             else f"the sweep stays inside them, up to {asked.concurrency_max:,} in flight")  # fmt: skip
    sums.append(f"{edge}: {swept}")
    wanted = need if need is not None else math.ceil(asked.concurrency_max / laid.ranks) * tokens
    return Finding(
        "capture-too-small", severity, arm.name, place,
        f"{taken.how}; {_drafts(tokens - 1)}; {largest.how}. A step beyond the largest graph runs eagerly.",
        "; ".join(sums),
        f"Set max-cudagraph-capture-size: {_round_up(wanted)}, or lower max-num-seqs to {covered:,}.",
    )  # fmt: skip


def _on_a_rank(concurrency: int, ranks: int, taken: Value[int]) -> int:
    share = math.ceil(concurrency / ranks)
    return share if taken.value is None else min(share, taken.value)


def _drafts(count: int) -> str:
    return f"{count} drafted tokens a sequence" if count else "no drafted tokens"


def _listed(levels: list[int]) -> str:
    return f"concurrency {', '.join(f'{level:,}' for level in levels)}"


def _round_up(tokens: int) -> int:
    """The next size that vLLM captures: sizes between two of them are cut down."""
    step = 8 if tokens <= 256 else 16
    return math.ceil(tokens / step) * step


def _below(arm: ServerAsked, asked: Asked, taken: Value[int]) -> Finding | None:
    laid = layout(arm.args)
    over = [level.concurrency for level in asked.levels
            if taken.value is not None and math.ceil(level.concurrency / laid.ranks) > taken.value]  # fmt: skip
    if not over or taken.value is None:
        return None
    share = math.ceil(over[-1] / laid.ranks)
    return Finding(
        "sequences-below-sweep", WARNING, arm.name, arm.key("max-num-seqs"),
        f"{taken.how}; the sweep asks for {_listed(over)}. What is above waits in the engine's queue.",
        f"{over[-1]:,} / {laid.ranks} = {share:,} > {taken.value:,}",
        f"Set max-num-seqs: {share}, or leave these concurrencies out.",
    )  # fmt: skip


def _conflict(arm: ServerAsked) -> Finding | None:
    largest, sizes = defaults.capture_given(arm)
    if largest is None or not sizes or max(sizes) == largest:
        return None
    return Finding(
        "capture-sizes-conflict", ERROR, arm.name, arm.key("cudagraph-capture-sizes"),
        "max-cudagraph-capture-size and cudagraph-capture-sizes are both given and disagree: vLLM refuses to "
        "start (ValueError).",
        f"max({', '.join(map(str, sizes))}) = {max(sizes):,}, and {largest:,} is asked for",
        "Give one of the two, or make the largest size equal.",
    )  # fmt: skip
