"""Tables of claims with what a test does not say filled in."""

from __future__ import annotations

import math
from typing import Any

import frames
import pandas as pd
from benchbook import schema
from benchbook.claims import hypotheses, next_experiments, verdicts
from benchbook.statistics import power

METRIC = "tpot_mean_ms"


def booking(**changes: Any) -> dict[str, Any]:
    """What config.claims_facts says of a booking of two arms on one GPU; `changes` replace whole sections."""
    return {
        "id": "night",
        "node": {"name": "h200", "kind": "h200", "gpus": 1, "price_usd_per_hour": 36.0, "memory_bandwidth_tb_s": 4.3,
                 "matrix_tflops": None},
        "model": {"name": "tiny", "config": None, "sizes": {}},
        "arms": [{"name": "base", "server_args": {}}, {"name": "mtp", "server_args": {}}],
        "clients": ["native"], "recorded": False,
        "workload": {"kind": "random", "content": {}, "concurrency": [8], "repeats": 3},
        "schedule": {"order": "ABBA", "sessions_per_arm": 3, "cold_boot": False},
        "comparisons": {"baseline": "base", "metrics": [METRIC], "concurrency": [8], "alpha": 0.05,
                        "equivalence": 0.02, "smallest_effect": 0.01, "sessions_min": 3},
        "hypotheses": [],
        "thresholds": {"telemetry_coverage_min": 0.95, "steady_window_min_s": 30.0, "steady_window_min_e2el": 2.0},
        **changes,
    }  # fmt: skip


def run(arm: str, session: int, concurrency: int = 8, repeat: int = 1, **changes: Any) -> dict[str, Any]:
    name = f"{arm}-s{session}/{arm}_c{concurrency}_r{repeat}"
    return {
        "run_id": name, "session_id": name.split("/")[0], "slot": f"s{session}", "arm": arm,
        "concurrency": concurrency, "repeat": repeat, "client": "native", "spec_hash": "0" * 12, "status": "ok",
        "expected_failure": False, "tags": "", "num_prompts": 8 * concurrency, "waves": 8.0, "whole_waves": True,
        "spare": False, "replaced": False, "little": "pass", "little_delta": 0.0, METRIC: 11.5, **changes,
    }  # fmt: skip


def runs(sessions: int = 3, repeats: int = 3, arms: tuple[str, ...] = ("base", "mtp"), **changes: Any) -> pd.DataFrame:
    rows = [run(arm, session, repeat=repeat, **changes) for arm in arms for session in range(1, sessions + 1)
            for repeat in range(1, repeats + 1)]  # fmt: skip
    return frames.frame("runs", rows)


def comparison(of: pd.DataFrame, effect_pct: float = -4.0, half_pct: float | None = 0.9, **changes: Any
               ) -> dict[str, Any]:  # fmt: skip
    """Row of table `comparisons` of mtp against base over the runs `of`; `half_pct`: half-width of its interval."""
    ok = of[of["status"] == "ok"]
    sides = {arm: ok[ok["arm"] == arm] for arm in ("mtp", "base")}
    ends = (effect_pct - half_pct, effect_pct + half_pct) if half_pct is not None else (None, None)
    return {
        "comparison_id": f"mtp/base/{METRIC}/c8", "kind": "cross-session", "question": "arms", "arm": "mtp",
        "baseline": "base", "metric": METRIC, "unit": "ms", "concurrency": 8, "baseline_concurrency": 8,
        "family": "exploratory", "family_size": 1, "value": 11.5 * (1 + effect_pct / 100), "baseline_value": 11.5,
        "sessions": sides["mtp"]["session_id"].nunique(), "baseline_sessions": sides["base"]["session_id"].nunique(),
        "runs": len(sides["mtp"]), "baseline_runs": len(sides["base"]),
        "incomplete_runs": int((of["status"] != "ok").sum()), "effect_pct": effect_pct, "effect_low_pct": ends[0],
        "effect_high_pct": ends[1], "holm_low_pct": ends[0], "holm_high_pct": ends[1], "method": "t", "balanced": True,
        "equivalent": None if half_pct is None else max(map(abs, ends)) < 2, "equivalence_margin_pct": 2.0,
        "df": None if half_pct is None else 3.0,
        "mde_pct": None if half_pct is None else 100 * math.expm1(0.0307),
        "se_pct": 3.07 / power.mde(1, paired=True, df=3), "band_pct": 5.0, "sigma_from": "the method's prior",
        "worst_ratio": 1.01, "tags": ",".join(sorted({tag for tags in of["tags"] for tag in tags.split(",") if tag})),
        "run_ids": " ".join(ok["run_id"]), **changes,
    }  # fmt: skip


def verdict_table(of: pd.DataFrame, facts: dict[str, Any] | None = None, **tables: list[dict[str, Any]]
                  ) -> pd.DataFrame:  # fmt: skip
    """Table `verdicts` from runs and the rows of the other tables, those left out empty."""
    names = ("comparisons", "repeatability", "fixed_cost", "toll", "floor", "occupancy")
    made = [frames.frame(name, tables[name]) if tables.get(name) else schema.empty(name) for name in names]
    return verdicts.table(of, *made, facts or booking())


def verdict(of: pd.DataFrame, facts: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """The verdict of the one comparison of mtp against base."""
    table = verdict_table(of, facts, comparisons=[comparison(of, **changes)])
    (row,) = table.to_dict("records")
    return row


def judged(row: dict[str, Any], of: pd.DataFrame, declared: list[dict[str, Any]], facts: dict[str, Any]
           ) -> pd.DataFrame:  # fmt: skip
    said = frames.frame("comparisons", [row])
    return hypotheses.table(said, verdict_table(of, facts, comparisons=[row]), facts, declared)


def experiments(found: pd.DataFrame, rows: list[dict[str, Any]], facts: dict[str, Any], sessions: pd.DataFrame,
                timeline: pd.DataFrame, of: pd.DataFrame | None = None) -> pd.DataFrame:  # fmt: skip
    said = frames.frame("comparisons", rows) if rows else schema.empty("comparisons")
    return next_experiments.table(found, said, sessions, timeline, facts,
                                  schema.empty("runs") if of is None else of)  # fmt: skip
