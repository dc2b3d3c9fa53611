"""Two load clients against each other: their figures of one server, pair by pair, and where a difference arises."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchbook import schema
from benchbook.measure.specification import NATIVE, VLLM_BENCH

_FIGURES = {
    "throughput": ("throughput_tok_s", "_tok_s"), "tpot": ("tpot_mean_ms", "_ms"), "ttft": ("ttft_mean_ms", "_ms"),
    "throughput_over_server": ("throughput_over_server", ""), "tpot_over_server": ("itl_ratio", ""),
}  # fmt: skip


def table(runs: pd.DataFrame, client: pd.DataFrame, arms: list[str]) -> pd.DataFrame:
    """Table `crosscheck` from tables `runs` and `client`; a row per arm and concurrency that both clients ran.

    The plan has the runs 2k - 1 and 2k of a concurrency one after the other, one of each client: a pair. Only pairs of
    one session with both runs ok count, and none that was measured once more.

    A server on a shared machine is not equally fast in both runs of a pair. What it counted itself, from /metrics,
    takes that out: the clients' time between tokens is given over the server's own, and throughput over that of
    `concurrency` requests which each take the server's mean E2EL. The server's own mean TTFT splits a difference in
    TTFT: what it saw itself, and what came about outside of it.
    """
    known = runs.merge(client[["run_id", "ttft_server_mean_ms", "e2el_server_mean_ms", "itl_ratio"]], on="run_id",
                       how="left")  # fmt: skip
    at_servers_pace_req_s = 1000 * known["concurrency"] / known["e2el_server_mean_ms"]
    pairs = _pairs(known.assign(throughput_over_server=known["request_rate_req_s"] / at_servers_pace_req_s))
    rows = [
        _row(arm, group)
        for arm in arms
        for _, group in pairs[pairs["arm"] == arm].groupby("concurrency", sort=True)
    ]
    return schema.check(pd.DataFrame(rows), "crosscheck") if rows else schema.empty("crosscheck")


def _pairs(runs: pd.DataFrame) -> pd.DataFrame:
    """One row a pair: arm, concurrency, and each figure of both clients with the client's name as its suffix."""
    good = runs[(runs["status"] == "ok") & ~runs["replaced"]]
    key = ["session_id", "arm", "concurrency", "pair"]
    numbered = good.assign(pair=(good["repeat"] - 1) // 2)
    figures = [column for column, _ in _FIGURES.values()]
    sides = [numbered.loc[numbered["client"] == name, [*key, *figures, "ttft_server_mean_ms"]]
             for name in (NATIVE, VLLM_BENCH)]  # fmt: skip
    return sides[0].merge(sides[1], on=key, suffixes=(f" {NATIVE}", f" {VLLM_BENCH}"))


def _row(arm: str, pairs: pd.DataFrame) -> dict[str, Any]:
    row: dict[str, Any] = {"arm": arm, "concurrency": pairs["concurrency"].iloc[0], "pairs": len(pairs)}
    for name, (column, unit) in _FIGURES.items():
        ours, theirs = pairs[f"{column} {NATIVE}"], pairs[f"{column} {VLLM_BENCH}"]
        difference = theirs / ours - 1
        values = (ours.mean(), theirs.mean(), difference.mean(), difference.min(), difference.max())
        names = (f"native{unit}", f"vllm_bench{unit}", "difference", "difference_min", "difference_max")
        known = difference.notna().all()
        row |= {f"{name}_{part}": value if known else None for part, value in zip(names, values, strict=True)}
    row["ttft_difference_ms"] = row["ttft_vllm_bench_ms"] - row["ttft_native_ms"]
    return row | _of_the_server(row, *(pairs[f"ttft_server_mean_ms {name}"] for name in (NATIVE, VLLM_BENCH)))


def _of_the_server(row: dict[str, Any], ours: pd.Series, theirs: pd.Series) -> dict[str, Any]:
    """What the server's mean TTFTs make of those of the clients; null unless it is known for every run."""
    names = ("ttft_excess_native_ms", "ttft_excess_vllm_bench_ms", "ttft_server_difference_ms")
    if ours.isna().any() or theirs.isna().any():
        return dict.fromkeys(names)
    native, other = float(ours.mean()), float(theirs.mean())
    return dict(zip(names, (row["ttft_native_ms"] - native, row["ttft_vllm_bench_ms"] - other, other - native),
                    strict=True))  # fmt: skip
