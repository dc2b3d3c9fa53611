"""Causes that lie beside the GPUs' own work: frontend, client, prefill of other requests, capture fallback."""

from __future__ import annotations

import math

import pandas as pd

from benchbook.claims.candidate import (
    NOT_RULED_OUT,
    Finding,
    Point,
    finding,
    gate,
    mean,
    percent,
    untested,
    without_repeat,
)
from benchbook.columns import tag_text
from benchbook.engines.vllm_layout import layout

INTERFERENCE_MAX = 0.05
SCRAPES_MIN = 4
UNEVEN = 2  # times its even share that one rank may hold


def frontend(point: Point) -> Finding:
    queue = point.scheduler
    if len(queue) < len(point.runs) or queue["outside_share"].isna().any() or queue["frontend"].isna().any():
        return untested("Requests outside the engine are not known of every run: have /metrics scraped while "
                        "they are in flight.")  # fmt: skip
    outside, limit = mean(queue, "outside_share"), point.booking["thresholds"]["frontend_share_max"]
    seen = bool(queue["frontend"].astype(bool).any())
    return finding(
        f"{percent('requests in flight but outside the engine', outside)}; on average "
        f"{queue['outside_mean'].mean():.1f} of {point.concurrency}",
        gate(point, (f"at least {SCRAPES_MIN} scrapes in each run", bool((queue["scrapes"] >= SCRAPES_MIN).all()))),
        not seen and outside is not None and outside.below(limit),
        f"Fewer than {100 * limit:g} % of the requests wait before the engine.",
        "Requests were stuck before the engine: add API servers, and measure again." if seen else
        "The share outside the engine is not clear of its limit; more scrapes and repeats would tell."
        + without_repeat(outside),
    )  # fmt: skip


def client(point: Point) -> Finding:
    own = point.client
    seen = own["saturated"].dropna()
    if len(own) < len(point.runs) or (own["itl_ratio"].isna().any() and seen.empty):
        return untested("The server's own latencies are not known of every run: have /metrics scraped before "
                        "and after it.")  # fmt: skip
    ratio, limit = mean(own, "itl_ratio"), point.booking["thresholds"]["client_itl_ratio_max"]
    told = [] if ratio is None else [
        f"mean ITL at the client {ratio.value:.4f} of the server's own "
        f"({'no standard error' if ratio.se is None else f'SE {ratio.se:.2g}'})"]  # fmt: skip
    cores = own["client_busiest_cores"]
    told += [f"busiest process {cores.max():.2f} of a core"] if cores.notna().any() else []
    told += [f"held to be a bottleneck in {len(seen)} of {len(own)} runs: {seen.iloc[0]}"] if len(seen) else []
    return finding(
        "; ".join(told), gate(point, ("the server counted the same requests", ratio is not None)),
        seen.empty and ratio is not None and ratio.below(limit),
        f"The client sees the server's own ITL to within {100 * (limit - 1):.0f} %, and shows no sign of being late.",
        "The client bends what it measures: give it more processes or cores, and measure again." if len(seen) else
        "Its ITL is not clear of the limit; more repeats, or a second client, would tell." + without_repeat(ratio),
    )  # fmt: skip


def prefill_interference(point: Point) -> Finding:
    runs = point.runs
    pure = runs["itl_pure_p50_ms"]
    if pure.isna().any() or runs["tokens_per_chunk"].isna().any():
        return untested("The step of pure decode is not known of every run: it takes streamed chunks that are "
                        "one step each, and 50 of them without another request's prefill.")  # fmt: skip
    share = mean(runs.assign(share=1 - pure / (runs["tokens_per_chunk"] * runs["tpot_mean_ms"])), "share")
    told = [percent("of the mean step beyond a step of pure decode", share)]
    toll = point.toll
    if toll is not None and pd.notna(toll["prefill_interference_ms"]):
        told.append(f"{toll['prefill_interference_ms']:.2f} ms of {toll['tpot_step_ms']:.2f} ms")
    return finding(
        "; ".join(told), gate(point), share is not None and share.below(INTERFERENCE_MAX),
        f"Other requests' prefill lengthens the mean step by less than {100 * INTERFERENCE_MAX:.0f} %.",
        "The mean step is not clear of other requests' prefill; shorter prompts or a smaller prefill budget would tell."
        + without_repeat(share),
    )  # fmt: skip


def capture_fallback(point: Point) -> Finding:
    laid_out = layout(point.server_args)
    if laid_out.eager and point.booking["node"]["gpus"]:
        return Finding("enforce-eager: no graph is captured, every step runs without", gate(point)[0], NOT_RULED_OUT,
                       "Every step pays for its launches; an arm without enforce-eager would tell.")  # fmt: skip
    sizes = point.sessions["graph_tokens_max"]
    if (len(sizes) == 0 or sizes.isna().any()) and not point.booking["node"]["gpus"]:
        return untested("The node has no GPU, and no graph is captured on it.")
    if len(sizes) == 0 or sizes.isna().any():
        return untested("The largest captured graph is not known of every session: keep the server's log of "
                        "its start, or run on a server that captures graphs.")  # fmt: skip
    largest = int(sizes.min())
    drafts = [name for name in point.server_args if name.startswith("speculative")]
    share = math.ceil(laid_out.sequences(point.concurrency))
    bound = min(point.concurrency, UNEVEN * share)
    seen = any("REGIME" in tag_text.listed(tags) for tags in point.runs["tags"])
    return finding(
        f"{share} sequences on a rank, {bound} at the most; largest captured graph {largest} tokens",
        gate(point, ("each sequence is one token of a step"
                      + (f" ({', '.join(drafts)} adds drafts)" if drafts else ""), not drafts)),
        not seen and bound <= largest,
        "No decode step can hold more tokens than the largest captured graph, not even on a rank with twice its share.",
        "A step may hold more tokens than the largest captured graph; raise the capture sizes, and measure again.",
    )  # fmt: skip
