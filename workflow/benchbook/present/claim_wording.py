"""Sentences of the chapters on claims: what a table shows, and why a chapter has none."""

from __future__ import annotations

CLAIMS = (
    "Every claim that this booking could make, with the level that its runs allow. A filled shape may be quoted, a "
    "hollow one may not, a cross says nothing at all. Declared claims were written in the booking file before "
    "measuring; exploratory ones were looked for afterwards and are corrected for how many were looked at."
)
HYPOTHESES = (
    "What the booking file expected, with the comparison that judges it. Supported: the effect is in the direction "
    "expected, at least of the smallest size of interest, and its family-wise interval excludes 0; where the whole "
    "interval lies beyond that size, the sentence says so."
)
COMPARISONS = (
    "An effect is the arm over its baseline less one. The statistical unit is the session, one boot of the server; an "
    "interval is family-wise 95 %, at the level that Holm’s procedure gives it. With one session a side there is no "
    "interval: the band is what two boots of the same server may differ by. MDE: the smallest effect that this many "
    "sessions find in four of five tries."
)
SCALE = "The same server at its lowest and at its best concurrency; a ratio, which needs no repeats where it is large."
REPEATABILITY = (
    "Repeats inside one boot share what the boot happened to bring, so they tell how steady a run is, not how far the "
    "next boot will be. Means here and in every claim are geometric, over sessions (method.md 4), and so lie a little "
    "below the arithmetic ones of the sweep, the more the values spread. The interval is over sessions; the range is "
    "the lowest to the highest session mean, or run where there is one session."
)
NOISE = "Pooled over arms and concurrencies, from runs without a tag. Bands and MDEs use it where it has data enough."
FIXED_COST = (
    "A decode step of t ms with n sequences on a rank: t = fixed cost + slope × max(0, n − hinge). The step is the "
    "median ITL of pure-decode steps; mean TPOT × a beside it has other requests’ prefill inside. n½ is the batch at "
    "which half of the step is fixed cost, the asymptote the throughput that more sequences approach."
)
TOLL = (
    "The toll is the fixed cost’s share of the step. Predicted: the step here as the other concurrencies alone give "
    "it; a prediction that failed is a model that does not hold there. A mixture of experts reads more weights the "
    "more sequences it has, so that its step is no line: where that fit is refused, what the step takes over its byte "
    "floor is fitted in its place (over floor)."
)
BYTE_FLOOR = (
    "The least time a decode step can take: the bytes that it must read from memory over the memory’s bandwidth. "
    "Dense weights are read whole, routed experts as far as the step’s tokens reach them with uniform routing, the KV "
    "cache at the mean context. A floor, not a forecast."
)
ELIMINATION = (
    "Every candidate cause, what would be seen if it held the decode step back, and what was. Ruled out takes a "
    "measurement that passed its gate and contradicts the signature by more than three standard errors."
)
OCCUPANCY = (
    "Busy is utilization times the step, idle the rest of it, from telemetry clipped to the steady window. "
    "Utilization is the share of time in which any kernel ran; it does not say how hard the GPU worked."
)
ANOMALIES = "What was found in the runs that a mean would hide, and what may not be claimed because of it."
COST = (
    "The cost of a million output tokens while serving, from the node’s price and the throughput; its interval is the "
    "throughput’s, inverted. The bill below is the whole booking, boots and failures included."
)
NEXT = (
    "Ordered by how many claims an hour of node time would move out of doubt. Times come from this booking’s own boots "
    "and runs."
)

ABSENT = {
    "claims": "There is no claim to judge: no run of this booking is usable. Failures says what went wrong; measure "
              "again.",
    "hypotheses": "The booking file declares no hypothesis. What is declared before measuring is corrected for less "
                  "than what is looked for afterwards: add `hypotheses` to the booking file before the next session.",
    "comparisons": "No two arms have usable runs at the same concurrency, so there is nothing to compare. Add a second "
                   "arm to the booking file, or measure the missing concurrencies.",
    "scale": "No arm has usable runs at two concurrencies. Measure a second concurrency.",
    "repeatability": "No run is usable, so there is no mean and no spread. Failures says what went wrong.",
    "noise": "No metric has two untagged runs or sessions to take a spread from; bands and MDEs use the method’s "
             "prior. Repeat runs within a session, and boots of an arm.",
    "fixed-cost": "No run has a steady window and step times to fit. Measure six concurrencies or more, three runs "
                  "each, with per-token times.",
    "toll": "No concurrency has a step to take a share of.",
    "byte-floor": "The floor takes the model’s sizes and the memory bandwidth of one GPU: at least one of them is not "
                  "given, or no run has a steady window. Name both in the model’s and the node’s file.",
    "elimination": "No run with a decode step could be judged, so no cause was tried. Measure with telemetry and a "
                   "steady window.",
    "occupancy": "No run has a decode step to split into busy and idle time.",
    "anomalies": "None of the detectors found anything: no stall, no two-humped TTFT, no TTFT that falls as "
                 "concurrency rises, no outlying repeat, no throttling.",
    "cost": "No usable run has a throughput to price.",
    "bill": "No session has recorded times to bill.",
    "next": "No claim is in a doubt that a further experiment would lift.",
}
