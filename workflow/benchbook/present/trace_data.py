"""What the page's panel needs to show the chain behind each number: the same as `benchbook trace` prints.

One JSON object, strings interned, in a block that no script runs:

    paths, hashes, names, whats   the strings that the rest counts into
    steps                         [path, rule, script, code, [[path, hash], ...]] of everything that a rule wrote
    tables, figures, summary      step of each table and figure; steps of the summary
    columns                       table to column to [unit, label, meaning, why it may be missing]
    rows                          table to row key to owners, where the key is not the one owner itself
    all                           table to the owners behind the whole of it
    sources                       owner to [path, hash, first line, last line, what]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from benchbook.present import format as fmt
from benchbook.present import labels, summary
from benchbook.present.address import row_key
from benchbook.present.context import FRAMES, ReportInput
from benchbook.provenance.trace import SUMMED, owners
from benchbook.schema import TABLES

_ESCAPED = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


class _Interned(dict[str, int]):
    """Each string once, by the order in which it was met."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self)
        return self[text]


def build(context: ReportInput) -> Markup | None:
    """The block's text; None for a report that was given no sources."""
    if "sources" not in context.frames:
        return None
    paths, hashes, names, whats = _Interned(), _Interned(), _Interned(), _Interned()
    sidecars = {**context.sidecars, **{str(told["output"]["path"]): told for told in context.upstream}}
    places = {name: at for at, name in enumerate(sidecars)}
    steps = [
        [paths[str(told["output"]["path"])], told["rule"], told["script"], str(told["code_fingerprint"])[:12],
         [[paths[path], hashes[digest]] for path, digest in told["inputs"].items()]]
        for told in sidecars.values()
    ]  # fmt: skip
    rows: dict[str, dict[str, list[int]]] = {}
    for table in FRAMES:
        for row in context.frames[table].to_dict("records"):
            key, found = row_key(table, row), owners(table, row, context.frames)
            if found and found != (key,):
                rows.setdefault(table, {})[key] = [names[owner] for owner in found]
    sources: dict[str, list[Any]] = {}
    for row in context.frames["sources"].to_dict("records"):
        lines = [None if fmt.is_missing(row[name]) else int(row[name]) for name in ("first_line", "last_line")]
        file = [paths[row["file"]], hashes[row["sha256"]], *lines, whats[row["what"]]]
        sources.setdefault(row["owner_id"], []).append(file)
    whole = {name: [names[run] for run in told["run_ids"]] for name, told in context.sidecars.items()}
    return _block({
        "steps": steps,
        "tables": {name: places[name] for name in FRAMES},
        "figures": {name: places[name] for name in context.sidecars if name.startswith("figure_")},
        "summary": [places[name] for name in SUMMED],
        "columns": {table: _columns(table) for table in FRAMES},
        "why": summary.WHY,
        "rows": rows,
        "all": whole,
        "sources": sources,
        "paths": list(paths), "hashes": list(hashes), "names": list(names), "whats": list(whats),
    })  # fmt: skip


def _columns(table: str) -> Mapping[str, list[str]]:
    return {name: [fmt.unit(table, name), labels.label(name), column.meaning, column.null or "not recorded"]
            for name, column in TABLES[table].items()}  # fmt: skip


def _block(value: Mapping[str, Any]) -> Markup:
    """JSON in which nothing can end the script element that holds it."""
    return Markup(json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_ESCAPED))
