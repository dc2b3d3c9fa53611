"""Numbers to text."""

from __future__ import annotations

import pandas as pd
import pytest
from benchbook import schema
from benchbook.present import format as fmt
from benchbook.present.address import address, split
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(("value", "digits", "text"), [
    (1451.5, 4, "1,452"), (48159.2, 4, "48,159"), (17.877, 4, "17.88"), (9.99951, 4, "10.00"), (0.0, 4, "0"),
    (0.00042, 3, "<0.001"), (-0.00042, 3, ">−0.001"), (-3.14159, 3, "−3.14"), (float("inf"), 3, "∞"),
])
def test_number_keeps_significant_digits_and_every_digit_before_the_point(value: float, digits: int, text: str) -> None:
    assert fmt.number(value, digits) == text


@settings(max_examples=60, deadline=None)
@given(st.floats(min_value=0.001, max_value=1e9))
def test_number_reads_back_within_half_a_unit_of_its_last_digit(value: float) -> None:
    shown = fmt.number(value, 4)
    decimals = len(shown.partition(".")[2])
    if not shown.startswith("<"):
        assert abs(float(shown.replace(",", "")) - value) <= 0.5 * 10.0**-decimals * 1.0001


@pytest.mark.parametrize(("seconds", "text"), [
    (8.4, "8.40 s"), (59.96, "1 min 00 s"), (252, "4 min 12 s"), (7500, "2 h 05 min"), (3599.7, "1 h 00 min"),
    (0.2, "0.200 s"),
])
def test_duration(seconds: float, text: str) -> None:
    assert fmt.duration(seconds).replace("\u00a0", " ") == text


@pytest.mark.parametrize(("column", "value", "text"), [
    ("fill", 0.792, "79.2"), ("little_delta", -0.004, "−0.40"), ("little_delta", 0.012, "+1.20"),
    ("little_delta", -0.000001, "0.00"), ("waves", 8.0, "8"), ("waves", 3.125, "3.125"), ("tags", "", "none"),
    ("tags", "CACHED,UNWARMED", "CACHED, UNWARMED"), ("whole_waves", False, "no"), ("num_prompts", 4096, "4,096"),
    ("t_start_s", 1789168748.4, "2026-09-11 23:19:08"), ("spec_hash", "0123456789abcdef", "0123456789ab"),
    ("ttft_mean_ms", 5004.96, "5,005"),
])
def test_cell_of_runs(column: str, value: object, text: str) -> None:
    assert fmt.cell("runs", column, value) == fmt.Text(text)


def test_every_nullable_column_of_the_schema_shows_a_dash_and_its_reason() -> None:
    for table, columns in schema.TABLES.items():
        for name, column in columns.items():
            if column.null:
                shown = fmt.cell(table, name, pd.NA)
                assert (shown.text, shown.why) == ("–", column.null)


def test_missing_is_not_zero_and_zero_is_not_missing() -> None:
    assert fmt.cell("scheduler", "preemptions", 0) == fmt.Text("0")
    assert fmt.cell("scheduler", "preemptions", None).missing
    assert fmt.total(None, "s", "why").text == "–"


def test_address_splits_into_what_it_was_made_of() -> None:
    row = {"arm": "base", "concurrency": 64, "client": None}
    assert split(address("sweep", row, "tpot_mean_ms")) == ("sweep", "base/c64", "tpot_mean_ms")
    assert address("crosscheck", row, "pairs") == "crosscheck:base/c64:pairs"
    of_one = address("sweep", row | {"client": "native"}, "tpot_mean_ms")
    assert split(of_one) == ("sweep", "base/c64/native", "tpot_mean_ms")
    with pytest.raises(ValueError, match="not an address"):
        split("runs:only")
