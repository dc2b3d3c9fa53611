"""Benchmark results of known content in the forms that other people's files have."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "recordings" / "h200-qwen3moe"
LOGS = ROOT / "tests" / "logs"

sys.path.insert(0, str(ROOT / "tests" / "oracle"))
import oracle  # noqa: E402

LISTS = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "latencies", "errors", "queue_times",
         "generated_texts")  # fmt: skip


def simulated(name=None, **config):
    run = oracle.simulate(oracle.replace(oracle.CONFIGS[name] if name else oracle.Config(), keep_itl=True, **config))
    return run, aggregated(oracle.to_vllm_json(run) | {"request_rate": "inf", "num_prompts": run.cfg.num_prompts,
                                                       "date": "20261130-150313"})  # fmt: skip


def aggregated(result):
    """`result` with the figures of the whole run that vLLM writes beside the lists."""
    good = [index for index, length in enumerate(result["output_lens"]) if length]
    ttfts = 1000 * np.array([result["ttfts"][index] for index in good])
    tpots = 1000 * np.array([sum(result["itls"][index]) / (result["output_lens"][index] - 1) for index in good])
    itls = 1000 * np.concatenate([result["itls"][index] for index in good])
    e2els = ttfts + 1000 * np.array([sum(result["itls"][index]) for index in good])
    figures = {}
    for metric, values in (("ttft", ttfts), ("tpot", tpots), ("itl", itls), ("e2el", e2els)):
        figures |= {f"mean_{metric}_ms": float(values.mean()), f"median_{metric}_ms": float(np.median(values)),
                    f"p99_{metric}_ms": float(np.percentile(values, 99))}  # fmt: skip
    tokens = sum(result["output_lens"])
    return result | figures | {
        "request_throughput": len(good) / result["duration"], "output_throughput": tokens / result["duration"],
        "total_output_tokens": tokens, "total_input_tokens": sum(result["input_lens"][index] for index in good),
    }  # fmt: skip


def old(result):
    """As versions wrote it that had no latencies, start times, errors, failed or limit of concurrency."""
    gone = ("latencies", "start_times", "errors", "failed", "queue_times", "mean_e2el_ms", "median_e2el_ms",
            "p99_e2el_ms")  # fmt: skip
    return {name: value for name, value in result.items() if name not in gone} | {
        "request_rate": float("inf"), "input_throughput": 1.0, "best_of": 1,
    }  # fmt: skip


def noted(result):
    """`result` with what Benchbook's own load client adds."""
    count = len(result["ttfts"])
    return result | {"benchbook": {
        "stream_errors": [None] * count, "usage_tokens": list(result["output_lens"]), "finished": [True] * count,
        "chunks": [len(gaps) + 1 for gaps in result["itls"]], "empty_chunks": [[] for _ in range(count)],
    }}  # fmt: skip


def without_lists(result):
    """As written without --save-detailed."""
    return {name: value for name, value in result.items() if name not in LISTS}


def sglang(result, details=True, backend="sglang-oai"):
    """As SGLang's bench_serving writes it, with or without --output-details."""
    e2els = [sum(gaps) + first for gaps, first in zip(result["itls"], result["ttfts"], strict=True)]
    whole = {
        "backend": backend, "dataset_name": "random", "request_rate": "inf",
        "max_concurrency": result["max_concurrency"], "sharegpt_output_len": None, "random_input_len": 8,
        "random_output_len": 64, "random_range_ratio": 1.0, "duration": result["duration"],
        "completed": result["completed"], "total_input_tokens": result["total_input_tokens"],
        "total_output_tokens": result["total_output_tokens"],
        "total_output_tokens_retokenized": result["total_output_tokens"] - 1,
        "request_throughput": result["request_throughput"], "input_throughput": 1.0,
        "output_throughput": result["output_throughput"], "mean_e2e_latency_ms": 1000 * float(np.mean(e2els)),
        "concurrency": sum(e2els) / result["duration"], "accept_length": None, "max_itl_ms": 1.0,
    }  # fmt: skip
    whole |= {name: result[name] for name in result if name.endswith(("_ttft_ms", "_tpot_ms", "_itl_ms"))}
    lists = {name: result[name] for name in ("input_lens", "output_lens", "ttfts", "itls", "errors")}
    return whole | lists | {"generated_texts": [""] * len(e2els)} if details else whole


def printed(result, failed=True, accept=None):
    """As vLLM prints it, to two decimals; `failed`: with the line that older versions lack."""
    lines = ["some line before", "============ Serving Benchmark Result ============",
             f"Successful requests:                     {result['completed']}"]  # fmt: skip
    if failed:
        lines.append(f"Failed requests:                         {result['failed']}")
    lines += [
        f"Maximum request concurrency:             {result['max_concurrency']}",
        f"Benchmark duration (s):                  {result['duration']:.2f}",
        f"Total input tokens:                      {result['total_input_tokens']}",
        f"Total generated tokens:                  {result['total_output_tokens']}",
        f"Request throughput (req/s):              {result['request_throughput']:.2f}",
        f"Output token throughput (tok/s):         {result['output_throughput']:.2f}",
    ]
    for metric in ("ttft", "tpot", "itl"):
        for word in ("Mean", "Median", "P99"):
            value = result[f"{word.lower()}_{metric}_ms"]
            lines.append(f"{word} {metric.upper()} (ms):                        {value:.2f}")
    if accept is not None:
        lines.append(f"Acceptance length:                       {accept:.2f}")
    return "\n".join([*lines, "=" * 50, ""])
