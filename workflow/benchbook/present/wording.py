"""Sentences from facts. They say what the tables hold and nothing about which arm is faster; verdicts do.

`[[key]]` stands for the value of the summary table under that key; the page puts the addressed number there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TAGS = {
    "INCOMPLETE": "Some requests failed or returned fewer tokens than asked for.",
    "UNWARMED": "There was no warmup at this concurrency, or it never met its rule, or the server did not stay warm "
                "over the runs, or compiled during one, so start-up effects may be inside the run.",
    "UNSTEADY": "The steady window is shorter than the threshold, so the run is mostly ramp and drain, or Little’s "
                "check refused its throughput as steady.",
    "STALLED": "Requests stood still for longer than a second.",
    "BIMODAL": "Times to first token fall into two separate groups; their mean describes neither.",
    "THROTTLED": "The GPU lowered its clock, or ran at its power cap.",
    "CLIENT": "The load client was itself a bottleneck.",
    "CACHED": "Prompts hit the prefix cache, so part of the prefill was not done.",
    "REGIME": "The engine preempted requests or left some waiting, or a step was larger than any captured graph, "
              "so the decode step follows another law than in other runs.",
    "TELEM": "The telemetry does not cover the run.",
    "FRONTEND": "Requests were stuck before the engine, in the server’s front end.",
    "MISMATCH": "Client, /metrics and server log count the run differently.",
    "UNPINNED": "The server’s threads were not seen to stay on the cores that the arm names.",
    "RETOKENIZED": "The client counted the output tokens itself, which may inflate them slightly.",
}
UNKNOWN_TAG = "Not described in this version."

SWEEP = (
    "One server, more and more requests in flight. The figure and the table show every arm at every concurrency; what "
    "may be said of them follows from the levels beside them, not from the look of the lines."
)
METRICS = (
    "Every number of this report is one of the following, computed from what the load client noted of each request "
    "and chunk, and from what the server counted itself. docs/method.md has the formulas."
)
RESOLVED = (
    "What the server settled for itself at boot, as its log says: memory, cache and captured graphs. A default that "
    "the log names is a setting of this measurement as much as a flag."
)
NOT_RESOLVED = (
    "The server’s log says nothing of the memory of weights and captured graphs, as on a node without GPU; its "
    "start-up and the size of its KV cache are in the next chapter."
)

NAIVE = (
    "Naive is what a script reads that samples from a client’s launch to its end: it takes in start-up, ramp, drain "
    "and the idle time around the run, so it depends on how long those lasted; in the run is the mean over the steady "
    "window alone, and that is the measurement."
)
GPU_ACTIVITY = (
    "Utilization is the share of time in which any kernel ran, however little of the GPU it used; SMs, tensor cores "
    "and DRAM bandwidth say how much of it was. Throttled: a thermal, power-brake, power-cap or slowdown reason in "
    "more than 1 % of the samples, a mean SM clock under 97 % of its maximum, or a mean power of 95 % of the limit or "
    "more."
)
GPU_ENERGY = (
    "Energy is the difference of the GPU’s own counter, not power times time; the power it comes to stands beside the "
    "readings as a check. Per token counts output tokens."
)
CLIENT = (
    "A client that is late reads its own lateness as the server’s latency. TTFT excess is the client’s mean TTFT less "
    "the one that the server counted for the same requests: the way there and back, and what the client adds. "
    "Against a server of known timing, vllm bench serve adds some 30 ms at 64 requests in flight with a burst of "
    "sends, Benchbook’s own client less than 2 ms."
)
CROSSCHECK = (
    "Both load clients sent requests of the same lengths to the same server, vllm-bench as text and native as token"
    " ids, one run after the other, in pairs that take turns in who goes first; a difference is that of vllm-bench "
    "over native, pair by pair, and its range is over the pairs. On a machine that others use the server itself is "
    "faster in one run than in the next: the second table has each run’s figures over what the server counted of "
    "that run, so that the server’s own pace drops out and the clients remain; a throughput of 1 is that of all "
    "requests always inside the server. The server’s own mean TTFT, from /metrics, splits a difference in TTFT: "
    "what the server saw as well came about in it; the rest did outside of it, where a client starts its clock "
    "before the request is written, makes a connection within the time it measures, or reads the first token late."
)
SCHEDULER = (
    "Outside are requests that the client has sent and that are neither running nor waiting in the engine: still with "
    "the server’s front end, or on their way back. Engine steps are given only for one engine behind one API server; "
    "otherwise each of them counts a step again."
)
RECONCILIATION = (
    "The client’s sums beside the increase of the server’s counters over the run, and beside the tokens in the "
    "server’s own log lines where those cover the run and nothing else. Requests that failed at the client are not in "
    "its sums; the server may have served them."
)
SAMPLING_COST = (
    "The sampler runs on the node that it measures: its share of one core over the session, and the time that one of "
    "a hundred samples of CPU and processes, and of all GPUs, exceeds."
)

DEFINITIONS = (
    ("Throughput", "Output tokens of the requests that ended well, divided by the run's duration."),
    ("TTFT", "Time to first token: from sending a request to its first token."),
    ("E2EL", "End-to-end latency: from sending a request to its last token."),
    ("TPOT", "Time per output token after the first: (E2EL − TTFT) / (n_out − 1), per request. Not the decode step: "
             "others’ prefill is inside it."),
    ("ITL", "Inter-token latency: the time between two streamed chunks that carry tokens. With speculative decoding "
            "a chunk is a step of several tokens. Withheld where chunks were merged or split on their way."),
    ("Step", "Mean TPOT times the tokens that a step yields a sequence, from /metrics: the decode step with the "
             "others’ prefill inside it."),
    ("C", "Concurrency: the requests that the client keeps in flight."),
    ("Mean", "Over sessions, of each session’s mean over its runs. The session, one boot of the server, is the "
             "statistical unit: its runs share what the boot happened to bring. An arithmetic mean; claims and "
             "repeatability take the geometric one, a little lower where values spread."),
    ("Range", "The lowest and the highest run: not a confidence interval, however many runs there are."),
)


@dataclass(frozen=True)
class Status:
    """The status box: `level` is "good", "warn" or "bad"; `points` are sentences with [[key]] for numbers."""

    level: str
    headline: str
    points: tuple[str, ...]


def plural(count: int, one: str, many: str = "") -> str:
    """The noun for `count`."""
    return one if count == 1 else many or one + "s"


def status(totals: Mapping[str, float], tags: Iterable[str]) -> Status:
    """What went well and what did not. `totals` are the summary's counts by key; `tags` those found in ok runs.

    Red: nothing measured, or a failure that the booking does not expect. Amber: tags, expected failures, sessions set
    aside, or Little's check not passed. Green: none of these.
    """
    count = {key: int(value) for key, value in totals.items()}
    points = []
    if count["runs_not_ok"]:
        verb = plural(count["runs_not_ok"], "is", "are")
        points.append(f"[[runs_not_ok]] of [[runs]] runs {verb} not ok: [[runs_failed]] failed, [[runs_incomplete]] "
                      f"incomplete, [[runs_missing]] missing. What {verb} not ok is in none of the means.")
    if count["sessions_failed"]:
        points.append(f"[[sessions_failed]] of [[sessions]] {plural(count['sessions'], 'session')} failed.")
    if count["failures_expected"]:
        verb = plural(count["failures_expected"], "is", "are")
        points.append(f"[[failures_expected]] of [[failures]] failures {verb} declared in the booking as expected.")
    if count["sessions_set_aside"]:
        verb = plural(count["sessions_set_aside"], "session was", "sessions were")
        points.append(f"[[sessions_set_aside]] {verb} interrupted and set aside; no mean uses what was measured then.")
    if count["runs_tagged"]:
        verb = plural(count["runs_tagged"], "run that is ok carries", "runs that are ok carry")
        points.append(f"[[runs_tagged]] {verb} a tag: {', '.join(sorted(tags))}. Shown hollow in the figure.")
    if count["little_refused"]:
        points.append("Little’s check refuses the throughput of [[little_refused]] "
                      f"{plural(count['little_refused'], 'run', 'runs')} as steady.")
    if count["little_warn"]:
        points.append(f"Little’s check warns about [[little_warn]] {plural(count['little_warn'], 'run', 'runs')}.")
    if not count["sessions"] and not count["runs"]:
        return Status("bad", "Nothing was measured", ("No session is on record for this booking.",))
    unmeasured = count["runs"] > 0 and count["runs_ok"] == 0
    if unmeasured or count["runs_unexpected"] or count["sessions_unexpected"]:
        return Status("bad", "No run is ok" if unmeasured else "Some of it failed", tuple(points))
    if points:
        return Status("warn", "Complete, with reservations", tuple(points))
    return Status("good", "All runs complete", ("[[runs_ok]] of [[runs]] runs are ok, without a tag, in [[sessions]] "
                                                f"{plural(count['sessions'], 'session')}.",))


def tags_explained(tags: Iterable[str]) -> list[tuple[str, str]]:
    """Each tag with its sentence, in alphabetical order."""
    return [(tag, TAGS.get(tag, UNKNOWN_TAG)) for tag in sorted(set(tags))]


def no_gpu(reason: str) -> str:
    """The sentence that stands for the GPU columns when no run has any."""
    return f"GPU utilization, power, clock, memory, energy and temperature are not available: no GPU ({reason})."


def no_failures() -> str:
    return "Nothing failed: every session booted and ran all its runs."


def warmup_counts(converged: int, unwarmed: int, gates: Iterable[str], without: int = 0) -> str:
    """How the warmups went; counts are of session and concurrency, `gates` the outcomes of the gates judged, `without`
    those that were measured without a reading there."""
    if not converged and not unwarmed:
        return "No warmup was run; the runs carry the tag UNWARMED."
    told = []
    if without:
        told.append(f"{without} {plural(without, 'concurrency was', 'concurrencies were')} measured without any warmup "
                    "at that concurrency; those runs carry the tag UNWARMED.")
    if unwarmed:
        told.append("The warmup rule was not met everywhere: the rows marked UNWARMED. Runs at those concurrencies "
                    "were measured all the same and carry the tag.")
    elif not without:
        told.append("Every session met the warmup rule at every concurrency.")
    seen = set(gates)
    if "rerun passed" in seen:
        told.append("Where the gate says “rerun passed” the server had not stayed warm over the runs; they were "
                    "measured once more, and only those count.")
    if "failed" in seen:
        told.append("Where the gate says “failed” it had not stayed warm, and the runs carry the tag UNWARMED.")
    return " ".join(told)


def relaxed(names: Iterable[str]) -> str:
    """Which thresholds are weaker than the method's; "" when none is."""
    listed = list(names)
    if not listed:
        return ""
    return (f"This booking relaxes {plural(len(listed), 'a threshold', f'{len(listed)} thresholds')} of the method: "
            f"{', '.join(listed)}.")


def preflight(findings: int, allowed: int) -> str:
    """What preflight is, and how much it has to say."""
    if not findings:
        return "Preflight finds nothing in this booking."
    said = "Preflight holds the booking against what is known of its engine and of benchmarks that went wrong."
    if not allowed:
        return said
    stand = "One error stands" if allowed == 1 else f"{allowed} errors stand"
    return f"{said} {stand} because the booking file says so."
