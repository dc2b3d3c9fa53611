"""Which runs enter a claim."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd


def counted(runs: pd.DataFrame, clients: Sequence[str]) -> pd.DataFrame:
    """Rows of table `runs` that a claim answers for: those of the first of `clients` (what two clients read of one
    server is the crosscheck's subject), without runs that a later one replaced. Runs that are not ok are among them."""
    mine = runs[~runs["replaced"].astype(bool)]
    return mine[mine["client"].isna() | (mine["client"] == clients[0])]


def usable(runs: pd.DataFrame, clients: Sequence[str]) -> pd.DataFrame:
    """Of those, the rows that enter a figure: status ok."""
    mine = counted(runs, clients)
    return mine[mine["status"] == "ok"]
