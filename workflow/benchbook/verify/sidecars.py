"""What is said of the origin of tables, figures and page, against what their rules say when they are made anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchbook.provenance.code import combined
from benchbook.verify.finding import Finding

SAID = ("rule", "script", "params", "run_ids", "inputs", "output")


def check(shown: Path, anew: Path) -> list[Finding]:
    """Every sidecar in the folder `shown` that is missing beside its file, that says other things than the one in
    `anew`, or whose code fingerprint is not that of the code it lists.

    Another code is no finding by itself (`other_code`): a later version may give the same numbers.
    """
    found = []
    for made in sorted(anew.glob("*.prov.json")) if shown.is_dir() and anew.is_dir() else []:
        name, path = made.name.removesuffix(".prov.json"), shown / made.name
        kind = "figure" if name.endswith(".svg") else "table" if name.endswith(".parquet") else "report"
        where, place = f"{kind}:{Path(name).stem}", "/".join(path.parts[-3:])
        if not (shown / name).exists():
            continue
        if not path.exists():
            found.append(Finding(where, f"{place} is missing, so nothing says what it was made from; run snakemake "
                                        "report archive"))  # fmt: skip
            continue
        have, want = _said(path), _said(made)
        differing = [key for key in SAID if have.get(key) != want.get(key)]
        if differing:
            found.append(Finding(where, f"{place} says another {', '.join(differing)}"))
        if not _is_of_its_code(have):
            found.append(Finding(where, f"{place} has a code fingerprint that is not that of the code it lists"))
    return found


def other_code(shown: Path, anew: Path) -> list[str]:
    """A sentence when the report was made by another code than this; empty when it was not, or when none says so."""
    have, want = (_said(folder / "report.html.prov.json") for folder in (shown, anew))
    then, now = have.get("code"), want.get("code")
    if not isinstance(then, dict) or not isinstance(now, dict) or then == now:
        return []
    changed = sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return [f"The report was made by other code than this: {', '.join(changed[:3])}{more} differ. What it shows was "
            "made anew by this code."]  # fmt: skip


def _is_of_its_code(said: dict[str, Any]) -> bool:
    code = said.get("code")
    return isinstance(code, dict) and combined(code) == said.get("code_fingerprint")


def _said(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
