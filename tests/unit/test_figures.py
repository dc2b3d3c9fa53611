"""Figures: equal bytes for equal input, and a drawing for every input."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import frames
import pandas as pd
import pytest
from benchbook import schema
from benchbook.present import figure_sweep, figure_telemetry, figure_timeline, figure_warmup, palette, svg

SMALL: dict[str, Any] = {"repeats": 1, "boots": 1, "concurrency": (4, 8)}
SIX = tuple(f"arm-{letter}" for letter in "abcdef")


def draw(name: str, tables: dict[str, Any], out: Path) -> str:
    if name == "sweep":
        figure_sweep.draw(tables["sweep"], tables["runs"], out)
    elif name == "warmup":
        figure_warmup.draw(tables["warmup"], out)
    elif name == "timeline":
        figure_timeline.draw(tables["timeline"], out)
    else:
        figure_telemetry.draw(tables["samples"], tables["timeline"], out)
    return out.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


NAMES = ("sweep", "warmup", "timeline", "telemetry")


@pytest.mark.parametrize("name", NAMES)
def test_equal_input_gives_equal_bytes_without_a_date(name: str, tmp_path: Path) -> None:
    tables = frames.make(**SMALL)
    first = draw(name, tables, tmp_path / "a.svg")
    assert first == draw(name, tables, tmp_path / "b.svg")
    assert "dc:date" not in first
    assert [path.name for path in tmp_path.glob("*.part")] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_rows_say_so(name: str, tmp_path: Path) -> None:
    full = frames.make(("only",), **SMALL)
    nothing = {table: schema.empty(table) for table in schema.TABLES} | {"samples": full["samples"].iloc[:0]}
    assert "no data: " in draw(name, nothing, tmp_path / "a.svg")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", ["one arm", "six arms with GPU", "all failed"])
def test_degenerate_input_is_drawn(name: str, case: str, tmp_path: Path) -> None:
    tables = {
        "one arm": lambda: frames.make(("only",), failures=False, **SMALL),
        "six arms with GPU": lambda: frames.make(SIX, gpu=True, **SMALL),
        "all failed": lambda: frames.make(("only",), all_failed=True, **SMALL),
    }[case]()
    ElementTree.fromstring(draw(name, tables, tmp_path / "a.svg"))


def test_all_runs_failed_says_so_and_marks_them(tmp_path: Path) -> None:
    drawn = draw("sweep", frames.make(("only",), all_failed=True, **SMALL), tmp_path / "a.svg")
    assert "no data: no run is ok" in drawn
    assert "run not ok" in drawn


def test_null_readings_and_samples_leave_gaps(tmp_path: Path) -> None:
    tables = frames.make(**SMALL)
    tables["warmup"].loc[tables["warmup"]["concurrency"] == 4, "tpot_mean_ms"] = None
    assert "every reading failed" in draw("warmup", tables, tmp_path / "a.svg")
    tables["samples"][["cpu_util_pct", "server_cpu_cores", "client_cpu_cores"]] = None
    assert "every sample is empty" in draw("telemetry", tables, tmp_path / "b.svg")


@pytest.mark.parametrize(("column", "value", "told"), [
    ("stalls", 2, "a request stalled"),
    ("late_work", 1, "server still compiling, tuning or capturing"),
    ("gate", "failed", "the runs after it did not stay there"),
    ("gate", "rerun passed", "the runs after it did not stay there"),
    ("verdict", "UNWARMED", "never accepted (UNWARMED)"),
])  # fmt: skip
def test_what_spoils_a_warmup_is_marked(column: str, value: Any, told: str, tmp_path: Path) -> None:
    tables = frames.make(failures=False, **SMALL)
    tables["warmup"]["late_work"] = pd.array([0] * len(tables["warmup"]), dtype="Int64")
    assert told not in draw("warmup", tables, tmp_path / "a.svg")
    tables["warmup"].loc[tables["warmup"]["concurrency"] == 4, column] = value
    assert told in draw("warmup", tables, tmp_path / "b.svg")


def test_ticks_are_exactly_the_measured_concurrencies(tmp_path: Path) -> None:
    drawn = draw("sweep", frames.make(repeats=1), tmp_path / "a.svg")
    panel = drawn.partition('id="axes_1"')[2].partition('id="matplotlib.axis_2"')[0]
    assert re.findall(r"<!-- (\d+) -->", panel) == ["1", "2", "4", "8"]


def test_sessions_far_apart_count_from_their_own_launch(tmp_path: Path) -> None:
    timeline = frames.make(repeats=1)["timeline"]
    later = timeline["slot"] != "s1"
    timeline.loc[later, ["t_start_s", "t_end_s"]] += 86400.0
    figure_timeline.draw(timeline, tmp_path / "a.svg")
    assert "own launch" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_colour_and_marker_are_unique_and_follow_the_order_given() -> None:
    styles = palette.arm_styles([f"a{i}" for i in range(63)])
    assert len(set(styles.values())) == 63
    assert palette.arm_styles(["x", "y"])["x"].colour == palette.COLOURS[0]


def test_inlined_figures_share_no_id(tmp_path: Path) -> None:
    drawn = draw("sweep", frames.make(repeats=1), tmp_path / "a.svg")
    both = [svg.inline(drawn, prefix, "<T>", "d & e") for prefix in ("one", "two")]
    ids = [set(re.findall(r'\sid="([^"]+)"', text)) for text in both]
    assert not ids[0] & ids[1]
    for text, own in zip(both, ids, strict=True):
        used = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
        assert {name for pair in used for name in pair if name} <= own
        assert "<style" not in text
        assert 'role="img"' in text
        assert "&lt;T&gt;" in text
        ElementTree.fromstring(text)
