"""What random prompts consist of: token ids, or words for endpoints that take no ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbook.errors import WorkloadError
from benchbook.measure.client.workloads.draw import Draw
from benchbook.measure.client.workloads.words import WORDS


@dataclass(frozen=True)
class Content:
    """JSON text in the making: `opening`, then pieces with `separator` between, then `closing`.

    `kind` is a Prompt's; `exact` says that one piece is one token whatever the server.
    """

    kind: str
    exact: bool
    pieces: Sequence[bytes]
    opening: bytes
    separator: bytes
    closing: bytes

    def run(self, draw: Draw, count: int) -> bytes:
        """`count` pieces, each drawn independently of the others."""
        pieces, n = self.pieces, len(self.pieces)
        return self.separator.join([pieces[int(draw() * n)] for _ in range(count)])


def content(workload: Mapping[str, Any]) -> Content:
    """Words where the workload says `text: true`, else ids of its `token_ids` or of the usual range."""
    if workload.get("text", False):
        return Content("text", False, [word.encode() for word in WORDS], b'"', b" ", b'"')
    low, high = _id_range(workload.get("token_ids"))
    return Content("token_ids", True, [b"%d" % token for token in range(low, high)], b"[", b",", b"]")


def token_range(vocab_size: int | None) -> tuple[int, int]:
    """Ids [low, high) that are ordinary tokens, none for control: what `token_ids` is where a workload has none.

    1000 to 30000 in the usual vocabularies: Llama 2 and 3, Qwen, gpt-oss and DeepSeek, and Mistral's Tekken, which
    keeps 0 to 999 for control. Of a small vocabulary the first quarter is left out. Raises WorkloadError below two.
    """
    if vocab_size is None:
        return 1000, 30000
    if vocab_size < 2:
        raise WorkloadError(f"a vocabulary of {vocab_size} tokens is too small for random prompts")
    return min(1000, vocab_size // 4), min(30000, vocab_size)


def _id_range(token_ids: Any) -> tuple[int, int]:
    if token_ids is None:
        return token_range(None)
    match token_ids:
        case [int() as low, int() as high] if 0 <= low < high and not isinstance(low, bool):
            return low, high
    raise WorkloadError(f"workload: token_ids is [low, high) with 0 <= low < high, not {token_ids!r}")
