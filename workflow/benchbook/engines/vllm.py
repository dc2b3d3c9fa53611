"""How Benchbook starts vLLM and its benchmark command, with the standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

INSIDE = Path(__file__).parent / "inside"
QUIET = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def flags(args: Mapping[str, Any]) -> list[str]:
    """Command-line words of `args`: true is a bare flag, false and null leave it out, a list repeats its values."""
    words: list[str] = []
    for name, value in args.items():
        if value is None or value is False:
            continue
        words.append(f"--{name}")
        if value is True:
            continue
        words += [str(item) for item in value] if isinstance(value, list) else [str(value)]
    return words


def entry(engine: Mapping[str, Any]) -> list[str]:
    """Words that stand before `serve`: a command prefix as given, or the engine's interpreter and our launcher."""
    if engine["command"]:
        return list(engine["command"])
    return [engine["python"], str(INSIDE / "vllm_launch.py")]


def serve_command(
    engine: Mapping[str, Any], model_path: str, served_name: str, port: int, args: Mapping[str, Any]
) -> list[str]:
    """The whole command line of a server."""
    return [
        *entry(engine), "serve", model_path, "--host", "127.0.0.1", "--port", str(port),
        "--served-model-name", served_name, *flags(args),
    ]  # fmt: skip


def client_command(engine: Mapping[str, Any]) -> list[str]:
    """The load client that stays for a whole session."""
    return [engine["python"], str(INSIDE / "vllm_bench.py")]


def bench_argv(
    *, port: int, served_name: str, tokenizer: str, input_tokens: int, output_tokens: int, num_prompts: int,
    concurrency: int, seed: int, result: Path,
) -> Sequence[str]:  # fmt: skip
    """Arguments of one `vllm bench serve` run.

    The ready check would send prompt 0 once before the run and make it a prefix-cache hit, so it is off.
    """
    return [
        "--backend", "openai", "--host", "127.0.0.1", "--port", str(port), "--model", served_name,
        "--tokenizer", tokenizer, "--dataset-name", "random", "--random-input-len", str(input_tokens),
        "--random-output-len", str(output_tokens), "--random-range-ratio", "0", "--num-prompts", str(num_prompts),
        "--max-concurrency", str(concurrency), "--seed", str(seed), "--ignore-eos", "--ready-check-timeout-sec", "0",
        "--disable-tqdm", "--save-result", "--save-detailed", "--percentile-metrics", "ttft,tpot,itl,e2el",
        "--result-dir", str(result.parent), "--result-filename", result.name,
    ]  # fmt: skip
