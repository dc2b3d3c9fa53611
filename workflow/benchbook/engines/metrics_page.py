"""The counters of a Prometheus page of vLLM (/metrics), for each engine that it labels (engines.md 3)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchbook.engines.log_lines import lines

_SAMPLE = re.compile(r"^(vllm:\w+)\{(.*)\} (\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_COUNTERS = {
    "vllm:iteration_tokens_total_count": "engine_steps_reported",
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:iteration_tokens_total_sum": "iteration_tokens_sum",
    "vllm:prompt_tokens_total": "prompt_tokens",
}
_FINISHED = "vllm:request_success_total"
_LENGTH = "requests_length"
NOTE = (
    "engine_steps_reported counts a step once in every API server, so it is the number of engine steps only with one "
    "API server and one engine (DP=1): 1,504 steps read 3,003 with two servers and 6,001 with four. Token sums and "
    "requests are exact; add them up over the engines."
)


@dataclass(frozen=True)
class Page:
    """`engines`: counters by the label `engine`; `engine_steps`: the true number of steps, None where the page may
    count them more than once (several engines, or no `_created` series, which several API servers do not have)."""

    engines: dict[str, dict[str, int | None]]
    engine_steps: int | None


def parse(text: str) -> Page | None:
    """The page's counters; None where the text has no vLLM sample. A counter that is not there is None."""
    engines: dict[str, dict[str, int | None]] = {}
    sampled = created = False
    for line in lines(text):
        found = _SAMPLE.match(line.strip())
        if found is None:
            continue
        sampled = True
        created = created or found[1].endswith("_created")
        labels = dict(_LABEL.findall(found[2]))
        key = _COUNTERS.get(found[1])
        if found[1] == _FINISHED and labels.get("finished_reason") == "length":
            key = _LENGTH
        value = _count(found[3])
        if key is None or value is None:
            continue
        counters = engines.setdefault(labels.get("engine", "0"), dict.fromkeys((*_COUNTERS.values(), _LENGTH)))
        counters[key] = (counters[key] or 0) + value
    if not sampled:
        return None
    alone = next(iter(engines.values())) if len(engines) == 1 and created else None
    return Page(engines, alone["engine_steps_reported"] if alone is not None else None)


def _count(digits: str) -> int | None:
    try:
        return int(float(digits))
    except (ValueError, OverflowError):
        return None
