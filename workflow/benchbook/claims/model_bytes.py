"""The bytes of a model that a decode step reads, from its config.json or from the figures given for it (method.md 7).

Counted is what a step streams whatever it computes: attention, MLPs, norms, routers, shared experts and the output
head. The input embedding is not: a step reads one row of it for each token. Layers for predicting several tokens are
not either, as whether they run is the server's choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GB = 1e9
_WEIGHT_BYTES = {"bfloat16": 2.0, "float16": 2.0, "half": 2.0, "float32": 4.0, "float": 4.0}
_KV_BYTES = _WEIGHT_BYTES | dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc"), 1.0)
_GROUPED = ("llama", "mistral", "qwen2", "qwen3", "qwen3_moe", "mixtral")
_LATENT = ("deepseek_v2", "deepseek_v3")
_INSTEAD = ("give dense_gb, routed_gb, experts, experts_per_token and kv_bytes_per_token under sizes: of the model "
            "file")  # fmt: skip


class SizesNotTold(Exception):
    """The model's bytes cannot be worked out; the message says why and what to give instead."""


@dataclass(frozen=True)
class ModelBytes:
    """`dense`: bytes that every step reads, all GPUs of a rank together. `routed`: bytes of all routed experts, 0
    without. `experts`, `experts_per_token`: of one layer. `kv_per_token`: bytes of KV cache of one token, all layers;
    `kv_heads`: over how many GPUs it can be split at most, None where any number. `context_max`: tokens that attention
    looks back at most, None for all."""

    dense: float
    routed: float
    experts: int
    experts_per_token: int
    kv_per_token: float
    kv_heads: int | None = None
    context_max: int | None = None


def model_bytes(model: Mapping[str, Any], server_args: Mapping[str, Any]) -> ModelBytes:
    """Of `model` (booking["model"]: config or None, sizes) as a server with these arguments loads it.

    What `sizes` gives holds; config is asked for the rest. Raises SizesNotTold where neither tells.
    """
    found = _sizes(model, server_args)
    if found.routed and not 0 < found.experts_per_token <= found.experts:
        raise SizesNotTold(f"Routed experts take experts and experts_per_token of 1 or more, and here are "
                           f"{found.experts} and {found.experts_per_token}; {_INSTEAD}.")  # fmt: skip
    return found


def _sizes(model: Mapping[str, Any], server_args: Mapping[str, Any]) -> ModelBytes:
    sizes: Mapping[str, Any] = model["sizes"]
    told = _given(sizes)
    if told is not None:
        return told
    config = model["config"]
    if config is None:
        raise SizesNotTold(f"The model is given by its path, which is not read here; {_INSTEAD}.")
    args = {name.replace("_", "-"): value for name, value in server_args.items()}
    if "kv_bytes_per_token" in sizes:
        args.pop("kv-cache-dtype", None)
    try:
        found = _of_config(config, args)
    except KeyError as missing:
        raise SizesNotTold(f"The model's config has no {missing.args[0]}; {_INSTEAD}.") from missing
    except TypeError as empty:
        raise SizesNotTold(f"The model's config gives no number where one is needed ({empty}); {_INSTEAD}.") from empty
    return ModelBytes(
        dense=sizes["dense_gb"] * GB if "dense_gb" in sizes else found.dense,
        routed=sizes["routed_gb"] * GB if "routed_gb" in sizes else found.routed,
        experts=int(sizes.get("experts", found.experts)),
        experts_per_token=int(sizes.get("experts_per_token", found.experts_per_token)),
        kv_per_token=float(sizes.get("kv_bytes_per_token", found.kv_per_token)),
        kv_heads=None if "kv_bytes_per_token" in sizes else found.kv_heads,
        context_max=found.context_max,
    )


def _given(sizes: Mapping[str, Any]) -> ModelBytes | None:
    """`sizes` alone, where it gives everything; without routed_gb a model has no routed experts only if it says so."""
    if not {"dense_gb", "routed_gb", "kv_bytes_per_token"} <= sizes.keys():
        return None
    if sizes["routed_gb"] and not {"experts", "experts_per_token"} <= sizes.keys():
        return None
    return ModelBytes(sizes["dense_gb"] * GB, sizes["routed_gb"] * GB, int(sizes.get("experts", 0)),
                      int(sizes.get("experts_per_token", 0)), float(sizes["kv_bytes_per_token"]))  # fmt: skip


