"""What the chapters on claims show: verdicts by level, and the tables that they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchbook.errors import TableError
from benchbook.present import claim_wording
from benchbook.present.address import address
from benchbook.present.levels import LEVELS, Level
from benchbook.present.tables import Col, Part, Row, Table, alike, beside, part
from benchbook.present.tables import build as table

FIGURES = {
    "figure_comparisons": ("Every comparison of arms, with its interval",
                           "One row per comparison, by metric: the effect in percent on the horizontal axis with its "
                           "family-wise interval, or the band of one boot against one. The table below has the "
                           "numbers."),
    "figure_fixed_cost": ("The decode step against the sequences on a rank, and the toll",
                          "Left: one point per run, step in milliseconds against sequences per rank, with the chosen "
                          "model's line and the byte floor. Right: the fixed cost's share of the step against "
                          "concurrency. The tables below have the numbers."),
    "figure_anomalies": ("What was found, request by request",
                         "One panel per anomaly: the requests or means in which it was found. The table below has the "
                         "findings."),
}
SHOWN = 12
_EFFECT = Col("effect_pct", span=("holm_low_pct", "holm_high_pct"), label="Effect, Holm interval")
_REGIMES = ("scale", "fit", "floor", "occupancy")


@dataclass(frozen=True)
class Claim:
    """One verdict as shown: its sentence, what decided it, what would lift it, its id."""

    sentence: Part
    because: Part
    replicate: Part
    claim_id: Part

    def leaves_out(self, part: Part) -> bool:
        """Whether `part` has something to say that the sentence does not."""
        return not part.missing and part.text not in self.sentence.text


@dataclass(frozen=True)
class Block:
    """Claims of one level and kind: `head` is printed, `rest` folded on screen."""

    title: str
    head: tuple[Claim, ...]
    rest: tuple[Claim, ...]


def claim_of(row: Row) -> Claim:
    return Claim(*(part("verdicts", row, name) for name in ("sentence", "because", "replicate", "claim_id")))


def _block(title: str, rows: pd.DataFrame) -> list[Block]:
    shown = [claim_of(row) for row in rows.to_dict("records")]
    return [Block(title, tuple(shown[:SHOWN]), tuple(shown[SHOWN:]))] if shown else []


def _blocks(verdicts: pd.DataFrame) -> list[Block]:
    """Of one level: what was declared, then what no comparison of arms is, then what was looked for afterwards."""
    of_arms = verdicts[~verdicts["kind"].isin(_REGIMES)]
    declared = ~of_arms["exploratory"].fillna(True)
    return [
        *_block("Declared before measuring", of_arms[declared]),
        *_block("Scale, fixed cost, floor, busy time", verdicts[verdicts["kind"].isin(_REGIMES)]),
        *_block("Exploratory", of_arms[~declared]),
    ]


def levels(verdicts: pd.DataFrame) -> list[tuple[Level, list[Block]]]:
    """Every level that has a claim beyond single values, best first, with its claims.

    Raises TableError for a level that is none of LEVELS: a claim under it would be shown nowhere.
    """
    unknown = sorted(set(verdicts["level"]) - {level.name for level in LEVELS})
    if unknown:
        raise TableError(f"table verdicts: no level is called {', '.join(unknown)}. Rerun the rule that makes it.")
    claims = verdicts[verdicts["kind"] != "value"]
    found = [(level, _blocks(claims[claims["level"] == level.name])) for level in LEVELS]
    return [(level, blocks) for level, blocks in found if blocks]


def _values(verdicts: pd.DataFrame) -> Table:
    order = {level.name: place for place, level in enumerate(LEVELS)}
    single = verdicts[verdicts["kind"] == "value"]
    single = single.assign(place=single["level"].map(order)).sort_values("place", kind="stable")
    return table(single, "verdicts", "Single values, by level.", [
        "claim_id", "level", "sentence"], name="values", dense=True)


def with_level(shown: Table, at: int, claim_ids: Sequence[str], verdicts: pd.DataFrame) -> Table:
    """`shown` with a column before column `at`: the level of the claim of that id, one for each row."""
    given = {row["claim_id"]: row for row in verdicts.to_dict("records")}
    return beside(shown, at, "verdicts", "level", [given.get(name) for name in claim_ids],
                  [address("verdicts", {"claim_id": name}, "level") for name in claim_ids])


def comparisons(frame: pd.DataFrame, verdicts: pd.DataFrame) -> dict[str, Table]:
    arms, scale = frame[frame["question"] == "arms"], frame[frame["question"] == "scale"]
    effects = table(arms, "comparisons", "Arms against their baselines; below an effect its family-wise interval.", [
        "arm", "baseline", "metric", "concurrency", _EFFECT, "band_pct", "mde_pct", "p_holm",
        Col("sessions", label="Sessions"), "baseline_sessions", "family", *_if_any(arms, "hypothesis"), "tags"],
        name="comparisons", dense=True)
    means = table(arms, "comparisons", "The geometric means behind every effect.", [
        "comparison_id", "value", "baseline_value", "unit", "runs", "baseline_runs", "incomplete_runs", "worst_ratio",
        "kind", "balanced"], name="comparisons-means", dense=True)
    made = table(arms, "comparisons", "How every interval was made.", [
        "comparison_id", "method", "df", "p", "family_size", "equivalent", "equivalence_margin_pct", "sigma_from",
        "sigma_df"], name="comparisons-made", dense=True)
    ratios = table(scale, "comparisons", "One arm at two concurrencies.", [
        "arm", "metric", Col("baseline_concurrency", label="From C"), Col("concurrency", label="To C"),
        Col("baseline_value", label="There"), Col("value", label="Here"), "unit", "effect_pct", "worst_ratio",
        Col("baseline_runs", label="Runs there"), Col("runs", label="Here"), "tags"], name="scale", dense=True)
    return {"effects": with_level(effects, 4, list(arms["comparison_id"]), verdicts), "effect_means": means,
            "effects_made": made,
            "scale": with_level(ratios, 4, list(scale["comparison_id"]), verdicts)}


def _fixed_cost(frames: Mapping[str, pd.DataFrame]) -> dict[str, Table]:
    fits, steps, toll = frames["fixed_cost"], frames["steps"], frames["toll"]
    chosen = fits[fits["chosen"]]
    return {
        "chosen": table(chosen, "fixed_cost", "The model that the runs carry; below a figure its 95 % interval.", [
            "arm", "response", "model", Col("t_fixed_ms", span=("t_fixed_low_ms", "t_fixed_high_ms")),
            Col("slope_ms", span=("slope_low_ms", "slope_high_ms")), "hinge",
            Col("half_point", span=("half_point_low", "half_point_high")),
            Col("asymptote_tok_s", span=("asymptote_low_tok_s", "asymptote_high_tok_s")), "points", "levels",
            *_if_any(chosen, "refused")], name="fixed-cost-chosen", dense=True),
        "fits": table(fits, "fixed_cost", "Every model that was tried.", [
            "arm", "response", "model", "chosen", "points", "levels", "df", "t_fixed_ms", "slope_ms", "hinge",
            "residual_pct", "p_better_than_line", "p_lack_of_fit", *_if_any(fits, "refused"), *_if_any(fits, "note")],
            name="fixed-cost-all", dense=True),
        "toll": table(toll, "toll", "What each concurrency pays; below a share its 95 % interval.", [
            "arm", "concurrency", "sequences_per_rank", "step_ms", "tpot_step_ms", "prefill_interference_ms",
            "response", "fitted_ms", Col("toll_share", span=("toll_share_low", "toll_share_high")),
            Col("predicted_ms", span=("predicted_low_ms", "predicted_high_ms")), "prediction", "floor_ms",
            "over_floor", *_if_any(toll, "refused")], dense=True),
        "steps": table(steps, "steps", "The points of the fit: every usable run.", [
            "run_id", "arm", "concurrency", "ranks", "sequences_per_rank", "step_ms", "step_pure_share",
            "tpot_step_ms", "tokens_per_step_node", *_if_any(steps, "regime"), "tags"], dense=True),
    }


def _floor(floor: pd.DataFrame) -> dict[str, Table]:
    return {
        "floor": table(floor, "floor", "The floor of a decode step beside the step as measured.", [
            "arm", "concurrency", "tokens_per_step_node", "floor_ms", "floor_weights_ms", "floor_busiest_ms", "step_ms",
            Col("over_floor", span=("over_floor_low", "over_floor_high")), "roofline_tok_s", "throughput_tok_s",
            *_if_any(floor, "note")], dense=True),
        "floor_bytes": table(floor, "floor", "The bytes of that floor, per GPU.", [
            "arm", "concurrency", "expert_coverage", "expert_coverage_busiest", "dense_gb", "routed_gb", "kv_gb",
            "bandwidth_tb_s"], name="floor-bytes", dense=True),
    }


def tables(frames: Mapping[str, pd.DataFrame]) -> dict[str, Table]:
    """The tables of the chapters on claims, by the name that the templates use."""
    spread, noise, hypotheses = frames["repeatability"], frames["noise"], frames["hypotheses"]
    occupancy, anomalies = frames["occupancy"], frames["anomalies"]
    return {
        "values": _values(frames["verdicts"]),
        "hypotheses": table(hypotheses, "hypotheses", "Each hypothesis at each concurrency that it names.", [
            "hypothesis", "concurrency", "outcome", "level", _EFFECT, "direction", "smallest_effect_pct", "sentence"],
            dense=True),
        **comparisons(frames["comparisons"], frames["verdicts"]),
        "repeatability": table(spread, "repeatability", "Mean over sessions, its interval and its spread.", [
            "arm", "concurrency", "metric",
            Col("mean", span=("range_low", "range_high"), label="Geometric mean, range"), "unit",
            Col("ci_low", label="95 % from"), Col("ci_high", label="to"), "sessions", "runs", "range_of",
            "range_coverage", "repeat_sigma_pct", "repeat_df", "session_sigma_pct", "session_df", "band_pct",
            *_if_any(spread, "note"), "tags"], dense=True),
        "noise": table(noise, "noise", "Noise of each metric in this booking.", [
            "metric", "sessions", "repeat_sigma_pct", "repeat_df", "session_sigma_pct", "session_df", "node_kind",
            "measured_until"]),
        **_fixed_cost(frames),
        **_floor(frames["floor"]),
        "elimination": alike(table(frames["elimination"], "elimination", "Candidates, and what became of them.", [
            "candidate", "arm", "outcome", "signature", "measurement", "gate", "why", "concurrency"], dense=True), 1),
        "occupancy": table(occupancy, "occupancy", "Busy and idle time of a decode step; below idle its interval.", [
            "run_id", "arm", "concurrency", "step_ms", "utilization", "busy_ms",
            Col("idle_ms", span=("idle_low_ms", "idle_high_ms")), "power_share", "quadrant", "spread_pp", "imbalance",
            *_if_any(occupancy, "refused")], dense=True),
        "anomalies": table(anomalies, "anomalies", "What was found, and what follows.", [
            "anomaly_id", "kind", "arm", "concurrency", "metric", "found", "consequence", "voids", "size",
            "size_unit"], dense=True),
        "cost": table(frames["cost"], "cost", "Cost and energy of output tokens; below a cost its 95 % interval.", [
            "arm", "concurrency", "throughput_tok_s",
            Col("usd_per_mtok", span=("usd_per_mtok_low", "usd_per_mtok_high")), "tokens_per_j", "tags"]),
        "bill": table(frames["bill"], "bill", "Where the node time went, and what it cost.", [
            "item", "arm", "sessions", "time_s", "share", "usd", "tokens", "usd_per_mtok"]),
        "next": table(frames["next_experiments"], "next_experiments", "In this order.", [
            "rank", "experiment", "why", "claims", "sessions", "time_s", "usd", "claims_per_hour", "how"]),
    }


def _expectations(hypotheses: pd.DataFrame) -> list[list[Part]]:
    """Name, statement and reason of each hypothesis, once for each statement: it names the concurrency."""
    first = hypotheses.drop_duplicates(["hypothesis", "statement"])
    return [[part("hypotheses", row, name) for name in ("hypothesis", "statement", "because")]
            for row in first.to_dict("records")]


def _refused_alike(occupancy: pd.DataFrame) -> Part | None:
    """The one reason for which every run is refused, as of a node without GPU; None where a run is not, or reasons
    differ."""
    reasons = set(occupancy["refused"].fillna(""))
    if len(reasons) != 1 or "" in reasons:
        return None
    return part("occupancy", occupancy.to_dict("records")[0], "refused")


def _if_any(frame: pd.DataFrame, column: str) -> Sequence[str]:
    return [column] if frame[column].notna().any() else []


def views(frames: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """What the templates of these chapters need beside tables, figures and origins."""
    return {
        "levels": LEVELS,
        "claims_by_level": levels(frames["verdicts"]),
        "expectations": _expectations(frames["hypotheses"]),
        "occupancy_refused": _refused_alike(frames["occupancy"]),
        "wording": claim_wording,
        "absent": claim_wording.ABSENT,
    }
