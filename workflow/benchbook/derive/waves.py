"""Waves of a closed loop at a fixed output length: how long a run of so many prompts takes (method.md 3)."""

from __future__ import annotations

import math


def waves(num_prompts: int, concurrency: int) -> float:
    """Waves of a run; a part of one where they are not whole."""
    return num_prompts / concurrency


def last_wave(num_prompts: int, concurrency: int) -> int:
    """Requests of the last wave where it is not full, else 0."""
    return num_prompts % concurrency


def whole(num_prompts: int, concurrency: int) -> bool:
    """Whether the last wave is as full as the others."""
    return last_wave(num_prompts, concurrency) == 0


def wall_s(num_prompts: int, concurrency: int, e2el_s: float) -> float:
    """Wall time when every wave takes one E2EL: an unfilled last wave takes as long as a full one."""
    return math.ceil(waves(num_prompts, concurrency)) * e2el_s


def output_tokens(num_prompts: int, tokens_each: int) -> int:
    """Output tokens of a run."""
    return num_prompts * tokens_each


def throughput_tok_s(num_prompts: int, tokens_each: int, duration_s: float) -> float:
    """Output tokens over the run's duration."""
    return output_tokens(num_prompts, tokens_each) / duration_s


def duration_s(num_prompts: int, tokens_each: int, throughput: float) -> float:
    """The same solved for the duration, from tok/s."""
    return output_tokens(num_prompts, tokens_each) / throughput


def e2el_s(ttft_s: float, tpot_s: float, tokens_each: int) -> float:
    """E2EL of a request: the first token, and a TPOT for each further one."""
    return ttft_s + (tokens_each - 1) * tpot_s


def full_wave_e2el_s(e2el_mean_s: float, duration_s: float, num_prompts: int, concurrency: int) -> float:
    """E2EL of the full waves where the last one, not full, is faster: from a run's mean E2EL and duration.

    W full waves of E and one of E' with r requests: D = W E + E' and N x mean = W C E + r E'. Raises ValueError for
    whole waves, whose E2EL is the mean.
    """
    full, rest = num_prompts // concurrency, last_wave(num_prompts, concurrency)
    if not rest:
        raise ValueError("the waves are whole: their E2EL is the run's mean")
    return (num_prompts * e2el_mean_s - rest * duration_s) / (full * (concurrency - rest))


def with_stall_s(wall: float, stall: float) -> float:
    """Wall time of a run of which one whole wave stands still for `stall` s."""
    return wall + stall


def ttft_mean(num_prompts: int, stalled: int, fast: float, slow: float) -> float:
    """Mean TTFT of a run of which `stalled` requests took `slow` and the others `fast`, in their unit."""
    return ((num_prompts - stalled) * fast + stalled * slow) / num_prompts
