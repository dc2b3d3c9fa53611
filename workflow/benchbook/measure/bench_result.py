"""What a `vllm bench serve --save-detailed` result says of a run: is it whole, and how fast was it.

Standard library only: the session judges runs and warmup readings with it while it measures, derive reads the same
numbers from the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request as the client saw it; times in seconds, `start_s` on the client's monotonic clock.

    Everything but `start_s`, `ok` and `error` is None for a request that failed.
    """

    ok: bool
    error: str | None
    start_s: float | None
    ttft_s: float | None
    e2el_s: float | None
    itl_s: tuple[float, ...]
    prompt_tokens: int | None
    output_tokens: int | None

    @property
    def tpot_s(self) -> float | None:
        """(E2EL - TTFT) / (output tokens - 1), method.md 1; None below two tokens or when the request failed."""
        if self.e2el_s is None or self.ttft_s is None or self.output_tokens is None or self.output_tokens < 2:
            return None
        return (self.e2el_s - self.ttft_s) / (self.output_tokens - 1)


def requests(result: Mapping[str, Any]) -> list[Request]:
    """The requests of a result, in the client's order.

    A failed request stands in vLLM's lists with output length 0 and latency 0: those zeros are no measurement.
    `latencies` is missing in older versions; E2EL is then TTFT + sum of ITL, the same by method.md 1.
    """
    listed = []
    latencies = result.get("latencies") or [None] * len(result["ttfts"])
    for ttft, latency, itl, start, n_in, n_out, error in zip(
        result["ttfts"], latencies, result["itls"], result["start_times"], result["input_lens"], result["output_lens"],
        result["errors"], strict=True,
    ):  # fmt: skip
        ok = not error and n_out > 0
        listed.append(
            Request(
                ok=ok,
                error=None if ok else (error.strip().splitlines()[-1] if error.strip() else "no tokens came back"),
                start_s=start or None,
                ttft_s=ttft if ok else None,
                e2el_s=(latency if latency is not None else ttft + math.fsum(itl)) if ok else None,
                itl_s=tuple(itl) if ok else (),
                prompt_tokens=n_in if ok else None,
                output_tokens=n_out if ok else None,
            )
        )
    return listed


@dataclass(frozen=True)
class Summary:
    """Throughput and mean TPOT of a run; None where no request ended well."""

    throughput_tok_s: float | None
    tpot_mean_ms: float | None


def summarise(result: Mapping[str, Any]) -> Summary:
    good = [request for request in requests(result) if request.ok]
    tpots = [request.tpot_s for request in good if request.tpot_s is not None]
    tokens = sum(request.output_tokens or 0 for request in good)
    return Summary(
        throughput_tok_s=tokens / result["duration"] if good and result["duration"] > 0 else None,
        tpot_mean_ms=1000 * math.fsum(tpots) / len(tpots) if tpots else None,
    )


@dataclass(frozen=True)
class Judgement:
    """`status`: ok | incomplete | failed. `kind`: requests | short_output | None. `reason`: one sentence or None."""

    status: str
    kind: str | None
    reason: str | None


def judge(result: Mapping[str, Any], num_prompts: int, output_tokens: int) -> Judgement:
    """Whether every request asked for came back whole.

    The command exits 0 with every request failed (engines.md 2), so only the requests themselves tell.
    """
    listed = requests(result)
    bad = [request for request in listed if not request.ok]
    if len(bad) == len(listed) or not listed:
        first = bad[0].error if bad else "the client listed none"
        return Judgement("failed", "requests", f"all {num_prompts} requests failed: {first}")
    if bad:
        return Judgement("incomplete", "requests", f"{len(bad)} of {num_prompts} requests failed: {bad[0].error}")
    if len(listed) != num_prompts:
        return Judgement("incomplete", "requests", f"{len(listed)} of {num_prompts} requests were sent")
    short = [request for request in listed if request.output_tokens != output_tokens]
    if short:
        return Judgement(
            "incomplete", "short_output",
            f"{len(short)} of {num_prompts} requests did not return the {output_tokens} tokens asked for "
            f"(first: {short[0].output_tokens})",
        )  # fmt: skip
    return Judgement("ok", None, None)
