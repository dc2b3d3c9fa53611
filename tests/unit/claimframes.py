"""Synthetic rows of the tables of claims, one case of every level: their figures are made up, their form is not."""

from __future__ import annotations

from typing import Any

import pandas as pd

Rows = list[dict[str, Any]]
METRICS = (("throughput_tok_s", "tok/s"), ("tpot_mean_ms", "ms"), ("ttft_mean_ms", "ms"))
CASES = ("SOLID", "UNREPLICATED", "CONFOUNDED", "WITHIN NOISE", "EQUIVALENT", "REFUSED")
EFFECTS = {"SOLID": 8.4, "UNREPLICATED": 2.1, "CONFOUNDED": 6.3, "WITHIN NOISE": -0.9, "EQUIVALENT": 0.2,
           "REFUSED": -31.0}
CANDIDATES = (
    ("compute", "utilisation near 100 % and power near the cap", "utilisation 51.2 %, power 538 W of 1,100 W",
     "coverage 0.99, at least 0.95: passed", "ruled out", "Utilisation lies 40 standard errors below 90 %."),
    ("memory bandwidth", "the step follows the byte floor", "step 9.1 times its floor, flat while the floor doubles",
     "six concurrencies: passed", "ruled out", "The floor grew by 2.5, the step by 1.01."),
    ("CPU cores", "the step shortens with more cores", None, "two core counts: not met", "untested",
     "Run the sweep at 8, 32 and 64 cores."),
    ("power", "power at the cap", "power 693 W of 700 W", "coverage 0.99: passed", "not ruled out",
     "Power is at its cap."),
)


def rows(runs: pd.DataFrame, arms: tuple[str, ...], said: str) -> dict[str, Rows]:
    """Rows of every table of claims for `runs` of `arms`, the first being the baseline; `said` stands where a table
    holds a text from outside. Without a run that is ok there are none."""
    ok = runs[runs["status"] == "ok"]
    made: dict[str, Rows] = {name: [] for name in (
        "repeatability", "noise", "comparisons", "steps", "fixed_cost", "toll", "floor", "anomalies", "evidence",
        "occupancy", "elimination", "cost", "bill", "verdicts", "hypotheses", "next_experiments", "preflight")}
    made["preflight"] = _preflight(arms, said)
    if ok.empty:
        return made
    for (arm, c), group in ok.groupby(["arm", "concurrency"], sort=False):
        _point(made, str(arm), int(c), group)
    for arm in (name for name in arms if name in set(ok["arm"])):
        _fits(made, arm, said)
        made["elimination"] += [
            {"arm": arm, "candidate": name, "signature": seen, "measurement": found, "gate": gate, "outcome": outcome,
             "why": why, "concurrency": None if found is None else int(ok["concurrency"].max()), "run_ids": ""}
            for name, seen, found, gate, outcome, why in CANDIDATES]
    levels = sorted(int(c) for c in ok["concurrency"].unique())
    for arm in arms[1:]:
        for place, c in enumerate(levels):
            for shift, (metric, unit) in enumerate(METRICS):
                _compared(made, arm, arms[0], c, metric, unit, CASES[(place + 2 * shift) % len(CASES)],
                          declared=metric == "tpot_mean_ms", said=said)
    _scale(made, arms[0], levels)
    _booking(made, ok, arms, said)
    return made


def _preflight(arms: tuple[str, ...], said: str) -> Rows:
    """One finding of each severity, and an error that the booking lets stand."""
    kinds = (("capture-too-small", "error", said), ("waves-few", "warning", None), ("memory-phases", "note", None))
    return [
        {"finding_id": f"{rule}/{arms[0]}", "rule": rule, "severity": severity, "arm": arms[0],
         "place": "server.args.max-num-seqs", "evidence": f"{said}: max-num-seqs = 64", "remedy": "Raise it.",
         "arithmetic": "64 x (1 + 3) = 256 > 64" if severity != "note" else None, "source": "engines.md 4.1",
         "allowed": allowed}
        for rule, severity, allowed in kinds
    ]  # fmt: skip


