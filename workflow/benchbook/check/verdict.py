"""What may be claimed from a single run: method.md 10, first match, where a comparison has nothing to stand on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchbook.check.figures import Figures
from benchbook.check.findings import Finding

REFUSED, CONFOUNDED, UNREPLICATED = "REFUSED", "CONFOUNDED", "UNREPLICATED"
SIGMA_REPEAT, SIGMA_BOOT = 0.01, 0.015  # method.md 4: until a node's own are measured
BAND = 1.96 * math.sqrt(2 * (SIGMA_BOOT**2 + SIGMA_REPEAT**2))  # one run against another: 5.0 %
# metrics that a tag voids, whatever else may stand
_VOIDS = {
    "BIMODAL": ("ttft_mean_ms", "ttft_p50_ms", "ttft_p90_ms", "ttft_p99_ms"),
    "TELEM": ("utilization_run_pct", "power_run_w", "energy_j", "energy_per_token_j"),
}
_REMEDIES = {
    "INCOMPLETE": "Read the server's log for the first error, and run again until every request comes back whole.",
    "UNWARMED": "Warm up at this concurrency and these lengths until readings agree, then run again.",
    "UNSTEADY": "Use more prompts: whole waves, at least 4, and a steady window of 30 s and twice a request's time.",
    "STALLED": "Look at what the server did then (log, --telemetry), and run again.",
    "BIMODAL": "Give TTFT by group, or find what holds the slow ones back; TPOT stands.",
    "THROTTLED": "Lower the load on power or cooling, or state the cap beside the figure.",
    "CLIENT": "Use a faster load client or several processes.",
    "CACHED": "Use a new --seed for every run on a server, or reset its prefix cache.",
    "TELEM": "Sample through the whole run, at least once a second.",
    "RETOKENIZED": "Claim no difference below 2 %: counting again may inflate tokens slightly.",
    "MISMATCH": "Do not use the figures before the difference is explained.",
}


@dataclass(frozen=True)
class Verdict:
    """`reason`: the verdict in a sentence; `claim`: what may be written; `next`: what to do; `void`: metrics refused"""

    verdict: str
    reason: str
    claim: str
    next: tuple[str, ...]
    void: tuple[str, ...]


def of_run(found: Sequence[Finding], figures: Figures) -> Verdict:
    values = figures.values
    names = list(dict.fromkeys(finding.tag for finding in found))
    void = tuple(metric for tag in names for metric in _VOIDS.get(tag, ()))
    following = tuple(_REMEDIES[tag] for tag in names if tag in _REMEDIES)
    throughput = values["output_tok_s"]
    shown = f"{throughput:,.1f} tok/s" if throughput is not None else "its figures"
    refusal = next((finding.what for finding in found if finding.tag == "INCOMPLETE"), None)
    if refusal is None and figures.impossible:
        refusal = next(finding.what for finding in found if finding.tag == "MISMATCH" and "Little" in finding.what)
    if refusal is None and throughput is None:
        refusal = "it gives no throughput that could be computed"
    if refusal is not None:
        return Verdict(REFUSED, f"Nothing may be claimed from this result: {refusal}.", "Nothing.", following, void)
    if names:
        reason = f"{shown} is the figure, and it is confounded by {', '.join(names)}: {found[0].what}"
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        return Verdict(CONFOUNDED, f"{reason}{more}.",
                       f"{shown} with the {'tag' if len(names) == 1 else 'tags'} {', '.join(names)} beside it; no "
                       "comparison.", following, void)  # fmt: skip
    return Verdict(
        UNREPLICATED,
        f"{shown} ± {100 * BAND:.1f} %, no direction: nothing wrong was found, and it is a single run.",
        f"{shown}; against another single run, a difference within ± {100 * BAND:.1f} % is none.",
        ("Repeat: 3 boots a configuration with 3 runs each, in balanced order, before saying which is faster.",), void,
    )  # fmt: skip
