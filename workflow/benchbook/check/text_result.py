"""Results as the benchmark printed them; what no line says is None."""

from __future__ import annotations

import re
from itertools import pairwise

from benchbook.check.result import STATED, TEXT, Result
from benchbook.config.check import LARGEST
from benchbook.engines import bench_text

_HEADING = re.compile(r"^.*=+ Serving Benchmark Result =+", re.MULTILINE)
_SGLANG_OWN = re.compile(r"^Backend: +sglang(?:-native)? *$", re.MULTILINE)
_LABELS: dict[str, tuple[str, ...]] = {
    "completed": ("successful requests",),
    "failed": ("failed requests",),
    "max_concurrency": ("maximum request concurrency", "max request concurrency"),
    "request_rate_req_s": ("request rate configured (rps)", "traffic request rate"),
    "duration_s": ("benchmark duration (s)",),
    "prompt_tokens": ("total input tokens",),
    "output_tokens": ("total generated tokens",),
    "request_throughput_req_s": ("request throughput (req/s)",),
    "output_tok_s": ("output token throughput (tok/s)",),
    "peak_tok_s": ("peak output token throughput (tok/s)",),
    "e2el_mean_ms": ("mean e2el (ms)", "mean e2e latency (ms)"),
    "e2el_p50_ms": ("median e2el (ms)", "median e2e latency (ms)"),
    "in_flight_mean": ("concurrency",),
    "tokens_per_step": ("acceptance length", "accept length"),
    **{f"{metric}_mean_ms": (f"mean {metric} (ms)",) for metric in ("ttft", "tpot", "itl")},
    **{f"{metric}_p50_ms": (f"median {metric} (ms)", f"p50 {metric} (ms)") for metric in ("ttft", "tpot", "itl")},
    "ttft_p90_ms": ("p90 ttft (ms)",),
    "ttft_p99_ms": ("p99 ttft (ms)",),
}


def read(text: str, name: str) -> list[Result]:
    """Every result block of `text`, in its order; none where it has no block with a duration and a count."""
    starts = [match.start() for match in _HEADING.finditer(text)]
    found: list[Result] = []
    for start, end in pairwise([*starts, len(text)]):
        block = bench_text.printed(text[start:end])
        if not block or not {"successful requests", "benchmark duration (s)"} <= block.keys():
            continue
        stated: dict[str, float | None] = dict.fromkeys(STATED)
        for key, labels in _LABELS.items():
            told = next((block[label] for label in labels if label in block), None)
            stated[key] = told if told is not None and 0 <= told <= LARGEST else None
        if stated["failed"] is not None and stated["completed"] is not None:
            stated["num_prompts"] = stated["completed"] + stated["failed"]
        if stated["max_concurrency"] is not None and stated["max_concurrency"] < 1:
            stated["max_concurrency"] = None
        longest = max((told for key, told in block.items() if key.endswith("itl (ms)")), default=None)
        label = f"{name}#{len(found) + 1}" if len(starts) > 1 else name
        spread = _SGLANG_OWN.search(text, start, end) is not None
        found.append(Result(label, TEXT, stated, longest_itl_ms=longest, gaps_spread=spread))
    return found