def _point(made: dict[str, Rows], arm: str, c: int, runs: pd.DataFrame) -> None:
    sessions = runs["session_id"].nunique()
    point, ids = {"arm": arm, "concurrency": c}, " ".join(runs["run_id"])
    for metric, unit in METRICS:
        mean = float(runs[metric].mean())
        row = {**point, "metric": metric, "unit": unit, "sessions": sessions, "runs": len(runs), "mean": mean,
               "range_low": mean * 0.99, "range_high": mean * 1.01, "range_of": "sessions" if sessions > 1 else "runs",
               "range_coverage": 0.5 if len(runs) > 1 else None, "tags": "", "run_ids": ids}
        if len(runs) > sessions:
            row |= {"repeat_sigma_pct": 1.03, "repeat_df": len(runs) - sessions}
        if sessions > 1:
            row |= {"ci_low": mean * 0.9, "ci_high": mean * 1.1, "session_sigma_pct": 1.51, "session_df": sessions - 1}
        made["repeatability"].append(row)
        level = "UNREPLICATED" if sessions < 3 else "SOLID"
        made["verdicts"].append({
            "claim_id": f"value/{arm}/{metric}/c{c}", "kind": "value", "level": level,
            "because": f"{sessions} of 3 sessions", "sentence": f"{arm} at C = {c}: {mean:.4g} {unit}, ± 5.0 %.",
            "replicate": "Boot the arm once more.", "arm": arm, "metric": metric, "concurrency": c, "run_ids": ids})
    ranks, step = 1, float(runs["step_ms"].mean())
    for run in runs.to_dict("records"):
        about = {"run_id": run["run_id"], **point}
        made["steps"].append({
            **about, "session_id": run["session_id"], "ranks": ranks, "sequences_per_rank": c * 0.97,
            "step_ms": run["step_ms"] * 0.98, "step_pure_share": 0.943, "tpot_step_ms": run["step_ms"],
            "tokens_per_step_node": c * 0.97, "tags": run["tags"],
            "regime": "the step goes beyond the largest captured graph" if run["tags"] else None})
        made["occupancy"].append(
            {**about, "step_ms": step, "refused": "coverage 0.58, at least 0.95 is asked for"} if run["repeat"] == 2
            else {**about, "step_ms": step, "utilization": 0.512, "busy_ms": 0.512 * step, "idle_ms": 0.488 * step,
                  "idle_low_ms": 0.47 * step, "idle_high_ms": 0.506 * step, "power_share": 0.489,
                  "quadrant": "waiting"})
    made["toll"].append({
        **point, "response": "step", "sequences_per_rank": c * 0.97, "step_ms": step * 0.98, "tpot_step_ms": step,
        "prefill_interference_ms": step * 0.02, "fitted_ms": step * 0.979, "toll_share": 3.1 / step,
        "toll_share_low": 2.9 / step, "toll_share_high": min(1.0, 3.3 / step), "predicted_ms": step * 0.985,
        "predicted_low_ms": step * 0.96, "predicted_high_ms": step * 1.01,
        "prediction": "extrapolated" if c == 1 else "held", "floor_ms": 0.4 + 0.01 * c,
        "over_floor": step * 0.98 / (0.4 + 0.01 * c), "run_ids": ids})
    made["floor"].append({
        **point, "tokens_per_step_node": c * 0.97, "expert_coverage": 1 - (1 - 6 / 384) ** c, "dense_gb": 7.6,
        "routed_gb": 34.8 * (1 - (1 - 6 / 384) ** c), "kv_gb": 0.004 * c, "bandwidth_tb_s": 8.0,
        "floor_ms": 0.4 + 0.01 * c, "floor_weights_ms": 0.4, "step_ms": step * 0.98,
        "over_floor": step * 0.98 / (0.4 + 0.01 * c), "roofline_tok_s": c * 1e3 / (0.4 + 0.01 * c),
        "throughput_tok_s": float(runs["throughput_tok_s"].mean()),
        "note": "one sequence cannot stream weights at the full bandwidth" if c == 1 else None, "run_ids": ids})
    throughput = float(runs["throughput_tok_s"].mean())
    made["cost"].append({**point, "throughput_tok_s": throughput, "usd_per_mtok": 1e6 * 64 / 3600 / throughput,
                         "usd_per_mtok_low": 9e5 * 64 / 3600 / throughput,
                         "usd_per_mtok_high": 1.1e6 * 64 / 3600 / throughput, "tags": "", "run_ids": ids})


