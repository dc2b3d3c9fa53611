"""Two load clients against each other: their figures of one server, pair by pair, and where a difference arises."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchbook import schema

NATIVE, VLLM_BENCH = "native", "vllm-bench"
_FIGURES = {"throughput": ("throughput_tok_s", "tok_s"), "tpot": ("tpot_mean_ms", "ms"), "ttft": ("ttft_mean_ms", "ms")}


def table(runs: pd.DataFrame, client: pd.DataFrame, arms: list[str]) -> pd.DataFrame:
    """Table `crosscheck` from tables `runs` and `client`; a row per arm and concurrency that both clients ran.

    The plan has the runs 2k - 1 and 2k of a concurrency one after the other, one of each client: a pair. Only pairs of
    one session with both runs ok count, and none that was measured once more. The server's own mean TTFT, from
    /metrics, splits a difference in TTFT: what it saw itself, and what came about outside of it.
    """
    server = client.set_index("run_id")["ttft_server_mean_ms"] if len(client) else pd.Series(dtype="Float64")
    pairs = _pairs(runs.assign(ttft_server_mean_ms=runs["run_id"].map(server)))
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
        row |= {
            f"{name}_native_{unit}": ours.mean(), f"{name}_vllm_bench_{unit}": theirs.mean(),
            f"{name}_difference": difference.mean(), f"{name}_difference_min": difference.min(),
            f"{name}_difference_max": difference.max(),
        }  # fmt: skip
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
