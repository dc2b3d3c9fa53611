"""What was found: where, what stands there, and what should."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """`address` names the number (table:row:column), the place in the page (report:...) or the file; `what` is one
    clause; `found` and `expected` are short, "" where there is nothing to quote; addresses in `rests` rest on it."""

    address: str
    what: str
    found: str = ""
    expected: str = ""
    rests: tuple[str, ...] = ()

    def __str__(self) -> str:
        quoted = f": {self.found} stands there, {self.expected} is what the raw files give" if self.expected else (
            f": {self.found}" if self.found else "")  # fmt: skip
        resting = f" (under {', '.join(self.rests)})" if self.rests else ""
        return f"{self.address}  {self.what}{quoted}{resting}"
