"""Does the node have the GPUs that the arms take (docs/engines.md 4.9)?"""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.engines.vllm_layout import layout
from benchbook.preflight.asked import VLLM, Asked, ServerAsked
from benchbook.preflight.finding import ERROR, Finding


def findings(arm: ServerAsked, asked: Asked) -> Iterator[Finding]:
    laid = layout(arm.args)
    if arm.kind != VLLM or not asked.has_gpus or laid.gpus <= asked.node["gpus"]:
        return
    yield Finding(
        "gpus-too-few", ERROR, arm.name, arm.key("data-parallel-size" if laid.ranks > 1 else "tensor-parallel-size"),
        f"Node {asked.node['name']} has {asked.node['gpus']} GPU{'s' * (asked.node['gpus'] != 1)}.",
        f"{laid.ranks} ranks x {laid.tensor} x {laid.pipeline} = {laid.gpus} > {asked.node['gpus']} GPUs",
        "Lower data-parallel-size, tensor-parallel-size or pipeline-parallel-size, or name another node.",
    )  # fmt: skip
