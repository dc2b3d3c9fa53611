"""Weights and KV cache of one GPU, from an earlier boot's log or from the model's description."""

from __future__ import annotations

from benchbook.claims.memory import GIB, kv_bytes_per_token
from benchbook.claims.model_bytes import SizesNotTold, model_bytes
from benchbook.claims.step_floor import per_gpu
from benchbook.engines.vllm_layout import layout
from benchbook.preflight.asked import Asked, ServerAsked
from benchbook.preflight.boots import Measured
from benchbook.preflight.value import Value


def weights_gib(arm: ServerAsked, asked: Asked, measured: Measured | None) -> Value[float]:
    """GiB of weights on one GPU; computed they are a lower bound, as buffers and padding are left out."""
    if measured is not None and (found := measured.get("weights_gib")) is not None:
        return Value(found, f"weights {found:.2f} GiB as loaded by {measured.said}")
    laid = layout(arm.args)
    try:
        sizes = model_bytes(asked.model, arm.args)
        draft = _all_bytes(asked.draft_model, arm) if asked.draft_model else 0.0
    except SizesNotTold as why:
        return Value(None, f"the weights are not known: {str(why).rstrip('.')}")
    dense = sizes.dense + _input_embedding(asked.model["config"]) + draft
    total = per_gpu(dense, laid.tensor * laid.pipeline) + per_gpu(sizes.routed, laid.gpus)
    return Value(total / GIB, f"weights at least {total / GIB:.2f} GiB by the model's description")


def _all_bytes(model: object, arm: ServerAsked) -> float:
    assert isinstance(model, dict)
    sizes = model_bytes(model, {})
    return sizes.dense + sizes.routed + _input_embedding(model["config"])


def _input_embedding(config: object) -> float:
    """Bytes of the input embedding, which a step does not read and model_bytes leaves out, in two bytes a value; none
    where the output head is the same table, or no config tells."""
    if not isinstance(config, dict) or config.get("tie_word_embeddings"):
        return 0.0
    return 2.0 * int(config.get("vocab_size") or 0) * int(config.get("hidden_size") or 0)


def kv_bytes(arm: ServerAsked, asked: Asked, measured: Measured | None) -> Value[float]:
    """Bytes of KV cache that a token takes on one GPU."""
    if measured is not None:
        memory, tokens = measured.get("kv_memory_gib"), measured.get("kv_cache_tokens")
        if memory is not None and tokens:
            found = kv_bytes_per_token(memory, int(tokens))
            return Value(found, f"{found:,.0f} bytes a token by {measured.said}")
    laid = layout(arm.args)
    try:
        sizes = model_bytes(asked.model, arm.args)
    except SizesNotTold as why:
        return Value(None, f"the KV cache of a token is not known: {str(why).rstrip('.')}")
    heads = min(laid.tensor, sizes.kv_heads or laid.tensor)
    found = sizes.kv_per_token / heads / laid.pipeline
    return Value(found, f"{found:,.0f} bytes a token by the model's description")
