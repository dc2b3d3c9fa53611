"""What is said of the origin of tables, figures and page, against what their rules say when they are made anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchbook.verify.finding import Finding

# Not the code: another version of it may give the same numbers.
SAID = ("rule", "script", "params", "run_ids", "inputs", "output")


def check(shown: Path, anew: Path) -> list[Finding]:
    """Every sidecar in the folder `shown` that says other things than the one in `anew`, and in what."""
    found = []
    for path in sorted(shown.glob("*.prov.json")) if shown.is_dir() else []:
        made = anew / path.name
        if not made.exists():
            continue
        name = path.name.removesuffix(".prov.json")
        kind = "figure" if name.endswith(".svg") else "table" if name.endswith(".parquet") else "report"
        have, want = _said(path), _said(made)
        differing = [key for key in SAID if have.get(key) != want.get(key)]
        if differing:
            what = f"{'/'.join(path.parts[-3:])} says another {', '.join(differing)}"
            found.append(Finding(f"{kind}:{Path(name).stem}", what))
    return found


def _said(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
