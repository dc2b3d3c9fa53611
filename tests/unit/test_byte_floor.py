"""Bytes of a model and the floor under its decode step, against published figures and a recorded server's own count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from benchbook.claims import byte_floor, model_bytes, step_floor
from benchbook.claims.model_bytes import SizesNotTold
from hypothesis import given
from hypothesis import strategies as st

MODELS = Path(__file__).parents[2] / "config" / "models"
LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
}  # fmt: skip
MIXTRAL = LLAMA_8B | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000,
                      "sliding_window": None}  # fmt: skip
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1,
    "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
    "vocab_size": 129280, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8"},
}  # fmt: skip
# The node of the 8x B300 write-up: dense 7.6 GB on every rank, 34.8 GB of experts on each of 8.
B300 = {"dense_gb": 7.6, "routed_gb": 8 * 34.8, "experts": 384, "experts_per_token": 6, "kv_bytes_per_token": 0}


def of_config(config, **args):
    return model_bytes.model_bytes({"config": config, "sizes": {}}, {n.replace("_", "-"): v for n, v in args.items()})


def shape(name):
    return yaml.safe_load((MODELS / f"{name}.yaml").read_text(encoding="utf-8"))["config"]


def test_a_recorded_server_loaded_as_many_bytes():
    """`Model loading took 55.97 GiB`: what a step reads, and the input embedding, which it does not."""
    config = shape("qwen3-30b-a3b")
    found = of_config(config)
    embedding = 2 * config["vocab_size"] * config["hidden_size"]
    assert (found.dense + found.routed + embedding) / 2**30 == pytest.approx(55.97, abs=0.02)
    assert found.dense / 1e9 == pytest.approx(1.97, abs=0.01) and found.routed / 1e9 == pytest.approx(57.98, abs=0.01)
    assert found.kv_per_token == 48 * 2 * 4 * 128 * 2


@pytest.mark.parametrize(("config", "billions", "experts", "kv"), [
    (LLAMA_8B, 8.03, (0, 0), 131072),
    (LLAMA_8B | {"model_type": "qwen3", "head_dim": 128}, 8.03, (0, 0), 131072),
    (MIXTRAL, 46.7, (8, 2), 131072),
    (DEEPSEEK_V3, 671.0, (256, 8), 61 * 576 * 2),
])
def test_parameters_of_known_models(config, billions, experts, kv):
    found = of_config({**config, "quantization_config": None})
    embedding = config["vocab_size"] * config["hidden_size"]
    assert ((found.dense + found.routed) / 2 + embedding) / 1e9 == pytest.approx(billions, rel=0.002)
    assert (found.experts, found.experts_per_token) == experts and found.kv_per_token == kv


def test_types_of_weights_and_cache():
    whole = of_config(LLAMA_8B)
    assert of_config(LLAMA_8B | {"torch_dtype": "float32"}).dense == whole.dense  # dtype auto halves float32
    assert of_config(LLAMA_8B, dtype="float32").dense == 2 * whole.dense
    assert of_config(LLAMA_8B, kv_cache_dtype="fp8_e4m3").kv_per_token == whole.kv_per_token / 2
    eight = of_config(LLAMA_8B, quantization="fp8")
    head_and_norms = 2 * (128256 + 2 * 32 + 1) * 4096
    assert eight.dense == pytest.approx((whole.dense - head_and_norms) / 2 + head_and_norms)


@pytest.mark.parametrize(("config", "args", "why"), [
    (LLAMA_8B | {"model_type": "mamba2"}, {}, "type mamba2"),
    (LLAMA_8B, {"quantization": "awq"}, "quantization awq"),
    (LLAMA_8B | {"torch_dtype": "float4"}, {}, "type float4"),
    ({name: value for name, value in LLAMA_8B.items() if name != "vocab_size"}, {}, "no vocab_size"),
    (LLAMA_8B | {"intermediate_size": None}, {}, "no number where one is needed"),
    (LLAMA_8B, {"kv_cache_dtype": "nvfp4"}, "KV cache of type nvfp4 .* give kv_bytes_per_token"),
    (LLAMA_8B, {"kv_cache_dtype": "fp8_ds_mla"}, "KV cache of type fp8_ds_mla"),
])
def test_what_is_not_plain_is_refused_with_what_to_give(config, args, why):
    with pytest.raises(SizesNotTold, match=why) as refused:
        of_config(config, **args)
    assert "under sizes:" in str(refused.value)


def test_figures_given_hold_and_config_fills_in():
    alone = model_bytes.model_bytes({"config": None, "sizes": B300}, {})
    assert (alone.dense, alone.experts) == (7.6e9, 384)
    mixed = model_bytes.model_bytes({"config": shape("qwen3-30b-a3b"), "sizes": {"dense_gb": 3.0}}, {})
    assert mixed.dense == 3e9 and mixed.experts == 128
    sizes = {"kv_bytes_per_token": 36864}
    cached = model_bytes.model_bytes({"config": LLAMA_8B, "sizes": sizes}, {"kv_cache_dtype": "nvfp4"})
    assert cached.kv_per_token == 36864, "of a type that is not known here"
    for experts, each in ((0, 0), (8, 0), (8, 9)):
        with pytest.raises(SizesNotTold, match=f"here are {experts} and {each}"):
            sizes = B300 | {"experts": experts, "experts_per_token": each}
            model_bytes.model_bytes({"config": None, "sizes": sizes}, {})
    with pytest.raises(SizesNotTold, match="path"):
        model_bytes.model_bytes({"config": None, "sizes": {"dense_gb": 3.0}}, {})


@pytest.mark.parametrize(("tokens", "covered", "gigabytes", "least_ms"), [
    (16, 0.223, 15.35, 1.92), (64, 0.635, 29.7, 3.71), (128, 0.867, 37.8, 4.72), (256, 0.982, 41.8, 5.22),
    (512, 1.000, 42.4, 5.30),
])  # fmt: skip
def test_the_published_floor(tokens, covered, gigabytes, least_ms):
    share = byte_floor.coverage(6, 384, tokens)
    read = byte_floor.step_bytes(7.6, 34.8, share)
    assert share == pytest.approx(covered, abs=5e-4) and read == pytest.approx(gigabytes, abs=0.06)
    assert byte_floor.floor_ms(read, 8.0) == pytest.approx(least_ms, abs=6e-3)


@pytest.mark.parametrize(("tokens", "published"), [(16, 0.310), (128, 0.934)])
def test_the_busiest_rank(tokens, published):
    found = byte_floor.busiest_coverage(6, 384, tokens, 8)
    assert found == pytest.approx(published, abs=0.003)
    assert found == pytest.approx(drawn_busiest(tokens), abs=0.003)


def drawn_busiest(tokens, experts=384, each=6, ranks=8, draws=400):
    """By drawing every token's distinct experts."""
    random, largest = np.random.default_rng(7), []
    for _ in range(draws):
        chosen = np.argpartition(random.random((tokens, experts)), each, axis=1)[:, :each]
        read = np.bincount(chosen.ravel(), minlength=experts) > 0
        largest.append(read.reshape(ranks, -1).mean(axis=1).max())
    return np.mean(largest)


