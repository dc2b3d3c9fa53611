"""Tables of what may be claimed: statistics over sessions, fits, floors, verdicts."""

from __future__ import annotations

from benchbook.columns.column import Column

NO_RUN = "no usable run"
ONE_SESSION = "one session only: repeats inside one boot are no replicates of it"
NOT_TESTED = "too few sessions, or the arms not in turns: see how it was compared"
ONE_RUN = "no session has two runs here"
NO_INTERVAL = "the data carry no interval"
NO_MODEL = "the model's sizes or the node's memory bandwidth are not given"
NO_PRICE = "the node has no price"
NO_NOISE = f"{NO_RUN}, or the sides are of different bookings, whose spread is not known"
NOT_OF_FLOOR = "not of this model or response, or it could not be fitted"
NOT_FITTED = "not of this model, or it could not be fitted"
NOT_FITTED_HERE = "no model was fitted, its fit is refused, or it is of another regime"
NOT_PREDICTED = f"{NOT_FITTED_HERE}; too few others, or they reach less than half as far"
NOTHING_TO_SAY = "nothing to say"
NOT_WATCHED = "no telemetry that covers the window"
NO_POWER = f"{NOT_WATCHED}, or no power limit in it"

_POINT = {
    "arm": Column("string", "", "server configuration"),
    "concurrency": Column("Int64", "requests", "requests kept in flight by the client"),
}
_METRIC = {
    "metric": Column("string", "", "column of table runs, e.g. tpot_mean_ms"),
    "unit": Column("string", "", "unit of the metric's values; empty for a ratio"),
}
_TAGS = Column("string", "", "union of the tags of the runs behind it, comma separated; empty when none")
_RUN_IDS = Column("string", "", "the runs used, space separated; empty when none")


def _interval(name: str, unit: str, shown: str, meaning: str, null: str = NO_INTERVAL) -> dict[str, Column]:
    """Columns for both ends of a 95 % interval."""
    return {
        f"{name}_low{unit}": Column("Float64", shown, f"{meaning}: lower end of its 95 % interval", null),
        f"{name}_high{unit}": Column("Float64", shown, f"{meaning}: upper end of its 95 % interval", null),
    }


