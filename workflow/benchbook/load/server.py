"""What a server says of itself before it is loaded: which model it serves, and how long a request may be."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from benchbook.errors import LoadError
from benchbook.measure.client.target import Target

TIMEOUT_S = 10.0
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the load goes past proxies, too


@dataclass(frozen=True)
class Served:
    """A model of /v1/models; `max_tokens`: longest request, prompt and answer together, None where it does not say."""

    name: str
    max_tokens: int | None


def models(target: Target) -> list[Served]:
    """What the server serves; LoadError with what to do when it does not answer, or with something else."""
    url = f"{target.url}/v1/models"
    try:
        asked = urllib.request.Request(url, headers=dict(target.headers))
        with _DIRECT.open(asked, timeout=TIMEOUT_S) as reply:
            listed = json.load(reply)["data"]
        return [Served(str(one["id"]), _tokens(one)) for one in listed]
    except urllib.error.HTTPError as error:
        advice = "set OPENAI_API_KEY, or give --header" if error.code in (401, 403) else "name the model with --model"
        raise LoadError(f"{url} answers {error.code} {error.reason}; {advice}.") from error
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", None) or error
        told = f"no server answers at {target.url} ({reason}). Start it, wait for /health, or give its URL."
        raise LoadError(told) from error
    except (ValueError, KeyError, TypeError, http.client.HTTPException) as error:
        raise LoadError(f"{url} gives something else than a list of models; name the model with --model.") from error


def _tokens(model: dict[str, Any]) -> int | None:
    told = model.get("max_model_len")
    return told if isinstance(told, int) and told > 0 else None
