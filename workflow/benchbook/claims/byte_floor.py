"""The least time a decode step can take: the bytes it has to read over the memory's bandwidth (method.md 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchbook import schema
from benchbook.claims.layout import of_arm
from benchbook.claims.model_bytes import GB, ModelBytes, SizesNotTold, model_bytes
from benchbook.claims.step_floor import coverage, floor_ms, over_floor, per_gpu, roofline_tok_s, step_bytes
from benchbook.engines.vllm_layout import Layout
from benchbook.statistics.intervals import t_interval

LEAVES_OUT = ("Activations, communication and the input embedding are left out, and experts are taken to be chosen "
              "evenly")  # fmt: skip


def busiest_coverage(experts_per_token: int, experts: int, tokens: float, ranks: int) -> float:
    """The same on that of `ranks` GPUs, each with experts / ranks of them, which reads the largest share: what all wait
    for when they exchange tokens in every layer.

    Expected largest of `ranks` binomial counts. That a token's experts are distinct ties the counts together a little;
    for 6 of 384 experts on 8 ranks simulation gives the same to 0.02 points.
    """
    held = experts // ranks
    share = coverage(experts_per_token, experts, tokens)
    below = stats.binom.cdf(np.arange(held), held, share) ** ranks
    return float((held - below.sum()) / held)


def untold(booking: Mapping[str, Any]) -> str | None:
    """Why there is no floor, in one sentence that says what to give; None where there can be one."""
    if booking["node"]["memory_bandwidth_tb_s"] is None:
        return "The node's memory bandwidth is not given; give memory_bandwidth_tb_s in the node file."
    try:
        for arm in booking["arms"]:
            model_bytes(booking["model"], arm["server_args"])
    except SizesNotTold as reason:
        return str(reason)
    return None


def table(steps: pd.DataFrame, runs: pd.DataFrame, booking: Mapping[str, Any]) -> pd.DataFrame:
    """Table `floor`: a row for each arm and concurrency whose sequences per step are known; none where `untold` says
    why.

    Per GPU: dense weights are split over a rank's tensor-parallel GPUs, routed experts over all GPUs of all ranks, with
    expert parallelism in whole experts and without in slices of each. GPUs of a pipeline take turns in a step, so their
    parts add up. KV cache is read for the sequences of the rank at their mean context, the prompt and half the output.
    """
    if untold(booking) is not None:
        return schema.empty("floor")
    lengths = runs.set_index("run_id")
    rows = []
    for arm in booking["arms"]:
        laid, sizes = of_arm(booking, arm["name"]), model_bytes(booking["model"], arm["server_args"])
        mine = steps[(steps["arm"] == arm["name"]) & steps["tokens_per_step_node"].notna()
                     & steps["tokens_per_step"].notna()]  # fmt: skip
        for concurrency in sorted(int(c) for c in mine["concurrency"].unique()):
            points = mine[mine["concurrency"] == concurrency]
            row = _row(points, lengths.loc[points["run_id"].tolist()], laid, sizes,
                       float(booking["node"]["memory_bandwidth_tb_s"]))  # fmt: skip
            rows.append({"arm": arm["name"], "concurrency": concurrency, **row})
    return schema.check(pd.DataFrame(rows), "floor") if rows else schema.empty("floor")


def _row(
    points: pd.DataFrame, runs: pd.DataFrame, laid: Layout, sizes: ModelBytes, bandwidth_tb_s: float
) -> dict[str, Any]:
    tokens, sequences = float(points["tokens_per_step_node"].mean()), float(points["sequences_per_rank"].mean())
    spread = laid.ranks * laid.tensor
    covered = coverage(sizes.experts_per_token, sizes.experts, tokens) if sizes.routed else None
    busiest = None
    if covered is not None and laid.expert and spread > 1 and sizes.experts % spread == 0:
        busiest = busiest_coverage(sizes.experts_per_token, sizes.experts, tokens, spread)
    dense, routed = per_gpu(sizes.dense, laid.tensor) / GB, per_gpu(sizes.routed, spread) / GB
    kv = sequences * _context(runs, sizes) * sizes.kv_per_token / min(laid.tensor, sizes.kv_heads or laid.tensor) / GB
    read = step_bytes(dense, routed, covered or 0.0, kv)
    least_ms = floor_ms(read, bandwidth_tb_s)
    measured = points[points["step_ms"].notna()]
    step_ms = float(measured["step_ms"].mean()) if len(measured) else None
    by_session = t_interval((measured.groupby("session_id")["step_ms"].mean() / least_ms).to_numpy(float))
    return {
        "tokens_per_step_node": tokens,
        "expert_coverage": covered,
        "expert_coverage_busiest": busiest,
        "dense_gb": dense,
        "routed_gb": routed * (covered or 0.0),
        "kv_gb": kv,
        "bandwidth_tb_s": bandwidth_tb_s,
        "floor_ms": least_ms,
        "floor_weights_ms": floor_ms(step_bytes(dense, routed, covered or 0.0), bandwidth_tb_s),
        "floor_busiest_ms": None if busiest is None else floor_ms(step_bytes(dense, routed, busiest, kv),
                                                                  bandwidth_tb_s),
        "step_ms": step_ms,
        "over_floor": None if step_ms is None else over_floor(step_ms, least_ms),
        "over_floor_low": by_session.low if by_session else None,
        "over_floor_high": by_session.high if by_session else None,
        "roofline_tok_s": roofline_tok_s(sequences * laid.ranks, float(points["tokens_per_step"].mean()), least_ms),
        "throughput_tok_s": float(runs["throughput_tok_s"].mean()) if runs["throughput_tok_s"].notna().any() else None,
        "note": _note(laid, step_ms, least_ms),
        "run_ids": " ".join(points["run_id"]),
    }  # fmt: skip


def _context(runs: pd.DataFrame, sizes: ModelBytes) -> float:
    """Tokens of a sequence in the middle of its output, no more than attention looks back at."""
    completed = float(runs["completed"].sum())
    tokens = (float(runs["prompt_tokens"].sum()) + float(runs["output_tokens"].sum()) / 2) / completed
    return tokens if sizes.context_max is None else min(tokens, float(sizes.context_max))


def _note(laid: Layout, step_ms: float | None, least_ms: float) -> str:
    parts = [LEAVES_OUT]
    if laid.speculative:
        parts.append("What drafts the tokens is left out")
    if step_ms is not None and step_ms < least_ms:
        parts.append("The step is below its floor, so fewer bytes are read than the model's description says, or the "
                     "bandwidth is higher than given")  # fmt: skip
    return ". ".join(parts) + "."