TABLES: dict[str, dict[str, Column]] = {
    "repeatability": {
        **_POINT,
        **_METRIC,
        "sessions": Column("Int64", "", "sessions that have a usable run here"),
        "runs": Column("Int64", "", "usable runs"),
        "mean": Column("Float64", "", "geometric mean over sessions of their runs' geometric means", NO_RUN),
        **_interval("ci", "", "", "mean, by t on session means of ln y", ONE_SESSION),
        "range_low": Column("Float64", "", "lowest session mean; lowest run where there is one session", NO_RUN),
        "range_high": Column("Float64", "", "highest session mean; highest run where there is one session", NO_RUN),
        "range_coverage": Column("Float64", "", "chance that this range holds the median, whatever the distribution: "
                                 "1 - 2^(1-n)", "fewer than two values"),
        "range_of": Column("string", "", "sessions | runs: what the range is taken over"),
        **_interval("bootstrap", "", "", "mean, by bootstrap of sessions and of runs within them",
                    "fewer than ten sessions"),
        "repeat_sigma_pct": Column("Float64", "%", "standard deviation of ln y among the runs of a session, pooled",
                                   ONE_RUN),
        "repeat_df": Column("Int64", "", "degrees of freedom of it", ONE_RUN),
        "session_sigma_pct": Column("Float64", "%", "standard deviation between sessions beyond what their runs' "
                                    "spread explains; 0 when they explain all of it", ONE_SESSION),
        "session_df": Column("Int64", "", "degrees of freedom of it", ONE_SESSION),
        "band_pct": Column("Float64", "%", "half-width of the 95 % band within which one more boot reads from the mean "
                           "for no reason", NO_RUN),
        "sigma_from": Column("string", "", "where the noise of the band comes from: this booking | registry | the "
                             "method's prior", NO_RUN),
        "tags": _TAGS,
        "run_ids": _RUN_IDS,
        "note": Column("string", "", "what to know about the row", NOTHING_TO_SAY),
    },
    "noise": {
        "booking": Column("string", "", "booking that it was measured in"),
        "node_kind": Column("string", "", "kind of node"),
        **_METRIC,
        "sessions": Column("Int64", "", "sessions behind it"),
        "repeat_sigma_pct": Column("Float64", "%", "standard deviation of ln y among runs of one session, pooled over "
                                   "arms and concurrencies, runs without a tag only", "no session has two such runs"),
        "repeat_df": Column("Int64", "", "degrees of freedom of it; 0 when there are none"),
        "session_sigma_pct": Column("Float64", "%", "standard deviation between sessions of one arm beyond what their "
                                    "runs explain, pooled over arms and concurrencies",
                                    "no arm has two sessions of such runs"),
        "session_df": Column("Int64", "", "degrees of freedom of it, one concurrency counted: those of one session "
                             "are not independent; 0 when there are none"),
        "measured_until": Column("string", "", "id of the booking's last session"),
    },
    "comparisons": {
        "comparison_id": Column("string", "", "arm/baseline/metric/c<concurrency>; scale/arm/metric/c<low>-c<high>"),
        "kind": Column("string", "", "cross-session (arms, each boot its own) | matched session (both sides in the "
                       "same boots) | cross-booking"),
        "question": Column("string", "", "arms | scale (one arm, lowest against best concurrency)"),
        "arm": Column("string", "", "what is compared"),
        "baseline": Column("string", "", "what it is compared with; the arm itself for scale"),
        **_METRIC,
        "concurrency": Column("Int64", "requests", "of the arm's runs"),
        "baseline_concurrency": Column("Int64", "requests", "of the baseline's runs"),
        "family": Column("string", "", "declared (a hypothesis of the booking file) | exploratory | scale"),
        "family_size": Column("Int64", "", "comparisons that Holm's procedure holds together"),
        "hypothesis": Column("string", "", "names of the hypotheses it serves, space separated",
                             "no hypothesis names it"),
        "value": Column("Float64", "", "the arm's mean, geometric as in repeatability", NO_RUN),
        "baseline_value": Column("Float64", "", "the baseline's mean, geometric as in repeatability", NO_RUN),
        "sessions": Column("Int64", "", "sessions of the arm"),
        "baseline_sessions": Column("Int64", "", "sessions of the baseline"),
        "runs": Column("Int64", "", "runs of the arm"),
        "baseline_runs": Column("Int64", "", "runs of the baseline"),
        "incomplete_runs": Column("Int64", "", "runs of both sides that failed, fell short or are missing"),
        "effect_pct": Column("Float64", "%", "arm over baseline less one", NO_RUN),
        **_interval("effect", "_pct", "%", "effect, by itself", NOT_TESTED),
        **_interval("holm", "_pct", "%", "effect, family-wise: at the level Holm's procedure gives it", NOT_TESTED),
        "p": Column("Float64", "", "two-sided p of no effect", NOT_TESTED),
        "p_holm": Column("Float64", "", "the same, adjusted within its family", NOT_TESTED),
        "df": Column("Float64", "", "degrees of freedom behind the interval", NOT_TESTED),
        "method": Column("string", "", "how the interval was made, in words, or why there is none and what to do"),
        "balanced": Column("boolean", "", "the sessions of both sides lie evenly in time"),
        "equivalent": Column("boolean", "", "both one-sided tests put the effect within the margin", NOT_TESTED),
        "equivalence_margin_pct": Column("Float64", "%", "the margin"),
        "mde_pct": Column("Float64", "%", "smallest effect that this many sessions find in 4 of 5 tries (80 % power, "
                          "two-sided 5 %, first step of Holm)", NOT_TESTED),
        "se_pct": Column("Float64", "%", "standard error of the difference of ln y that mde rests on: by the noise, or "
                         "by the sessions' own scatter", NO_NOISE),
        "band_pct": Column("Float64", "%", "half-width of the 95 % band within which this many sessions and runs "
                           "differ for no reason, from the noise", NO_NOISE),
        "sigma_from": Column("string", "", "where the noise of mde and band comes from: this booking | registry | "
                             "the method's prior"),
        "sigma_df": Column("Float64", "", "degrees of freedom of that noise", "the method's prior"),
        "worst_ratio": Column("Float64", "", "lowest run of the higher side over the highest run of the lower one; "
                              "below 1 when they overlap", NO_RUN),
        "tags": _TAGS,
        "run_ids": _RUN_IDS,
    },
    "steps": {  # one row per usable run: the points of the fixed-cost fit
        "run_id": Column("string", "", "session id / run name"),
        "session_id": Column("string", "", "UTC time of the session's launch"),
        **_POINT,
        "ranks": Column("Int64", "", "data-parallel ranks that share the requests"),
        "sequences_per_rank": Column("Float64", "requests", "decoding at once on one rank in the steps of step_ms, "
                                     "mean; over the steady window where they are all ITLs", "no steady window"),
        "tpot_sequences_per_rank": Column("Float64", "requests", "the same over the whole steady window, to go with "
                                          "tpot_step_ms", "no steady window"),
        "tokens_per_step": Column("Float64", "", "a: tokens that a decode step yields a sequence",
                                  "the server speculates and was not scraped"),
        "step_ms": Column("Float64", "ms", "decode step: median ITL of pure-decode steps x a/g",
                          "no ITL that is one step"),
        "step_from": Column("string", "", "pure (ITLs in which no request was in its prefill) | all (too few of those "
                            "are known)", "no ITL that is one step"),
        "step_pure_share": Column("Float64", "", "share of ITLs in which no request was in its prefill",
                                  "not known, or no ITL that is one step"),
        "tpot_step_ms": Column("Float64", "ms", "mean TPOT x a: prefill of other requests is inside it", NO_RUN),
        "tokens_per_step_node": Column("Float64", "tokens", "tokens that one decode step works on, all ranks, drafts "
                                       "included", "no steady window, or the depth of speculation is not known"),
        "regime": Column("string", "", "why this run is of another regime than the fit's, in words",
                         "it is of the same regime"),
        "tags": _TAGS,
    },
    "fixed_cost": {
        "arm": Column("string", "", "server configuration"),
        "response": Column("string", "", "step (median ITL of pure-decode steps) | over floor (that less its "
                           "byte floor) | tpot (mean TPOT, prefill inside)"),
        "model": Column("string", "", "flat | line | hinge"),
        "chosen": Column("boolean", "", "the model that the data carry"),
        "points": Column("Int64", "", "runs fitted"),
        "levels": Column("Int64", "", "different concurrencies among them"),
        "df": Column("Int64", "", "points less parameters", "there are fewer points than parameters"),
        "sessions": Column("Int64", "", "sessions that can be fitted alone: the boots that count", NOT_FITTED),
        "t_fixed_ms": Column("Float64", "ms", "step with no sequence: the fixed cost", NOT_FITTED),
        **_interval("t_fixed", "_ms", "ms", "fixed cost"),
        "slope_ms": Column("Float64", "ms", "step per further sequence on a rank", NOT_FITTED),
        **_interval("slope", "_ms", "ms", "slope"),
        "hinge": Column("Float64", "requests", "sequences per rank up to which the step does not grow", NOT_FITTED),
        "half_point": Column("Float64", "requests", "n½: sequences per rank at which half of the step is fixed cost",
                             NOT_OF_FLOOR),
        **_interval("half_point", "", "requests", "half-point", NO_INTERVAL),
        "asymptote_tok_s": Column("Float64", "tok/s", "decode throughput of all ranks that more sequences approach and "
                                  "never reach", NOT_OF_FLOOR),
        **_interval("asymptote", "_tok_s", "tok/s", "asymptote"),
        "residual_pct": Column("Float64", "%", "standard deviation of the relative residuals", NOT_FITTED),
        "p_better_than_line": Column("Float64", "", "F test of the hinge against the line", NOT_FITTED),
        "p_lack_of_fit": Column("Float64", "", "F test of the residuals against the spread of repeats",
                                "no concurrency has two runs, or too few concurrencies"),
        "refused": Column("string", "", "why no number of this fit may be quoted", "it may be"),
        "note": Column("string", "", "what to know about it", NOTHING_TO_SAY),
        "run_ids": _RUN_IDS,
    },
    "toll": {
        **_POINT,
        "sequences_per_rank": Column("Float64", "requests", "decoding at once on one rank, mean of the runs"),
        "step_ms": Column("Float64", "ms", "decode step, mean of the runs"),
        "tpot_step_ms": Column("Float64", "ms", "mean TPOT x a, mean of the runs", NO_RUN),
        "prefill_interference_ms": Column("Float64", "ms", "tpot_step_ms less step_ms: other requests' prefill",
                                          NO_RUN),
        "response": Column("string", "", "fit that the share is taken from: step, or over floor where that of the step "
                           "is refused"),
        "fitted_ms": Column("Float64", "ms", "step by the chosen model", NOT_FITTED_HERE),
        "toll_share": Column("Float64", "", "fixed cost over the step", NOT_FITTED_HERE),
        **_interval("toll_share", "", "", "share of the fixed cost", NOT_FITTED_HERE),
        "predicted_ms": Column("Float64", "ms", "step here as the other concurrencies alone predict it", NOT_PREDICTED),
        **_interval("predicted", "_ms", "ms", "that prediction", NOT_PREDICTED),
        "prediction": Column("string", "", "held | failed | extrapolated (beyond twice what the others reach, so none "
                             "is made) | not tried"),
        "floor_ms": Column("Float64", "ms", "byte floor of the step, see table floor", NO_MODEL),
        "over_floor": Column("Float64", "", "step over floor", NO_MODEL),
        "refused": Column("string", "", "why the shares may not be quoted", "they may be"),
        "run_ids": _RUN_IDS,
    },
    "floor": {
        **_POINT,
        "tokens_per_step_node": Column("Float64", "tokens", "tokens that one decode step works on, all ranks"),
        "expert_coverage": Column("Float64", "", "share of routed experts that a step reads, expected with uniform "
                                  "routing", "the model has no routed experts"),
        "expert_coverage_busiest": Column("Float64", "", "the same on the GPU that reads most",
                                          "the model has no routed experts, or they are not spread whole over GPUs"),
        "dense_gb": Column("Float64", "GB", "weights that every step reads, per GPU"),
        "routed_gb": Column("Float64", "GB", "expert weights that this step reads, per GPU, expected"),
        "kv_gb": Column("Float64", "GB", "KV cache that this step reads, per GPU, at the mean context"),
        "bandwidth_tb_s": Column("Float64", "TB/s", "memory bandwidth of one GPU, as given for the node"),
        "floor_ms": Column("Float64", "ms", "dense + routed + KV bytes over bandwidth"),
        "floor_weights_ms": Column("Float64", "ms", "the same without KV cache"),
        "floor_busiest_ms": Column("Float64", "ms", "floor of the GPU that reads most experts, for which all wait",
                                   "the model has no routed experts, or they are not spread whole over GPUs"),
        "step_ms": Column("Float64", "ms", "decode step as measured, mean of the runs", "no ITL that is one step"),
        "over_floor": Column("Float64", "", "measured step over floor", "no ITL that is one step"),
        **_interval("over_floor", "", "", "measured over floor", ONE_SESSION),
        "roofline_tok_s": Column("Float64", "tok/s", "throughput if every step took the floor's time: sequences x a / "
                                 "floor"),
        "throughput_tok_s": Column("Float64", "tok/s", "as measured, mean of the runs", NO_RUN),
        "note": Column("string", "", "what the floor leaves out", NOTHING_TO_SAY),
        "run_ids": _RUN_IDS,
    },
    "anomalies": {
        "anomaly_id": Column("string", "", "kind/run id, or kind/arm/c<concurrency>; an outlier repeat's ends in its "
                             "metric"),
        "kind": Column("string", "", "bimodal | stall | monotonicity | outlier repeat | throttling"),
        **_POINT,
        "run_id": Column("string", "", "run it was found in", "it concerns several runs of the concurrency"),
        "metric": Column("string", "", "what it bears on"),
        "found": Column("string", "", "one sentence with the figures"),
        "consequence": Column("string", "", "one sentence: what may not be claimed, what to do"),
        "voids": Column("string", "", "metrics that it makes unfit, comma separated; empty when none"),
        "size": Column("Float64", "", "how strong: mode ratio, longest stall in s, ratio of means, deviation in %, "
                       "share throttled", "not a number"),
        "size_unit": Column("string", "", "unit of size; empty for a ratio"),
    },
    "evidence": {  # what the figure of anomalies draws
        "anomaly_id": Column("string", "", "row of table anomalies"),
        "series": Column("string", "", "which of the figure's series the point belongs to"),
        "x": Column("Float64", "", "abscissa: s since the run's start, or concurrency, or repeat"),
        "y": Column("Float64", "", "ordinate in the unit of the metric"),
        "marked": Column("boolean", "", "the point is part of the anomaly"),
    },
    "occupancy": {
        "run_id": Column("string", "", "session id / run name"),
        **_POINT,
        "step_ms": Column("Float64", "ms", "decode step, mean over all steps: mean TPOT x tokens per step",
                          "tokens per step are not known"),
        "utilization": Column("Float64", "", "share of the window in which any kernel ran, mean over GPUs",
                              NOT_WATCHED),
        "busy_ms": Column("Float64", "ms", "utilization x step", f"{NOT_WATCHED}, or refused"),
        "idle_ms": Column("Float64", "ms", "(1 - utilization) x step", f"{NOT_WATCHED}, or refused"),
        **_interval("idle", "_ms", "ms", "idle per step, from 10 s blocks",
                    "refused, or the window holds fewer than three blocks"),
        "power_share": Column("Float64", "", "mean power over the limit", NO_POWER),
        "quadrant": Column("string", "", "compute or power | memory, communication or tiny kernels | waiting | "
                           "contradictory | indeterminate", NO_POWER),
        "spread_pp": Column("Float64", "pp", "highest less lowest GPU's utilization", "one GPU, or none"),
        "imbalance": Column("boolean", "", "spread above 5 points and three standard errors",
                            "one GPU, or none; or above 5 points in a window too short for a standard error"),
        "refused": Column("string", "", "why nothing is said of busy and idle", "nothing speaks against it"),
    },
    "elimination": {
        "arm": Column("string", "", "server configuration"),
        "candidate": Column("string", "", "cause that could hold the decode step back"),
        "signature": Column("string", "", "what would be seen if it did"),
        "measurement": Column("string", "", "what was seen, with its figures", "not measured"),
        "gate": Column("string", "", "what had to hold for the measurement to count, and whether it did"),
        "outcome": Column("string", "", "ruled out | not ruled out | untested"),
        "why": Column("string", "", "one sentence: why this outcome, or what would test it"),
        "concurrency": Column("Int64", "requests", "concurrency it was judged at", "untested"),
        "run_ids": _RUN_IDS,
    },
    "cost": {
        **_POINT,
        "throughput_tok_s": Column("Float64", "tok/s", "geometric mean over sessions", NO_RUN),
        "usd_per_mtok": Column("Float64", "USD/Mtok", "price over throughput: output tokens while serving", NO_PRICE),
        **_interval("usd_per_mtok", "", "USD/Mtok", "cost of a million tokens", f"{NO_PRICE}, or {ONE_SESSION}"),
        "tokens_per_j": Column("Float64", "tok/J", "output tokens of the runs over their GPUs' energy",
                               "the GPUs count no energy"),
        "tags": _TAGS,
        "run_ids": _RUN_IDS,
    },
    "bill": {
        "item": Column("string", "", "measured runs | warmups | boots | failed boots | failed runs | idle and teardown "
                       "| all"),
        "arm": Column("string", "", "server configuration", "all arms"),
        "sessions": Column("Int64", "", "sessions in which it occurred"),
        "time_s": Column("Float64", "s", "node time it took", "the end of a session was not recorded"),
        "share": Column("Float64", "", "of the booking's node time", "that time is not known, or is none"),
        "usd": Column("Float64", "USD", "time x price", f"{NO_PRICE}, or the time is not known"),
        "tokens": Column("Int64", "tokens", "output tokens delivered meanwhile", "none are counted for it"),
        "usd_per_mtok": Column("Float64", "USD/Mtok", "all-in: the whole bill over the tokens of the measured runs",
                               f"{NO_PRICE}, not the row of all, no measured run, or the time is not known"),
        "note": Column("string", "", "what it holds and leaves out", NOTHING_TO_SAY),
    },
    "verdicts": {
        "claim_id": Column("string", "", "what is claimed; a comparison's id, fit/arm, floor/arm/c<n>, "
                           "value/arm/metric/c<n>, busy/arm/c<n>"),
        "kind": Column("string", "", "comparison | scale | value | fit | floor | occupancy"),
        "level": Column("string", "", "SOLID | SOLID-SCALE | EQUIVALENT | WITHIN NOISE | UNREPLICATED | CONFOUNDED | "
                        "REFUSED"),
        "because": Column("string", "", "what decided the level: a tag, a count, an interval", "no more than its rule"),
        "sentence": Column("string", "", "what a report may print"),
        "replicate": Column("string", "", "what would lift it out of doubt", "it is out of doubt, or nothing would"),
        "arm": Column("string", "", "server configuration"),
        "baseline": Column("string", "", "what it is compared with", "not a comparison of arms"),
        "metric": Column("string", "", "column of table runs", "not about one metric"),
        "concurrency": Column("Int64", "requests", "requests in flight", "about several"),
        "exploratory": Column("boolean", "", "not declared before measuring", "not a comparison"),
        "tags": Column("string", "", "tags that hold it down, comma separated; INCOMPLETE where runs are missing",
                       "none does"),
        "sessions": Column("Int64", "", "boots behind it, of the side that has fewer", "not a level of boots"),
        "sessions_needed": Column("Int64", "", "boots that SOLID asks of it", "not a level of boots"),
        "run_ids": _RUN_IDS,
    },
    "hypotheses": {
        "hypothesis": Column("string", "", "its name in the booking file"),
        "statement": Column("string", "", "what was expected, in words"),
        "because": Column("string", "", "why, as the booking file says", "it does not say"),
        "comparison_id": Column("string", "", "the comparison that judges it, one row each", "no such runs"),
        "arm": Column("string", "", "server configuration"),
        "baseline": Column("string", "", "what it is compared with"),
        "metric": Column("string", "", "column of table runs"),
        "concurrency": Column("Int64", "requests", "requests in flight"),
        "direction": Column("string", "", "higher | lower"),
        "smallest_effect_pct": Column("Float64", "%", "smallest effect of interest"),
        "effect_pct": Column("Float64", "%", "as measured", NO_RUN),
        **_interval("holm", "_pct", "%", "effect, family-wise", NOT_TESTED),
        "level": Column("string", "", "level of the comparison's verdict", "no such runs"),
        "outcome": Column("string", "", "supported | contradicted | too small to matter | undecided | refused | not "
                          "measured | exploratory (not declared before measuring, so not judged)"),
        "sentence": Column("string", "", "what a report may print"),
    },
    "next_experiments": {
        "rank": Column("Int64", "", "order in which to run them, from 1"),
        "experiment": Column("string", "", "what to run, in words"),
        "why": Column("string", "", "which doubt it removes"),
        "claims": Column("Int64", "", "claims that it would move out of doubt"),
        "claim_ids": Column("string", "", "those claims, space separated"),
        "sessions": Column("Int64", "", "boots it takes"),
        "time_s": Column("Float64", "s", "node time it would take, from this booking's own timings",
                         "this booking has no timing for it"),
        "usd": Column("Float64", "USD", "the same in money", f"{NO_PRICE}, or no timing"),
        "claims_per_hour": Column("Float64", "1/h", "claims over that time", "no timing"),
        "how": Column("string", "", "the change of the booking file, or the command"),
    },
}
