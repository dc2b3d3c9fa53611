"""Spread within and between sessions (method.md 4: levels boot and repeat)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Components:
    """Standard deviations in the unit of the values, with their degrees of freedom; None with df 0.

    `repeat_sigma`: of the values of one session about its level. `session_sigma`: of the sessions' levels, beyond what
    the spread of their values explains; 0 when that explains all of it.
    """

    repeat_sigma: float | None
    repeat_df: int
    session_sigma: float | None
    session_df: int


def components(groups: Sequence[ArrayLike]) -> Components:
    """Components of one arm at one concurrency; `groups`: the values of each session, at least one."""
    return pooled([groups])


def pooled(cells: Sequence[Sequence[ArrayLike]]) -> Components:
    """Components common to several arms or concurrencies: variances pooled by degrees of freedom.

    `cells`: for each of them, the values of each session, at least one. The repeats' share of a session mean, the
    pooled repeat variance x the mean of 1 / r, is taken off before the square root and once for all cells, so that
    chance cells are not cut off at 0 one by one. Where no session has two values the repeats cannot be told from the
    sessions, and `session_sigma` holds both.
    """
    within, repeat_df, between, share, session_df = 0.0, 0, 0.0, 0.0, 0
    for groups in cells:
        values = [np.asarray(group, float) for group in groups]
        within += sum(float(((group - group.mean()) ** 2).sum()) for group in values)
        repeat_df += sum(group.size - 1 for group in values)
        if len(values) > 1:
            df = len(values) - 1
            between += df * float(np.var([group.mean() for group in values], ddof=1))
            share += df * float(np.mean([1 / group.size for group in values]))
            session_df += df
    repeat = within / repeat_df if repeat_df else None
    session = max(0.0, (between - (repeat or 0.0) * share) / session_df) if session_df else None
    return Components(_root(repeat), repeat_df, _root(session), session_df)


def pool(sigmas: Sequence[float], dfs: Sequence[float]) -> tuple[float, float] | None:
    """Standard deviations that were found apart as one: variances weighted by df, and the sum of df; None without any
    df."""
    df = float(sum(dfs))
    if not df:
        return None
    return float(np.sqrt(sum(weight * sigma**2 for sigma, weight in zip(sigmas, dfs, strict=True)) / df)), df


def _root(variance: float | None) -> float | None:
    return None if variance is None else float(np.sqrt(variance))
