"""Can the load client carry concurrency x tokens a second (docs/engines.md 4.17)?"""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.claims.model_bytes import GB, SizesNotTold, model_bytes
from benchbook.claims.step_floor import coverage, floor_ms, per_gpu, step_bytes
from benchbook.engines.vllm_layout import layout
from benchbook.measure.specification import VLLM_BENCH
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.finding import NOTE, WARNING, Finding
from benchbook.preflight.value import Value

# CPU of a chunk, as benchmarks/client.py measures it, and what one process carries.
US_PER_CHUNK = {VLLM_BENCH: 20.0}
US_PER_CHUNK_NATIVE = 5.0
CHUNKS_PER_PROCESS = 60_000  # the native client starts another process beyond it


def findings(arm: ServerAsked, asked: Asked, cores: Value[float]) -> Iterator[Finding]:
    """Against the most chunks that the server could send: every step at its byte floor, all requests decoding."""
    if arm.kind != VLLM:
        return
    most = _chunks_per_s(arm, asked)
    if most.value is None:
        yield Finding("client-rate", NOTE, arm.name, "client", f"Not checked: {most.how}.", "",
                      "Give memory_bandwidth_tb_s of the node and the model's sizes.")  # fmt: skip
        return
    for client in asked.clients:
        if client == VLLM_BENCH:
            busy = most.value * US_PER_CHUNK[client] / 1e6
            limit, what = asked.client_cores_max, "of one core, its only one"
            remedy = "Use client: native, which takes a quarter of that and as many processes as it needs."
        else:
            busy = most.value * US_PER_CHUNK_NATIVE / 1e6
            if cores.value is None:
                continue
            limit, what = max(cores.value - 2, 1.0), "of the node's cores less two for the server"
            remedy = "Hire more cores, or lower the concurrency."
        if busy > limit:
            each = US_PER_CHUNK.get(client, US_PER_CHUNK_NATIVE)
            yield Finding(
                "client-rate", WARNING, arm.name, "client",
                f"Client {client} takes {each:g} us of CPU a chunk; {most.how}. A busy client reads late, and "
                "TTFT and throughput are its own.",
                f"{most.value:,.0f} chunks/s x {each:g} us = {busy:.2f} cores > {limit:g} {what}",
                remedy,
            )  # fmt: skip


def _chunks_per_s(arm: ServerAsked, asked: Asked) -> Value[float]:
    bandwidth = asked.node["memory_bandwidth_tb_s"]
    laid = layout(arm.args)
    if bandwidth is None:
        return Value(None, "what the server can send at most is not known, as the node's memory bandwidth is not given")
    if laid.tokens_per_sequence is None:
        return Value(None, "how many tokens are drafted is not written down")
    try:
        sizes = model_bytes(asked.model, arm.args)
    except SizesNotTold as why:
        return Value(None, f"what the server can send at most is not known: {str(why).rstrip('.')}")
    rates = {}
    for level in asked.levels:
        tokens = level.concurrency * laid.tokens_per_sequence
        covered = coverage(sizes.experts_per_token, sizes.experts, tokens) if sizes.routed else 0.0
        dense = per_gpu(sizes.dense, laid.tensor) / GB
        routed = per_gpu(sizes.routed, laid.ranks * laid.tensor) / GB
        rates[level.concurrency] = 1000 * level.concurrency / floor_ms(step_bytes(dense, routed, covered), bandwidth)
    at = max(rates, key=rates.__getitem__)
    return Value(rates[at], f"at {at:,} in flight the server can send {rates[at]:,.0f} chunks a second at most, every "
                            "step at its byte floor")  # fmt: skip
