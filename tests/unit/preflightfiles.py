"""A small project with nodes, models and engines to plant mistakes in, one booking file each."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

GPU_NODE = {"description": "one GPU of 139.8 GiB", "gpus": 1, "memory_bandwidth_tb_s": 4.3, "gpu_memory_gib": 139.8,
            "cores": 16, "host_memory_gib": 128, "power_limit_w": 700}  # fmt: skip
NODES: dict[str, dict[str, Any]] = {
    "box": GPU_NODE,
    "eight": {**GPU_NODE, "description": "eight B300 of 267.69 GiB", "gpus": 8, "gpu_memory_gib": 267.69, "cores": 32,
              "host_memory_gib": 400, "memory_bandwidth_tb_s": 8.0},
    "small": {**GPU_NODE, "description": "a GPU of 24 GiB", "gpu_memory_gib": 24, "memory_bandwidth_tb_s": 0.9},
    "narrow": {**GPU_NODE, "cores": 4},
    "cpu": {"description": "no GPU", "gpus": 0, "cores": 2},
}
DENSE = {"build": "tokenizer-and-config", "config": {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 9728,
    "vocab_size": 32768, "max_position_embeddings": 40960, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
}}  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "dense": DENSE,
    "mxfp4-moe": {"path": "org/moe", "expert_format": "mxfp4", "sizes": {
        "dense_gb": 7.6, "routed_gb": 157.0, "experts": 256, "experts_per_token": 6, "kv_bytes_per_token": 2705}},
    "pinned": {"path": "org/pinned", "sizes": {
        "dense_gb": 7.6, "routed_gb": 278.6, "experts": 384, "experts_per_token": 6, "kv_bytes_per_token": 2705,
        "pinned_gb": 202.7}},
    "path-only": {"path": "org/untold"},
}  # fmt: skip
ENGINES: dict[str, dict[str, Any]] = {
    "vllm-0.26.0": {"python": "/opt/vllm/bin/python"},
    "vllm-0.32.0": {"python": "/opt/vllm32/bin/python"},
    "nameless": {"python": "/opt/nameless/bin/python"},
    "wrapped": {"command": ["python", "serve_patched.py"]},
    "sglang": {"command": ["docker", "run", "lmsysorg/sglang:v0.5.12", "python", "-m", "sglang.launch_server"]},
}
SOUND: dict[str, Any] = {
    "title": "a sound booking", "node": "box", "model": "dense", "engine": "vllm-0.26.0",
    "server": {"args": {"load-format": "dummy", "max-model-len": 2048, "max-num-seqs": 64,
                        "gpu-memory-utilization": 0.9}},
    "arms": [{"name": "base"}],
    "workload": {"input_tokens": 256, "output_tokens": 256, "concurrency": [16, 64], "num_prompts": 704},
}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A booking with one mistake: `rule` must be found at `severity`, and no other error. `args`: flags put in (None
    removes one), `changes`: keys of the booking put in (of nested maps: merged). `says`: in the arithmetic."""

    rule: str
    severity: str
    args: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    says: str = ""


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` put in; None takes a key out."""
    found = copy.deepcopy(base)
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(found.get(name), dict):
            found[name] = merged(found[name], value)
        elif value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def booking(args: dict[str, Any] | None = None, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    return merged(merged(SOUND, {"server": {"args": args or {}}}), changes or {})


def project(root: Path, **bookings: dict[str, Any]) -> Path:
    """The project at `root` with these booking files; a file prompts.jsonl lies beside config/."""
    for kind, files in (("nodes", NODES), ("models", MODELS), ("engines", ENGINES), ("bookings", bookings)):
        for name, content in files.items():
            path = root / f"config/{kind}/{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(yaml.safe_dump(content), encoding="utf-8")
    (root / "config/config.yaml").write_text("booking: sound\n", encoding="utf-8")
    lines = "".join(f'{{"prompt": "question {number}", "output_tokens": 32}}\n' for number in range(8))
    (root / "prompts.jsonl").write_text(lines, encoding="utf-8")
    return root
