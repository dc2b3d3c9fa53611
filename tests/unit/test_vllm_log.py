"""Facts of vLLM logs: every log of this project against what its sidecar says, in every way in which it may arrive."""

from __future__ import annotations

import pytest
from benchbook.engines import facts, vllm, vllm_log
from benchbook.engines.log_lines import records
from enginelogs import SIDECARS, WAYS, recorded, sidecar, text_of

LOGS = [path for path in SIDECARS if sidecar(path)["kind"] not in ("bench", "metrics")]
TESTIFIED = {
    "version", "kv_tokens", "max_concurrency", "engine_init", "starts", "ready", "failed_procs", "worker_died",
    "core_died", "no_kv_memory", "load", "weights_s", "compile_s", "profile_run_s", "graph_profile", "pool", "memory",
    "graph_estimate_gib", "kv_available_gib", "utilization", "capture_bars", "capture", "oom", "free_memory_low", "moe",
}  # fmt: skip
TWO_PASSES = """\
(EngineCore pid=1) INFO 06-01 10:00:00 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with config: x
(EngineCore pid=1) INFO 06-01 10:00:05 [m.py:1] Profiling CUDA graph memory: PIECEWISE=51 (largest=512), FULL=2 (largest=8)
Capturing CUDA graphs (PIECEWISE): 100%|██████████| 3/3 [00:01<00:00,  2.00it/s]
Capturing CUDA graphs (FULL): 100%|██████████| 2/2 [00:01<00:00,  2.00it/s]
(EngineCore pid=1) INFO 06-01 10:00:07 [m.py:1] Graph capturing finished in 2 secs, took 0.10 GiB
(EngineCore pid=1) INFO 06-01 10:00:08 [w.py:1] Available KV cache memory: 70.5 GiB
(EngineCore pid=1) INFO 06-01 10:00:08 [k.py:1] GPU KV cache size: 1,234 tokens, Maximum concurrency for 10 tokens per request: 123.40x
Capturing CUDA graphs (PIECEWISE): 100%|██████████| 51/51 [00:05<00:00, 10.00it/s]Capturing CUDA graphs (FULL): 100%|███| 51/51 [00:01<00:00]
Capturing CUDA graphs (FULL): 100%|██████████| 51/51 [00:05<00:00, 10.00it/s]
(EngineCore pid=1) INFO 06-01 10:00:20 [m.py:1] Graph capturing finished in 11 secs, took -0.33 GiB
"""  # noqa: E501


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_log_says_what_its_sidecar_says_and_nothing_else(path):
    found = facts.read(text_of(path))
    expected = sidecar(path)["expect"]
    assert {key: found[key] for key in TESTIFIED} == {key: expected.get(key) for key in TESTIFIED}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_the_way_a_log_arrives_changes_nothing(path, way):
    text = text_of(path)
    whole, arrived = facts.read(text), facts.read(way(text))
    for one in (whole, arrived):
        if one["failure"] is not None:
            one["failure"].pop("last_line")
    assert arrived == whole


def test_a_gpu_boot():
    found = facts.read(recorded("h200-qwen3moe"))
    assert found["failure"] is None
    assert found["load"] == [[55.97, 1.109929]]
    assert found["kv_tokens"] == [774352] and found["kv_available_gib"] == [70.9]
    assert found["capture_bars"] == {"PIECEWISE": 51, "FULL": 51} and found["capture"] == [[22, 0.8]]
    assert found["graph_profile"] == {"PIECEWISE": [51, 512], "FULL": [51, 512]} and found["pool"] == [[0.8, 0.64]]
    assert found["memory"] == [{"free": 139.29, "total": 139.8, "util": 0.92, "want": 128.62, "weight": 55.97,
                                "activation": 0.87, "non_torch": 0.24, "graph": 0.8}]  # fmt: skip
    assert found["args"]["max_num_seqs"] == 512
    assert (found["attn"], found["moe"], found["utilization"]) == (
        ["FLASH_ATTN"], ["Unquantized:TRITON"], [0.92, 0.9154],
    )  # fmt: skip
    assert [time for time, _ in found["late_work"]] == ["11-30 14:59:49"]


def test_figures_of_a_gpu_boot_for_the_tables():
    assert vllm_log.boot_facts(recorded("h200-qwen3moe")) == vllm_log.BootFacts(
        version="0.26.0", load_s=1.109929, compile_s=32.71, init_s=147.16, kv_cache_tokens=774352, weights_gib=55.97,
        kv_memory_gib=70.9, capture_s=22, capture_gib=0.8, graphs_piecewise=51, graphs_full=51,
        graph_tokens_max=512, gpu_memory_gib=139.8, activation_gib=0.87, non_torch_gib=0.24, graph_estimate_gib=0.64,
    )  # fmt: skip


def test_the_pass_that_estimates_memory_is_not_the_capture():
    found = vllm_log.facts(records(TWO_PASSES))
    assert found["capture"] == [[11, -0.33]]
    assert found["capture_bars"] == {"PIECEWISE": 51, "FULL": 51}
    assert found["max_concurrency"] == [[10, 123.4]] and found["kv_tokens"] == [1234]


def test_an_estimate_without_a_capture_is_no_capture():
    found = vllm_log.facts(records(TWO_PASSES.split("GPU KV cache size")[0]))
    assert found["capture"] is None and found["capture_bars"] is None


def test_several_ranks_and_a_draft_model():
    text = "".join(
        f"(Worker_TP{rank} pid={rank}) INFO 06-01 10:00:0{rank} [m.py:1] {line}\n"
        for rank in (0, 1)
        for line in ("Loading weights took 2.50 seconds", "Loading weights took 0.50 seconds",
                     f"Model loading took {10 + rank}.5 GiB memory and {3 + rank}.25 seconds",
                     "torch.compile took 3.00 s in total", "torch.compile took 1.50 s in total")
    )  # fmt: skip
    found = vllm_log.facts(records(text))
    assert found["load"] == [[10.5, 3.25], [11.5, 4.25]] and found["weights_s"] == [2.5, 0.5, 2.5, 0.5]
    assert vllm_log.boot_facts(text).weights_gib == 11.5


@pytest.mark.parametrize(("line", "backends"), [
    ("Using Flash Attention backend on V1 engine.", ["Flash"]),
    ("Using XFormers backend on V1 engine.", ["XFormers"]),
    ("Using FLASH_ATTN backend.", ["FLASH_ATTN"]),
    ("Using TRITON_ATTN attention backend out of potential backends: ('TRITON_ATTN',)", ["TRITON_ATTN"]),
    ("Using backend AttentionBackendEnum.FLASH_ATTN for vit attention", None),
    ("Using Marlin backend", None),
    ("Using TritonExperts MoE backend", None),
])  # fmt: skip
def test_attention_backend(line, backends):
    assert vllm_log.facts(records(line))["attn"] == backends


def test_nothing_found_is_none():
    assert set(vllm_log.facts([]).values()) == {None}
    assert set(vars(vllm_log.boot_facts("")).values()) == {None}


def test_arguments_that_are_cut_stay_text():
    assert vllm_log.facts(records("non-default args: {'model': 'm', 'x': [1,"))["args"] == "{'model': 'm', 'x': [1,"


def test_flags():
    assert vllm.flags({"a": True, "b": False, "c": None, "d": 1, "e": ["x", "y"], "f": 0}) == [
        "--a", "--d", "1", "--e", "x", "y", "--f", "0",
    ]  # fmt: skip
