"""The endpoints that a request can be sent to, by name."""

from __future__ import annotations

from benchbook.measure.client.endpoints.chat import CHAT
from benchbook.measure.client.endpoints.completions import COMPLETIONS
from benchbook.measure.client.endpoints.endpoint import Endpoint, Sampling
from benchbook.measure.client.endpoints.generate import GENERATE
from benchbook.measure.client.endpoints.responses import RESPONSES

ENDPOINTS: dict[str, Endpoint] = {each.name: each for each in (COMPLETIONS, CHAT, RESPONSES, GENERATE)}

__all__ = ["ENDPOINTS", "Endpoint", "Sampling"]