def _fits(made: dict[str, Rows], arm: str, said: str) -> None:
    of_arm = [step for step in made["steps"] if step["arm"] == arm]
    count, levels = len(of_arm), len({step["concurrency"] for step in of_arm})
    enough = levels >= 4
    scale = of_arm[0]["step_ms"] / (3.1 + 0.42 * of_arm[0]["concurrency"])
    for response in ("step", "tpot"):
        for model in ("flat", "line", "hinge"):
            row = {"arm": arm, "response": response, "model": model, "chosen": model == "line", "points": count,
                   "levels": levels, "df": count - 2, "t_fixed_ms": 3.11 * scale, "residual_pct": 1.2, "run_ids": ""}
            if model != "flat":
                row |= {"slope_ms": 0.431 * scale, "half_point": 7.2, "asymptote_tok_s": 2320 / scale,
                        "p_lack_of_fit": 0.41}
            if model == "line" and enough:
                row |= {"t_fixed_low_ms": 2.9 * scale, "t_fixed_high_ms": 3.3 * scale, "slope_low_ms": 0.40 * scale,
                        "slope_high_ms": 0.46 * scale, "half_point_low": 6.4, "half_point_high": 8.1}
            if model == "hinge":
                row |= {"hinge": 1.4, "p_better_than_line": 0.62, "note": said}
            if not enough:
                row["refused"] = "2 concurrencies; six are asked for. Measure more of them."
            made["fixed_cost"].append(row)
    made["verdicts"].append({
        "claim_id": f"fit/{arm}", "kind": "fit", "level": "SOLID" if enough else "REFUSED", "arm": arm, "run_ids": "",
        "sentence": f"{arm}: 3.11 ms of every decode step are fixed cost, 95 % between 2.90 and 3.30 ms." if enough
        else f"{arm}: the fixed cost may not be quoted.",
        "replicate": None if enough else "Measure six concurrencies or more."})


def _compared(made: dict[str, Rows], arm: str, baseline: str, c: int, metric: str, unit: str, level: str,
              declared: bool, said: str) -> None:
    name, effect = f"{arm}/{baseline}/{metric}/c{c}", EFFECTS[level]
    row: dict[str, Any] = {
        "comparison_id": name, "kind": "cross-session", "question": "arms", "arm": arm, "baseline": baseline,
        "metric": metric, "unit": unit, "concurrency": c, "baseline_concurrency": c,
        "family": "declared" if declared else "exploratory", "family_size": 4 if declared else 8,
        "hypothesis": "compile-helps" if declared else None, "value": 100 + effect, "baseline_value": 100.0,
        "sessions": 1 if level == "UNREPLICATED" else 3, "baseline_sessions": 1 if level == "UNREPLICATED" else 3,
        "runs": 3, "baseline_runs": 3, "incomplete_runs": 1 if level == "REFUSED" else 0, "effect_pct": effect,
        "method": "no interval: 1 against 1 session; boot each arm at least 3 times, in turns (ABBA)",
        "balanced": True, "equivalence_margin_pct": 2.0, "mde_pct": 4.52, "band_pct": 5.0, "sigma_from": "this booking",
        "sigma_df": 6.0, "worst_ratio": 1.02, "tags": "UNWARMED" if level == "CONFOUNDED" else "", "run_ids": ""}
    if level != "UNREPLICATED":
        half = {"SOLID": 2.2, "WITHIN NOISE": 2.7, "EQUIVALENT": 0.8}.get(level, 4.1)
        row |= {"effect_low_pct": effect - half / 2, "effect_high_pct": effect + half / 2,
                "holm_low_pct": effect - half, "holm_high_pct": effect + half,
                "p": 0.0004 if level == "SOLID" else 0.31, "p_holm": 0.0016 if level == "SOLID" else 0.62,
                "df": 3.4, "equivalent": level == "EQUIVALENT",
                "method": "least squares of session means of ln y on arm and time, 3 against 3 sessions"}
    made["comparisons"].append(row)
    sentence = f"{arm} against {baseline} at C = {c}: {level.lower()} in {metric}."
    replicate = None if level in ("SOLID", "EQUIVALENT") else "Boot both arms twice more in ABBA order."
    because = {"CONFOUNDED": "UNWARMED", "REFUSED": "one run is incomplete", "UNREPLICATED": "1 of 3 sessions"}
    made["verdicts"].append({
        "claim_id": name, "kind": "comparison", "level": level, "because": because.get(level),
        "sentence": sentence, "replicate": replicate, "arm": arm, "baseline": baseline, "metric": metric,
        "concurrency": c, "exploratory": not declared, "run_ids": ""})
    if declared:
        outcome = {"SOLID": "contradicted", "REFUSED": "refused", "EQUIVALENT": "too small to matter"}
        made["hypotheses"].append({
            "hypothesis": f"compile-helps-{arm}", "statement": f"{arm}: TPOT is at least 5 % lower than {baseline}’s.",
            "because": said, "comparison_id": name, "arm": arm, "baseline": baseline, "metric": metric,
            "concurrency": c, "direction": "lower", "smallest_effect_pct": 5.0, "effect_pct": effect,
            "holm_low_pct": row.get("holm_low_pct"), "holm_high_pct": row.get("holm_high_pct"), "level": level,
            "outcome": outcome.get(level, "undecided"), "sentence": sentence})