@given(st.integers(1, 8), st.sampled_from([64, 128, 384]), st.floats(1, 2000), st.sampled_from([1, 2, 8]))
def test_the_busiest_rank_reads_no_less_than_all_on_average(each, experts, tokens, ranks):
    share, most = (byte_floor.coverage(each, experts, tokens),
                   byte_floor.busiest_coverage(each, experts, tokens, ranks))  # fmt: skip
    assert share - 1e-9 <= most <= 1 + 1e-9
    if ranks == 1:
        assert most == pytest.approx(share)


def test_the_roofline_of_the_speculative_server():
    """165 GB over 8 TB/s: 20.6 ms, 48.5 steps a second; 5,000 tok/s takes 104 sequences at a = 1 and 52 at a = 2."""
    least_ms = byte_floor.floor_ms(165, 8.0)
    assert least_ms == pytest.approx(20.6, abs=0.05)
    steps_s = step_floor.steps_per_s(least_ms)
    assert steps_s == pytest.approx(48.5, abs=0.05)
    assert step_floor.sequences_for(5000, 1.0, 48) == pytest.approx(104, abs=0.5)
    assert step_floor.sequences_for(5000, 2.0, 48) == pytest.approx(52, abs=0.5)
    assert byte_floor.roofline_tok_s(52, 2.0, least_ms) == pytest.approx(5042, abs=2)


def booking(model, bandwidth=8.0, **args):
    return {"node": {"memory_bandwidth_tb_s": bandwidth}, "model": model,
            "arms": [{"name": "a", "server_args": {n.replace("_", "-"): v for n, v in args.items()}}]}  # fmt: skip


