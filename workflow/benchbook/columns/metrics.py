"""The metrics of a run that claims are made of: columns of table `runs`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A column of table `runs`: its unit, what it is called in a sentence, which way is better, the tags that make it
    unfit, and those that can move it by a factor 2 or more (method.md 10)."""

    name: str
    unit: str
    label: str
    better: str
    voided_by: frozenset[str] = frozenset()
    moved_by: frozenset[str] = frozenset({"STALLED"})


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput_tok_s", "tok/s", "throughput", "higher"),
        Metric("window_throughput_tok_s", "tok/s", "throughput in the steady window", "higher"),
        Metric("tpot_mean_ms", "ms", "mean TPOT", "lower"),
        Metric("ttft_mean_ms", "ms", "mean TTFT", "lower", frozenset({"BIMODAL"}),
               frozenset({"CACHED", "CLIENT", "FRONTEND", "REGIME", "STALLED", "UNWARMED"})),
        Metric("itl_p50_ms", "ms", "median ITL", "lower"),
        Metric("e2el_mean_ms", "ms", "mean E2EL", "lower"),
    )
}


def metric_of(name: str) -> Metric:
    """What is known of a column of table `runs`; one that no claim names by default reads as its own name."""
    return METRICS.get(name) or Metric(name, "", name, "higher")
