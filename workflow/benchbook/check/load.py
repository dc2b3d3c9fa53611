"""Files that `benchbook check` is given. TextError names what cannot be read, and what would be."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchbook.check import json_result, text_result
from benchbook.check.result import Result, number
from benchbook.engines import facts
from benchbook.errors import TextError
from benchbook.measure.telemetry import parse_metrics

_YEAR_2000_S, _YEAR_3000_S = 946_684_800, 32_503_680_000
_WANTED = ("a result of `vllm bench serve --save-result` or of SGLang's bench_serving (--output-file), or the block "
           "that either prints")  # fmt: skip


def results(path: Path) -> list[Result]:
    """Every result in a file: one JSON object, a list of them, one a line (--append-result), or printed blocks.

    A last line that a kill cut short is left out, with a note in the one before it.
    """
    text = _text(path)
    if not text.strip():
        raise TextError(f"{path} is empty; give {_WANTED}.")
    values, cut = _values(text)
    if values is None:
        found = text_result.read(text, str(path))
        if not found:
            cut = text.lstrip()[0] in "{["
            what = "is broken JSON, perhaps cut short" if cut else "is neither JSON nor a printed result"
            raise TextError(f"{path} {what}; give {_WANTED}.")
        return found
    read = []
    for index, value in enumerate(values):
        if json_result.is_result(value):
            name = f"{path}#{index + 1}" if len(values) > 1 else str(path)
            read.append(json_result.read(value, name))
    if not read:
        raise TextError(f"{path} is JSON without a benchmark result (`duration` and `completed`); give {_WANTED}.")
    if len(read) < len(values) or cut:
        left = len(values) - len(read) + cut
        last = read[-1]
        note = f"{left} of the file's {len(values) + cut} entries are no whole result and were left out."
        read[-1] = Result(**{**vars(last), "notes": (*last.notes, note)})
    return read


def telemetry(path: Path, utc_offset_s: float) -> list[dict[str, Any]]:
    """Telemetry lines (`t` Unix seconds, `src` nvml, cpu, metrics ...), or nvidia-smi's CSV turned into such.

    nvidia-smi writes local time: `utc_offset_s` is what that is ahead of UTC. Lines that are no samples are left out.
    """
    text = _text(path)
    if text.lstrip().startswith("{"):
        found = [line for line in map(_sample, text.splitlines()) if line is not None]
    else:
        found = _nvidia_smi(text, utc_offset_s)
    if not found:
        raise TextError(f"{path} holds no telemetry: give JSON lines with `t` and `src`, or the CSV of nvidia-smi "
                              "--query-gpu=timestamp,index,utilization.gpu,power.draw --format=csv.")  # fmt: skip
    return sorted(found, key=lambda line: float(line["t"]))


def scrape(path: Path) -> dict[str, float]:
    """A page of /metrics as numbers by full name."""
    found = {name: value for name, value in parse_metrics(_text(path)).items() if number(value) is not None}
    if not found:
        raise TextError(f"{path} holds no metrics; give what `curl SERVER/metrics` writes.")
    return found


def log(path: Path) -> str:
    text = _text(path)
    if not text.strip():
        raise TextError(f"{path} is empty; give the server's log.")
    if (facts.read(text) or {}).get("kind") != "log":
        raise TextError(f"{path} is no log of a vLLM or SGLang server; give the file that its output went to.")
    return text


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TextError(f"{path} cannot be read ({error.strerror or error}).") from error
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise TextError(f"{path} is a broken gzip file ({error}).") from error
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    if b"\x00" in data:
        raise TextError(f"{path} is binary; give {_WANTED}.")
    return data.decode("utf-8-sig", "replace")


def _values(text: str) -> tuple[list[Any] | None, int]:
    """The JSON values of a file and how many last lines were cut short; None: it is not JSON."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        return (whole if isinstance(whole, list) else [whole]), 0
    values: list[Any] = []
    lines = [line for line in text.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            return (values, 1) if values and index == len(lines) - 1 else (None, 0)
    return values, 0


def _sample(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("src"), str):
        return None
    if not _YEAR_2000_S < (number(value.get("t")) or 0.0) < _YEAR_3000_S:
        return None
    if value["src"] == "nvml":
        read = value | {name: number(value[name]) for name in value if name not in ("t", "src")}
        return read if read.get("gpu") is not None else None
    if value["src"] == "nvml_fine":
        return value if _is_fine(value) else None
    if value["src"] == "metrics":
        told = value.get("v")
        if not isinstance(told, Mapping):
            return None
        return value | {"v": {str(name): float(one) for name, one in told.items() if number(one) is not None}}
    return value


def _is_fine(value: Mapping[str, Any]) -> bool:
    """Whether a line of the driver's own samples is whole: steps and readings pairwise of one length, all numbers."""
    if number(value.get("gpu")) is None or not isinstance(value.get("energy_mj"), int | float | None):
        return False
    for steps, readings in (("util_us", "util_pct"), ("power_us", "power_mw")):
        pair = value.get(steps), value.get(readings)
        if not all(isinstance(part, list) and all(number(one) is not None for one in part) for part in pair):
            return False
        if len(pair[0] or []) != len(pair[1] or []):
            return False
    return True


def _nvidia_smi(text: str, utc_offset_s: float) -> list[dict[str, Any]]:
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
    if not rows or not any(cell.startswith("timestamp") for cell in rows[0]):
        return []
    columns = {cell.partition(" [")[0]: place for place, cell in enumerate(rows[0])}
    wanted = {"util": "utilization.gpu", "power_w": "power.draw", "sm": "clocks.current.sm"}
    found = []
    for row in rows[1:]:
        def cell(name: str, row: list[str] = row) -> str:
            place = columns.get(name)
            return row[place] if place is not None and place < len(row) else ""

        try:
            moment = datetime.strptime(cell("timestamp").partition(".")[0], "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC)
            fraction = float("0." + (cell("timestamp").partition(".")[2] or "0"))
        except ValueError:
            continue
        values = {name: _leading(cell(column)) for name, column in wanted.items()}
        found.append({"t": moment.timestamp() + fraction - utc_offset_s, "src": "nvml",
                      "gpu": _leading(cell("index")) or 0.0, **values})  # fmt: skip
    return found


def _leading(text: str) -> float | None:
    """The number that a cell such as "612.31 W" begins with; None for "[N/A]"."""
    try:
        return number(float(text.split(" ")[0]))
    except ValueError:
        return None