def _scale(made: dict[str, Rows], arm: str, levels: list[int]) -> None:
    low, high = levels[0], levels[-1]
    name = f"scale/{arm}/throughput_tok_s/c{low}-c{high}"
    made["comparisons"].append({
        "comparison_id": name, "kind": "matched session", "question": "scale", "arm": arm, "baseline": arm,
        "metric": "throughput_tok_s", "unit": "tok/s", "concurrency": high, "baseline_concurrency": low,
        "method": "t on the differences within 2 sessions",
        "family": "scale", "family_size": 1, "value": 1168.0, "baseline_value": 284.0, "sessions": 2,
        "baseline_sessions": 2, "runs": 6, "baseline_runs": 6, "incomplete_runs": 0, "effect_pct": 311.2,
        "balanced": True, "equivalence_margin_pct": 2.0, "sigma_from": "the method's prior", "worst_ratio": 4.02,
        "tags": "", "run_ids": ""})
    made["verdicts"].append({
        "claim_id": name, "kind": "scale", "level": "SOLID-SCALE", "arm": arm, "metric": "throughput_tok_s",
        "sentence": f"{arm} delivers 4.11 times the throughput at C = {high} that it delivers at C = {low}.",
        "run_ids": ""})


def _booking(made: dict[str, Rows], ok: pd.DataFrame, arms: tuple[str, ...], said: str) -> None:
    run = ok.iloc[0]
    name = f"bimodal/{run['run_id']}"
    made["anomalies"].append({
        "anomaly_id": name, "kind": "bimodal", "arm": run["arm"], "concurrency": run["concurrency"],
        "run_id": run["run_id"], "metric": "ttft_mean_ms", "found": f"TTFT falls into two groups, 5.3 apart. {said}",
        "consequence": "No TTFT of this run may be claimed; its TPOT may.", "voids": "ttft_mean_ms", "size": 5.3,
        "size_unit": ""})
    made["evidence"] += [{"anomaly_id": name, "series": "TTFT", "x": float(i), "y": 20.0 + 80 * (i % 5 == 0),
                          "marked": i % 5 == 0} for i in range(20)]
    made["noise"] += [
        {"booking": "demo-cpu", "node_kind": "cpu", "metric": metric, "unit": unit, "sessions": 2,
         "repeat_sigma_pct": 1.04, "repeat_df": 16, "session_df": 0, "measured_until": str(ok["session_id"].max())}
        for metric, unit in METRICS]
    whole = 3600.0
    items = [("measured runs", 1800.0), ("warmups", 600.0), ("boots", 700.0), ("failed boots", 200.0),
             ("idle and teardown", 300.0)]
    for arm in arms:
        made["bill"] += [{"item": item, "arm": arm, "sessions": 2, "time_s": time / len(arms),
                          "share": time / len(arms) / whole, "usd": time / len(arms) / 3600 * 64,
                          "tokens": 250000 if item == "measured runs" else None} for item, time in items]
    made["bill"].append({"item": "all", "sessions": 4, "time_s": whole, "share": 1.0, "usd": 64.0, "tokens": 500000,
                         "usd_per_mtok": 128.0})
    doubtful = [row["claim_id"] for row in made["verdicts"] if row.get("replicate")]
    for rank, (what, time) in enumerate((("Boot both arms twice more in ABBA order", 5400.0),
                                         ("Warm up again at the highest concurrency", None)), 1):
        made["next_experiments"].append({
            "rank": rank, "experiment": what, "why": "Single boots carry no interval.", "claims": len(doubtful),
            "claim_ids": " ".join(doubtful), "sessions": 4 // rank, "time_s": time,
            "usd": None if time is None else time / 3600 * 64,
            "claims_per_hour": None if time is None else len(doubtful) / (time / 3600),
            "how": f"schedule.sessions_per_arm: 3. {said}"})
