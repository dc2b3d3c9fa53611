"""Arithmetic of a GPU's memory: what an engine may take, what is left for the KV cache, what fits into it."""

from __future__ import annotations

GIB = 2**30


def gib_of_mib(mib: float) -> float:
    """GiB of what nvidia-smi prints in MiB."""
    return mib / 1024


def gb_of_gib(gib: float) -> float:
    """GB, which bandwidths are given in, of GiB, which logs print."""
    return gib * GIB / 1e9


def budget_gib(fraction: float, total_gib: float) -> float:
    """What an engine may take of a GPU: gpu-memory-utilization, or mem-fraction-static, of its memory."""
    return fraction * total_gib


def outside_budget_gib(fraction: float, total_gib: float) -> float:
    """What it leaves."""
    return total_gib - budget_gib(fraction, total_gib)


def budget_change_gib(higher: float, lower: float, total_gib: float) -> float:
    """What lies between two such fractions."""
    return budget_gib(higher, total_gib) - budget_gib(lower, total_gib)


def kv_gib(budget: float, weights_gib: float, activations_gib: float) -> float:
    """What is left of the budget for the KV cache after weights and peak activations."""
    return budget - weights_gib - activations_gib


def free_gib(total_gib: float, *taken_gib: float) -> float:
    """What is left of a GPU's memory after the parts taken."""
    return total_gib - sum(taken_gib)


def all_gib(count: int, each_gib: float) -> float:
    """Of `count` copies or tables of the same size."""
    return count * each_gib


def grown_gib(before: float, after: float) -> float:
    """By how much a figure of memory grew; below 0 when it shrank."""
    return after - before


def kv_tokens_needed(concurrency: int, ranks: int, prompt_tokens: int, output_tokens: int) -> int:
    """KV cache in tokens that one rank needs at most, its share of the requests all at their end."""
    return concurrency // ranks * (prompt_tokens + output_tokens)


def kv_bytes_per_token(kv_cache_gib: float, tokens: int) -> float:
    """Bytes of KV cache that a token takes, from the size a server's log prints both ways."""
    return kv_cache_gib * GIB / tokens


def requests_that_fit(kv_cache_tokens: int, context_tokens: int) -> float:
    """Requests of this length that the KV cache holds at once."""
    return kv_cache_tokens / context_tokens


def block_table_entries(context_tokens: int, block_tokens: int) -> int:
    """Entries of a sequence's block table."""
    return -(-context_tokens // block_tokens)
