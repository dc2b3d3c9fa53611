"""A value as the text of a rule's parameter."""

from __future__ import annotations

import json
import re
from typing import Any

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def text(value: Any, sort_keys: bool = True) -> str:
    """`value` as JSON whose texts have their braces escaped: Snakemake takes {word} in a parameter for a wildcard, and
    a title or a flag may hold one."""
    return _STRING.sub(_without_braces, json.dumps(value, sort_keys=sort_keys))


def _without_braces(string: re.Match[str]) -> str:
    return string[0].replace("{", "\\u007b").replace("}", "\\u007d")
