"""Numbers to text: the only place where it happens, so that a figure in a sentence reads as in its table.

Numbers keep a unit's count of significant digits, but never lose a digit before the decimal point; thousands are
separated by commas; minus is U+2212. Shares are stored as fractions and shown in percent. Missing is an en dash with
the reason, never 0 and never blank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from benchbook.present.labels import metric_name
from benchbook.schema import TABLES

MISSING = "–"
MINUS = "−"
MAX_DECIMALS = 3
HASH_LENGTH = 12

SIGNIFICANT = {"ms": 4, "tok/s": 4, "req/s": 4, "s": 3, "%": 3, "cores": 3, "GiB": 3, "W": 4, "MHz": 4, "J": 4,
               "°C": 3, "requests": 4, "tokens": 4, "pp": 2, "GB": 3, "TB/s": 3, "USD/Mtok": 3, "tok/J": 3, "1/h": 3}
PLAIN = 4
EFFECT_DECIMALS = 2


@dataclass(frozen=True)
class Text:
    """What is shown: `text`, and `why` when the value is missing ("" when it is there)."""

    text: str
    why: str = ""

    @property
    def missing(self) -> bool:
        return bool(self.why)


@dataclass(frozen=True)
class Percent:
    """A fraction shown as percent with a fixed number of `decimals`; `signed` shows a plus too."""

    decimals: int = 1
    signed: bool = False


PERCENT = {
    "change": Percent(2, signed=True),
    "little_delta": Percent(2, signed=True),
    "fill": Percent(1),
    "run_share": Percent(1),
    "coverage": Percent(1),
    "gpu_coverage": Percent(1),
    "gpu_power_share": Percent(1),
    "gpu_sm_clock_share": Percent(1),
    "gpu_throttled_share": Percent(1),
    "sampler_cpu_share": Percent(2),
    "kv_cache_usage_max": Percent(1),
    "prefix_hit_rate": Percent(2),
    "outside_share": Percent(1),
    "difference": Percent(3),
    **{f"{figure}_difference{end}": Percent(2, signed=True)
       for figure in ("throughput", "tpot", "ttft", "throughput_over_server", "tpot_over_server")
       for end in ("", "_min", "_max")},
    "share": Percent(1),
    "range_coverage": Percent(1),
    "step_pure_share": Percent(1),
    "utilization": Percent(1),
    "power_share": Percent(1),
    "expert_coverage": Percent(1),
    "expert_coverage_busiest": Percent(1),
    **{f"toll_share{end}": Percent(1) for end in ("", "_low", "_high")},
}
SIGNED = {"effect_pct", *(f"{name}_{end}_pct" for name in ("effect", "holm") for end in ("low", "high"))}
DURATIONS = {("bill", "time_s"), ("next_experiments", "time_s")}
TIMES = {"t_start_s", "t_end_s", "t_launch_s", "t_send_s", "t_first_s", "t_last_s", "window_start_s", "window_end_s"}
TRIMMED = {"waves", "tokens_per_chunk"}
HASHES = {"spec_hash"}
LISTS = {"tags", "voids"}


def _fixed(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", MINUS)


def number(value: float, digits: int = PLAIN, most: int = MAX_DECIMALS) -> str:
    """`value` with `digits` significant digits, at most `most` decimals; "<0.001" for what would read as zero."""
    if not math.isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".rsplit("e", 1)[1])
    decimals = min(most, max(0, digits - 1 - exponent))
    smallest = 10.0**-decimals
    if abs(value) < smallest / 2:
        return f"<{smallest:.{decimals}f}" if value > 0 else f">{MINUS}{smallest:.{decimals}f}"
    return _fixed(value, decimals)


def quantity(value: float, unit: str) -> str:
    """`value` with the significant digits of its unit; the unit itself stands in the header."""
    return number(float(value), SIGNIFICANT.get(unit, PLAIN))


def with_unit(value: float, unit: str) -> str:
    """`value` and its unit, for a sentence."""
    if isinstance(value, float) and 0 < abs(value) < 0.1:
        shown = f"{value:g}".replace("-", MINUS)
    else:
        shown = f"{value:,}".replace("-", MINUS) if isinstance(value, int) else number(float(value)).rstrip()
    if isinstance(value, float) and "." in shown:
        shown = shown.rstrip("0").rstrip(".")
    return f"{shown}\u00a0{unit}" if unit else shown


def percent(fraction: float, style: Percent) -> str:
    """A fraction as percent, without the sign "%"; a fixed count of decimals."""
    shown = _fixed(fraction * 100, style.decimals)
    if not shown.strip(f"{MINUS}0."):
        return f"{0:.{style.decimals}f}"
    return f"+{shown}" if style.signed and fraction > 0 else shown


def duration(seconds: float) -> str:
    """Seconds as a person would say them: "8.4 s", "4 min 12 s", "2 h 05 min"."""
    if abs(seconds) < 60 and float(f"{seconds:.3g}") < 60:
        return f"{number(seconds, 3)}\u00a0s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}\u00a0min {whole % 60:02d}\u00a0s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,}\u00a0h {minutes % 60:02d}\u00a0min"


def utc(unix_s: float) -> str:
    """A Unix time (s) as "2026-09-11 23:05:48" in UTC, rounded to the second."""
    return datetime.fromtimestamp(round(unix_s), tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def unit(table: str, column: str) -> str:
    """The unit that the header of `column` names; "" for none."""
    if column in PERCENT:
        return "%"
    if (table, column) in DURATIONS:
        return ""
    return "UTC" if column in TIMES else TABLES[table][column].unit


def is_number(table: str, column: str) -> bool:
    """Whether `column` is set as a number: right aligned, tabular figures."""
    return TABLES[table][column].dtype in ("Int64", "Float64")


def is_missing(value: Any) -> bool:
    """Whether a cell holds null; a list never is."""
    return value is None or (not isinstance(value, (list, tuple)) and bool(pd.isna(value)))


def _words(column: str, value: str) -> str:
    if column in HASHES:
        return value[:HASH_LENGTH]
    if column in LISTS:
        return ", ".join(metric_name(item.strip()) for item in value.split(",") if item.strip())
    return metric_name(value.strip()) if column == "metric" else value.strip()


def _dollars(value: float) -> str:
    return _fixed(value, 2) if value == 0 or abs(value) >= 0.005 else "<0.01"


def cell(table: str, column: str, value: Any) -> Text:
    """The text of one cell of a table of schema.py.

    A null gives the dash and the schema's reason. An empty string reads "none". Raises KeyError for a column that the
    schema does not know.
    """
    described = TABLES[table][column]
    if is_missing(value):
        return Text(MISSING, described.null or "not recorded")
    if isinstance(value, str):
        return Text(_words(column, value) or "none")
    if described.dtype == "boolean":
        return Text("yes" if value else "no")
    if column in TIMES:
        return Text(utc(float(value)))
    if column in PERCENT:
        return Text(percent(float(value), PERCENT[column]))
    if described.dtype == "Int64":
        return Text(f"{int(value):,}".replace("-", MINUS))
    if (table, column) in DURATIONS:
        return Text(duration(float(value)))
    if column in SIGNED:
        shown = number(float(value), SIGNIFICANT["%"], EFFECT_DECIMALS)
        return Text(f"+{shown}" if float(value) > 0 and not shown.startswith("<") else shown)
    if described.unit == "USD":
        return Text(_dollars(float(value)))
    shown = quantity(float(value), described.unit)
    if column in TRIMMED and "." in shown:
        shown = shown.rstrip("0").rstrip(".")
    return Text(shown)


def total(value: Any, unit: str, why: str) -> Text:
    """The text of one value of the summary: counts, durations (unit "s"), money ("USD"), shares ("share")."""
    if is_missing(value):
        return Text(MISSING, why or "not recorded")
    if unit == "s":
        return Text(duration(float(value)))
    if unit.startswith("USD"):
        return Text(f"${_fixed(float(value), 2)}")
    if unit == "share":
        return Text(f"{percent(float(value), Percent(1))}\u00a0%")
    return Text(f"{round(float(value)):,}")
