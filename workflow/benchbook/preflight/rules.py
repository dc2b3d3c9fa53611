"""Every rule of preflight by name: the line of docs/ that it rests on, and what it asks.

The names are what `preflight.allow` of a booking file takes.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    source: str
    asks: str


RULES = {
    "flag-unreadable": Rule("engines.md 4.19", "can the engine read the values of its flags"),
    "gpus-too-few": Rule("engines.md 4.9", "does the node have the GPUs that ranks, tensor and pipeline parts take"),
    "capture-too-small": Rule("engines.md 4.1", "does the largest captured graph hold the tokens of a decode step"),
    "capture-sizes-conflict": Rule("engines.md 4.2", "do the two ways to set the graphs' sizes agree"),
    "sglang-capture-too-small": Rule("engines.md 4.3", "does SGLang's largest graph hold the requests of a step"),
    "autotune-range": Rule("engines.md 4.4", "does the MoE autotuner see the sizes of prefill chunks"),
    "gpu-memory-over": Rule("engines.md 4.6", "do weights, KV cache and what comes after them fit on a GPU"),
    "sglang-memory-over": Rule("engines.md 4.8", "does SGLang's static share leave room for graphs and activations"),
    "host-memory-over": Rule("engines.md 4.7", "do pinned weights and the checkpoint fit into the host's memory"),
    "kv-one-request": Rule("engines.md 4.10", "does the KV cache hold one request of the longest length"),
    "kv-too-small": Rule("engines.md 4.10", "does the KV cache hold the requests of the sweep"),
    "cores-too-few": Rule("engines.md 4.12", "do API servers, engines and client have a core each"),
    "partial-wave": Rule("method.md 3", "is every run made of whole waves"),
    "prompts-repeat": Rule("method.md 0", "does a server see a prompt twice"),
    "speculation-budget": Rule("engines.md 4.11", "do compared arms schedule as many tokens a step"),
    "gpu-memory-tight": Rule("engines.md 4.6", "is there room for activations, autotuning and capture after the KV "
                             "cache"),
    "autotune-workspace": Rule("engines.md 4.5", "is there room for the workspaces of FP4 autotuning"),
    "graph-estimate-off": Rule("engines.md 4.6", "is the memory of graphs taken off before the KV cache is sized"),
    "memory-share-unwritten": Rule("engines.md 4.6", "is the share of GPU memory written down"),
    "sequences-below-sweep": Rule("engines.md 4.1", "does the engine take in the sweep's requests at once"),
    "max-model-len-far": Rule("engines.md 4.10", "is the longest sequence near what the workload sends"),
    "api-servers-steps": Rule("engines.md 4.13", "do the server's step counts count each step once"),
    "front-end-narrow": Rule("engines.md 4.14", "can the API servers tokenize prompts as fast as they are sent"),
    "wrapped-server": Rule("engines.md 4.15", "is a patched server patched in every API server process"),
    "ready-timeout": Rule("engines.md 4.16", "does the engine wait for a boot as long as the booking does"),
    "startup-plan": Rule("engines.md 4.16", "is a cold boot cold"),
    "client-rate": Rule("engines.md 4.17", "can the load client carry concurrency x tokens a second"),
    "waves-few": Rule("method.md 3", "are there four waves and more"),
    "percentiles-few": Rule("method.md 1", "are there requests enough for p90 and p99"),
    "boots-few": Rule("method.md 4", "are there boots enough for a difference to be claimed"),
    "order-blocked": Rule("method.md 4", "do the arms boot in turns"),
    "memory-phases": Rule("engines.md 4.6", "what of the GPU's memory goes where, phase by phase"),
    "override-unused": Rule("engines.md 4.18", "does every override have something to override"),
}  # fmt: skip
