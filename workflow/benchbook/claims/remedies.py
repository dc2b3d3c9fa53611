"""What each fault that holds a claim down means, and what removes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Remedy:
    """`means`: the fault in a few words; `do`: what removes it; `how`: the change of the booking file, or the
    command."""

    means: str
    do: str
    how: str


TAGS = {
    "INCOMPLETE": Remedy("runs failed, fell short or are missing", "have the failed runs measured again",
                         "benchbook retry {booking}"),
    "UNWARMED": Remedy("the server was not warm", "warm up at this concurrency until the rule is met",
                       "warmup.max_readings: twice as many; where a server keeps wandering, more workload.waves: a "
                       "longer run averages over it"),
    "UNSTEADY": Remedy("the run is mostly ramp and drain", "measure runs of more waves",
                       "workload.waves: twice as many"),
    "STALLED": Remedy("requests stood still", "boot several times: a stall that comes back is the server's (chapter "
                      "What is odd)", "schedule.sessions_per_arm: {sessions}"),
    "BIMODAL": Remedy("TTFT falls into two groups", "boot several times, and quote both groups if they stay",
                      "schedule.sessions_per_arm: {sessions}"),
    "THROTTLED": Remedy("the GPU was held back", "lock the SM clock at one that the power cap allows",
                        "nvidia-smi --lock-gpu-clocks on the node"),
    "CLIENT": Remedy("the load client was a bottleneck", "send from more client processes",
                     "client: native"),
    "CACHED": Remedy("prompts hit the prefix cache", "give every run prompts of its own, or switch the cache off",
                     "server.args.no-enable-prefix-caching: true"),
    "REGIME": Remedy("the engine left its regime: preemption, waiting requests or steps beyond the captured graphs",
                     "give the engine KV cache, sequences and captured graphs for this concurrency, or leave it out",
                     "server.args.max-num-seqs and server.args.cudagraph-capture-sizes"),
    "TELEM": Remedy("telemetry does not cover the window", "sample all of the window, at 1 Hz or more",
                    "telemetry.sample_hz: 10"),
    "FRONTEND": Remedy("requests were stuck before the engine", "give the server more API processes",
                       "server.args.api-server-count: 4"),
    "MISMATCH": Remedy("client, /metrics and log count differently", "find who miscounts (chapter Client, server and "
                       "scheduler), then measure again", "benchbook check on the run's result"),
    "UNPINNED": Remedy("the server was not seen to stay on its cores", "take out what sets a CPU set inside the server",
                       "server.env.VLLM_CPU_OMP_THREADS_BIND and server.args.numa-bind: null"),
    "RETOKENIZED": Remedy("output tokens were counted by the client", "use the server's own count",
                          "client: native"),
    "BOOKING": Remedy("the sides are of different bookings", "boot both arms in one booking",
                      "arms: both, in one booking file"),
}  # fmt: skip
NATIVE_CLIENT_HOW = "a node with more free cores, where the native client runs as more processes"
OTHER = Remedy("a fault without a rule", "see the run's tags in the run index", "see the run index")


def of(tag: str) -> Remedy:
    return TAGS.get(tag, OTHER)


def to_do(tags: Iterable[str]) -> str:
    """What removes all of `tags`, in words; empty when there are none."""
    return "; ".join(of(tag).do for tag in sorted(set(tags)))


def boots(per_side: int, sessions_per_arm: int, compared: bool) -> str:
    """What `per_side` more boots are called."""
    who = "each arm" if compared else "the arm"
    return f"boot {who} {times_more(per_side)} (sessions_per_arm: {sessions_per_arm})"


def times_more(count: int) -> str:
    return "once more" if count == 1 else f"{count} more times"