def _of_config(config: Mapping[str, Any], args: Mapping[str, Any]) -> ModelBytes:
    kind = config["model_type"]
    if kind not in (*_GROUPED, *_LATENT):
        raise SizesNotTold(f"A model of type {kind} is not one whose layers are known here; {_INSTEAD}.")
    full = _bytes_per_value(config, args)
    small = _quantized(config, args, full)
    layers, hidden = int(config["num_hidden_layers"]), int(config["hidden_size"])
    attention, kv_values, kv_heads = (_latent if kind in _LATENT else _grouped)(config)
    experts, per_token, routed_layers, expert_width, shared_width = _experts(config)
    dense_layers = layers - routed_layers
    narrow = layers * attention + 3 * hidden * shared_width * routed_layers
    if dense_layers:
        narrow += dense_layers * 3 * hidden * int(config["intermediate_size"])
    wide = routed_layers * hidden * experts + (2 * layers + 1) * hidden + int(config["vocab_size"]) * hidden
    window = config.get("sliding_window") if config.get("use_sliding_window", kind == "mistral") else None
    return ModelBytes(
        dense=narrow * small + wide * full,
        routed=routed_layers * experts * 3 * hidden * expert_width * small,
        experts=experts,
        experts_per_token=per_token,
        kv_per_token=layers * kv_values * _kv_bytes(args, full),
        kv_heads=kv_heads,
        context_max=int(window) if window else None,
    )


def _grouped(config: Mapping[str, Any]) -> tuple[int, int, int]:
    """Weights of one layer's attention, values of KV cache per token in it, and KV heads: grouped-query attention."""
    hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
    kv_heads = int(config.get("num_key_value_heads") or heads)
    size = int(config.get("head_dim") or hidden // heads)
    return hidden * size * (2 * heads + 2 * kv_heads), 2 * kv_heads * size, kv_heads


def _latent(config: Mapping[str, Any]) -> tuple[int, int, int]:
    """The same for multi-head latent attention, whose cache every GPU of a rank holds whole."""
    hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
    latent, rope, plain = (int(config[name]) for name in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim"))
    value, query = int(config["v_head_dim"]), config.get("q_lora_rank")
    asked = heads * (plain + rope)
    queries = hidden * int(query) + int(query) * asked if query else hidden * asked
    return (queries + hidden * (latent + rope) + latent * heads * (plain + value) + heads * value * hidden,
            latent + rope, 1)  # fmt: skip


def _experts(config: Mapping[str, Any]) -> tuple[int, int, int, int, int]:
    """Routed experts of a layer, experts per token, layers that have them, width of one, width of the shared ones."""
    kind, layers = config["model_type"], range(int(config["num_hidden_layers"]))
    if kind == "mixtral":
        return (int(config["num_local_experts"]), int(config["num_experts_per_tok"]), len(layers),
                int(config["intermediate_size"]), 0)  # fmt: skip
    if kind == "qwen3_moe":
        plain, every = set(config.get("mlp_only_layers") or []), int(config.get("decoder_sparse_step") or 1)
        routed = sum(index not in plain and (index + 1) % every == 0 for index in layers)
        return (int(config["num_experts"]), int(config["num_experts_per_tok"]), routed,
                int(config["moe_intermediate_size"]), 0)  # fmt: skip
    if kind in _LATENT and config.get("n_routed_experts"):
        first, every = int(config.get("first_k_dense_replace") or 0), int(config.get("moe_layer_freq") or 1)
        routed = sum(index >= first and index % every == 0 for index in layers)
        width = int(config["moe_intermediate_size"])
        return (int(config["n_routed_experts"]), int(config["num_experts_per_tok"]), routed, width,
                int(config.get("n_shared_experts") or 0) * width)  # fmt: skip
    return 0, 0, 0, 0, 0


def _bytes_per_value(config: Mapping[str, Any], args: Mapping[str, Any]) -> float:
    """Of weights that are not quantized; vLLM's dtype auto loads float32 in half that."""
    asked = args.get("dtype") or "auto"
    named = str(config.get("torch_dtype") or config.get("dtype") or "none").removeprefix("torch.")
    if asked == "auto":
        asked = "bfloat16" if named in ("float32", "float") else named
    if asked not in _WEIGHT_BYTES:
        raise SizesNotTold(f"Weights of type {asked} have no size known here; {_INSTEAD}.")
    return _WEIGHT_BYTES[asked]


def _quantized(config: Mapping[str, Any], args: Mapping[str, Any], full: float) -> float:
    """Bytes of a weight of attention, MLPs and experts; norms, routers and the head keep their type."""
    told = config.get("quantization_config")
    method = args.get("quantization") or (told.get("quant_method") if isinstance(told, Mapping) else None)
    if method is None:
        return full
    if method == "fp8":
        return 1.0
    raise SizesNotTold(f"How many bytes quantization {method} leaves of which weight is not known here; {_INSTEAD}.")


def _kv_bytes(args: Mapping[str, Any], full: float) -> float:
    asked = str(args.get("kv-cache-dtype") or "auto")
    if asked == "auto":
        return full
    if asked not in _KV_BYTES:
        raise SizesNotTold(f"A KV cache of type {asked} has no size known here; give kv_bytes_per_token under sizes: "
                           "of the model file, bytes of all layers.")  # fmt: skip
    return _KV_BYTES[asked]
