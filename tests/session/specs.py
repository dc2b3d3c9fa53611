"""Session specifications for the tests: the real form, with an engine of the test's choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchbook.measure import specification

FAKE_PYTHON = Path(__file__).parents[1] / "fake" / "python"


def make(
    python: Path | str = FAKE_PYTHON, *, args: dict[str, Any] | None = None, env: dict[str, str] | None = None,
    concurrency: tuple[int, ...] = (1, 2), repeats: int = 2, waves: int = 2, output_tokens: int = 8,
    input_tokens: int = 8, model: str = "/nowhere", port: int | None = None, readings: int = 3,
    warmup: dict[str, Any] | None = None, clients: tuple[str, ...] = ("native",), cpus: int | None = None,
    **limits: float,
) -> dict[str, Any]:  # fmt: skip
    """A specification of one arm; `env` goes to the engine and so to the server and the client vllm-bench.

    `warmup` replaces the rule, two-agree; with another rule the runs have spares. Of several `clients` each has
    `repeats` runs, in turn.
    """
    engine = {"name": "under-test", "kind": "vllm", "python": str(python), "command": None, "env": env or {},
              "lock_sha256": None}  # fmt: skip
    seeds = iter(range(1, 10_000))

    def run(level: int, n: int) -> dict[str, Any]:
        return {"name": f"only_c{level}_r{n}", "repeat": n, "seed": next(seeds), "offset": 0,
                "client": clients[(n - 1) % len(clients)]}  # fmt: skip

    runs = repeats * len(clients)
    value: dict[str, Any] = {
        "schema": 2, "booking": "test", "slot": "s1", "position": 1, "positions": 1, "arm": "only",
        "node": {"name": "here", "kind": "here", "gpus": 0},
        "model": {"name": "tiny", "path": model, "local": True, "config": None},
        "engine": engine, "client": list(clients), "client_engine": engine if "vllm-bench" in clients else None,
        "server": {"args": args or {}, "env": {}, "port": port, "cold_boot": True},
        "endpoint": "completions", "connections": "kept", "prompts_sha256": None,
        "workload": {"kind": "random", "input_tokens": input_tokens, "output_tokens": output_tokens,
                     "token_ids": [100, 1000]},
        "warmup": (warmup or {"rule": "two-agree", "min_readings": 2, "tolerance": 0.5}) | {"max_readings": readings},
        "limits": {"ready_s": 20.0, "run_s": 20.0, "reading_s": 20.0, "teardown_s": 3.0,
                   "read_gap_s": 60.0} | limits,
        "telemetry": {"sample_hz": 10.0, "metrics_hz": 2.0},
        "plan": [
            {
                "concurrency": level, "num_prompts": level * waves,
                "readings": [
                    {"name": f"warmup_c{level}_w{n}", "seed": next(seeds), "offset": 0, "client": clients[0]}
                    for n in range(1, readings + 1)
                ],
                "runs": [run(level, n) for n in range(1, runs + 1)],
                "rerun": [run(level, n) for n in range(runs + 1, (1 + bool(warmup)) * runs + 1)],
            }
            for level in concurrency
        ],
    }  # fmt: skip
    if cpus is not None:
        value["server"]["cpus"] = cpus
    value["spec_hash"] = specification.spec_hash(value)
    return value
