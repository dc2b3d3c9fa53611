"""How an arm's server is laid out over the node's GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.engines.vllm_layout import Layout, layout


def of_arm(booking: Mapping[str, Any], arm: str) -> Layout:
    """Layout of the arm of this name in `booking` (config.claims_facts). Raises KeyError for one it does not have."""
    for item in booking["arms"]:
        if item["name"] == arm:
            return layout(item["server_args"])
    raise KeyError(f"the booking has no arm {arm}")