def points(*rows):
    """Rows of (session, concurrency, sequences per rank, tokens of the node, step in ms), and their runs."""
    steps = pd.DataFrame([
        {"run_id": f"{session}/c{c}_{index}", "session_id": session, "arm": "a", "concurrency": c,
         "tokens_per_step": 1.0, "sequences_per_rank": n, "tokens_per_step_node": tokens, "step_ms": step_ms}
        for index, (session, c, n, tokens, step_ms) in enumerate(rows)
    ])  # fmt: skip
    runs = pd.DataFrame({"run_id": steps["run_id"], "completed": 100, "prompt_tokens": 100 * 1024,
                         "output_tokens": 100 * 1024, "throughput_tok_s": 7000.0})  # fmt: skip
    return steps, runs


def test_the_floor_of_eight_ranks_with_their_experts_apart():
    told = booking({"config": None, "sizes": B300 | {"kv_bytes_per_token": 2704.62}}, data_parallel_size=8,
                   enable_expert_parallel=True)  # fmt: skip
    steps, runs = points(("s1", 128, 16.0, 128.0, 17.2), ("s2", 128, 16.0, 128.0, 17.3))
    row = byte_floor.table(steps, runs, told).iloc[0]
    assert row["dense_gb"] == pytest.approx(7.6) and row["routed_gb"] == pytest.approx(34.8 * 0.8668, abs=0.01)
    assert row["floor_weights_ms"] == pytest.approx(4.72, abs=0.01)
    kv_gb = 16 * 1536 * 2704.62 / 1e9
    assert row["kv_gb"] == pytest.approx(kv_gb) and row["floor_ms"] == pytest.approx(4.7205 + kv_gb / 8, abs=0.001)
    assert row["expert_coverage_busiest"] == pytest.approx(0.932, abs=0.002)
    assert row["floor_busiest_ms"] > row["floor_ms"]
    assert row["over_floor"] == pytest.approx(17.25 / row["floor_ms"])
    assert row["over_floor_low"] < row["over_floor"] < row["over_floor_high"]
    assert row["roofline_tok_s"] == pytest.approx(128 * 1000 / row["floor_ms"])


def test_a_rank_of_two_gpus_halves_what_each_reads():
    model = {"config": shape("qwen3-30b-a3b"), "sizes": {}}
    measured = points(("s1", 8, 8.0, 8.0, 9.0))
    one, two = (byte_floor.table(*measured, booking(model, 4.3, tensor_parallel_size=size)).iloc[0] for size in (1, 2))
    for name in ("dense_gb", "routed_gb", "kv_gb", "floor_ms"):
        assert two[name] == pytest.approx(one[name] / 2)
    assert pd.isna(two["expert_coverage_busiest"])  # without expert parallelism every GPU has a slice of each


def test_a_model_without_experts_and_a_step_below_its_floor():
    steps, runs = points(("s1", 1, 1.0, 1.0, 1.0))
    row = byte_floor.table(steps, runs, booking({"config": LLAMA_8B, "sizes": {}})).iloc[0]
    assert pd.isna(row["expert_coverage"]) and row["routed_gb"] == 0
    assert row["dense_gb"] == pytest.approx(15.01, abs=0.01)
    assert row["over_floor"] < 1 and "below its floor" in row["note"] and pd.isna(row["over_floor_low"])


@pytest.mark.parametrize(("told", "why"), [
    (booking({"config": LLAMA_8B, "sizes": {}}, None), "memory_bandwidth_tb_s"),
    (booking({"config": None, "sizes": {}}), "path"),
    (booking({"config": LLAMA_8B, "sizes": {}}, quantization="gptq"), "gptq"),
])
def test_without_sizes_or_bandwidth_there_is_no_floor(told, why):
    assert why in byte_floor.untold(told)
    assert len(byte_floor.table(*points(("s1", 1, 1.0, 1.0, 1.0)), told)) == 0
    assert byte_floor.untold(booking({"config": LLAMA_8B, "sizes": {}})) is None


def test_a_sliding_window_bounds_what_attention_reads():
    config = LLAMA_8B | {"model_type": "mistral", "sliding_window": 512}
    rows = [byte_floor.table(*points(("s1", 1, 1.0, 1.0, 9.0)), booking({"config": each, "sizes": {}})).iloc[0]
            for each in (config, config | {"sliding_window": None})]  # fmt: skip
    assert rows[0]["kv_gb"] == pytest.approx(rows[1]["kv_gb"] / 3)  # 512 of 1024 + 512 tokens
