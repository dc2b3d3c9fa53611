"""From the command line's values to a Load."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbook.errors import LoadError
from benchbook.load import server
from benchbook.measure.client import arrivals, workloads
from benchbook.measure.client.endpoints import ENDPOINTS, Sampling
from benchbook.measure.client.load import Load, processes_for
from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.target import Target

WAVES = 4
OPEN_LOOP_REQUESTS = 100


@dataclass(frozen=True)
class Asked:
    """What is to be sent. `rate_req_s`: requests a second of an open loop, None for a closed one or a trace."""

    endpoint: str
    model: str | None
    workload: Mapping[str, Any]
    requests: int | None
    concurrency: int | None
    rate_req_s: float | None
    arrivals: str
    burstiness: float
    arrival_times: Path | None
    seed: int
    keep_connections: bool
    processes: int | None
    read_gap_s: float
    ignore_eos: bool
    extra: Mapping[str, Any]


def planned(asked: Asked, target: Target) -> Load:
    """The Load, with every request made. LoadError for what cannot be sent, before anything is."""
    due = _arrivals(asked)
    concurrency = asked.concurrency if due is not None or asked.concurrency is not None else 1
    count = len(due) if due is not None else asked.requests or WAVES * (concurrency or 1)
    endpoint = ENDPOINTS[asked.endpoint]
    prompts = workloads.prompts(asked.workload, count, asked.seed)
    if prompts and prompts[0].kind not in endpoint.kinds:
        raise LoadError(f"endpoint {asked.endpoint} takes no {prompts[0].kind.replace('_', ' ')}; "
                        f"it takes {', '.join(sorted(endpoint.kinds)).replace('_', ' ')}.")  # fmt: skip
    model = _model(asked, target, max((one.tokens or 0) + one.output_tokens for one in prompts))
    return Load(
        target=target, endpoint=asked.endpoint, model=model, prompts=prompts, concurrency=concurrency, arrivals_s=due,
        keep_connections=asked.keep_connections, processes=_processes(asked, prompts, concurrency),
        read_gap_s=asked.read_gap_s, exact=asked.ignore_eos, sampling=Sampling(asked.ignore_eos, extra=asked.extra),
        request_id=f"benchbook-{secrets.token_hex(4)}-",
    )  # fmt: skip


def in_words(load: Load, seed: int) -> str:
    """What is about to be sent, in one line."""
    tokens = [one.tokens for one in load.prompts if one.tokens is not None]
    size = f"{_range(tokens)} tokens" if tokens else "text"
    if load.arrivals_s is None:
        how = f"{load.concurrency} in flight"
    else:
        span_s = load.arrivals_s[-1] if len(load.arrivals_s) else 0.0
        how = f"due over {span_s:,.1f} s" + (f", at most {load.concurrency} in flight" if load.concurrency else "")
    return (f"{len(load.prompts)} requests to {load.target.url} ({load.endpoint}, {load.model}): {size} in, "
            f"{_range([one.output_tokens for one in load.prompts])} tokens out, {how}, seed {seed}")  # fmt: skip


def _arrivals(asked: Asked) -> list[float] | None:
    if asked.arrival_times is not None:
        due = arrivals.from_file(asked.arrival_times)
        return due[: asked.requests] if asked.requests else due
    if asked.rate_req_s is None:
        return None
    return arrivals.times(
        asked.arrivals, asked.rate_req_s, asked.requests or OPEN_LOOP_REQUESTS, asked.seed, asked.burstiness
    )


def _processes(asked: Asked, prompts: list[Prompt], concurrency: int | None) -> int:
    """As asked; else as an open loop's rate needs, and one for a closed loop, whose rate is not known before."""
    if asked.processes is not None:
        return asked.processes
    if asked.rate_req_s is None or not prompts:
        return 1
    tokens = sum(one.output_tokens for one in prompts) / len(prompts)
    return processes_for(asked.rate_req_s * tokens, concurrency)


def _model(asked: Asked, target: Target, longest: int) -> str:
    if asked.model is not None:
        return asked.model
    served = server.models(target)
    if not served:
        raise LoadError(f"{target.url} lists no model; name one with --model.")
    first = served[0]
    if first.max_tokens is not None and longest > first.max_tokens:
        raise LoadError(f"a request would have {longest:,} tokens, and {first.name} takes {first.max_tokens:,}; "
                        "make prompts or answers shorter.")  # fmt: skip
    return first.name


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
