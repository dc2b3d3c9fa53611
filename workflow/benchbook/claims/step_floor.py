"""Arithmetic of a decode step's floor: bytes over bandwidth, and what follows for throughput (method.md 7).

Numbers only, with the standard library, so that preflight can ask it before a session without loading pandas.
"""

from __future__ import annotations


def coverage(experts_per_token: float, experts: float, tokens: float) -> float:
    """Share of a layer's routed experts that `tokens` tokens of one step read, expected, each choosing evenly and by
    itself: 1 - (1 - k/E)^B."""
    return float(1 - (1 - experts_per_token / experts) ** tokens)


def per_gpu(total: float, gpus: int) -> float:
    """What each of `gpus` GPUs holds of weights that are split over them evenly, in the unit of `total`."""
    return total / gpus


def step_bytes(dense: float, routed: float, covered: float, kv: float = 0.0) -> float:
    """Bytes that a step reads, in the unit of its parts: dense + covered x routed + KV."""
    return dense + covered * routed + kv


def floor_ms(gigabytes: float, bandwidth_tb_s: float) -> float:
    """Time to read them once: GB over TB/s is ms."""
    return gigabytes / bandwidth_tb_s


def steps_per_s(step_ms: float) -> float:
    """Steps a second at this length."""
    return 1000 / step_ms


def roofline_tok_s(sequences: float, tokens_per_step: float, step_ms: float) -> float:
    """Output tokens a second of `sequences` that each get `tokens_per_step` (a of method.md 1) every `step_ms`."""
    return sequences * tokens_per_step * steps_per_s(step_ms)


def sequences_for(throughput_tok_s: float, tokens_per_step: float, steps_s: float) -> float:
    """Sequences that have to decode at once for this throughput at `steps_s` steps a second."""
    return throughput_tok_s / (tokens_per_step * steps_s)


def over_floor(step_ms: float, least_ms: float) -> float:
    """Measured step over its floor."""
    return step_ms / least_ms


def gap_ms(step_ms: float, least_ms: float) -> float:
    """What of a measured step its floor does not explain."""
    return step_ms - least_ms
