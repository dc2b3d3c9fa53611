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
from benchbook.present import (
    figure_comparisons,
    figure_fixed_cost,
    figure_sweep,
    figure_telemetry,
    figure_timeline,
    figure_warmup,
    palette,
    svg,
)

SMALL: dict[str, Any] = {"repeats": 1, "boots": 1, "concurrency": (4, 8)}
SIX = tuple(f"arm-{letter}" for letter in "abcdef")


def draw(name: str, tables: dict[str, Any], out: Path) -> str:
    if name == "sweep":
        figure_sweep.draw(tables["sweep"], tables["runs"], out)
    elif name == "warmup":
        figure_warmup.draw(tables["warmup"], out)
    elif name == "timeline":
        figure_timeline.draw(tables["timeline"], out)
    elif name == "comparisons":
        figure_comparisons.draw(tables["comparisons"], tables["verdicts"], out)
    elif name == "fixed_cost":
        figure_fixed_cost.draw(tables["steps"], tables["fixed_cost"], tables["toll"], [], out)
    else:
        figure_telemetry.draw(tables["samples"], tables["timeline"], out)
    return out.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


NAMES = ("sweep", "warmup", "timeline", "telemetry", "comparisons", "fixed_cost")


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


def texts(drawn: str) -> list[str]:
    """What the figure says: matplotlib notes each text it outlines in a comment."""
    return re.findall(r"<!-- (.*?) -->", drawn)


def test_comparisons_name_the_level_of_each_row_and_draw_nothing_of_a_refused_one(tmp_path: Path) -> None:
    tables = frames.make(repeats=1)
    said = texts(draw("comparisons", tables, tmp_path / "a.svg"))
    of_arms = tables["verdicts"].query("kind == 'comparison'")
    for level, count in of_arms["level"].value_counts().items():
        in_legend = 0 if level == "REFUSED" else 1
        assert said.count(str(level)) == count + in_legend, level
    assert {"family-wise 95 % interval", "band of no effect", "equivalence margin"} <= set(said)


def test_of_many_comparisons_the_declared_are_kept_and_the_rest_is_told(tmp_path: Path) -> None:
    comparisons = frames.make(repeats=1)["comparisons"].query("question == 'arms'")
    many = pd.concat([comparisons.assign(
        comparison_id=comparisons["comparison_id"] + f"/{i}", family="exploratory", concurrency=i) for i in range(9)])
    many.iloc[-1, many.columns.get_loc("family")] = "declared"
    many.iloc[-1, many.columns.get_loc("concurrency")] = 777
    figure_comparisons.draw(many, schema.empty("verdicts"), tmp_path / "a.svg")
    said = texts((tmp_path / "a.svg").read_text(encoding="utf-8"))
    assert "eager / baseline, C = 777*" in said
    assert sum(text.startswith("eager / baseline") for text in said) == figure_comparisons.MOST
    assert any(f"{len(many) - figure_comparisons.MOST} more comparisons are in the table" in text for text in said)


def test_an_interval_far_beyond_the_effects_is_cut_with_an_arrow(tmp_path: Path) -> None:
    tables = frames.make(repeats=1)
    one = tables["comparisons"].query("question == 'arms' and sessions > 1").iloc[:1].copy()
    drawn = []
    just_fits = float(one["effect_pct"].iloc[0])
    for place, half in enumerate((just_fits, 500.0)):
        one["holm_low_pct"], one["holm_high_pct"] = one["effect_pct"] - half, one["effect_pct"] + half
        figure_comparisons.draw(one, tables["verdicts"], tmp_path / f"{place}.svg")
        drawn.append((tmp_path / f"{place}.svg").read_text(encoding="utf-8"))
    assert "+500" not in texts(drawn[1])
    assert drawn[1].count('id="line2d_') == drawn[0].count('id="line2d_') + 2


def test_a_refused_fit_says_so_and_a_run_of_another_regime_is_a_cross(tmp_path: Path) -> None:
    tables = frames.make(failures=False, repeats=1)
    plain = texts(draw("fixed_cost", tables, tmp_path / "a.svg"))
    assert "fit refused" not in plain
    assert "of another regime, not fitted" not in plain
    tables["fixed_cost"]["refused"] = pd.array(["two concurrencies"] * len(tables["fixed_cost"]), dtype="string")
    tables["steps"].loc[0, "regime"] = "requests waited"
    said = texts(draw("fixed_cost", tables, tmp_path / "b.svg"))
    assert said.count("fit refused") == 2
    assert "of another regime, not fitted" in said


def test_a_line_meets_the_axis_at_the_fixed_cost_of_the_table(tmp_path: Path) -> None:
    tables = frames.make(("only",), failures=False, repeats=1)
    before = draw("fixed_cost", tables, tmp_path / "a.svg")
    chosen = tables["fixed_cost"]["chosen"] & (tables["fixed_cost"]["response"] == "step")
    tables["fixed_cost"].loc[~chosen, "t_fixed_ms"] *= 2
    assert draw("fixed_cost", tables, tmp_path / "b.svg") == before
    tables["fixed_cost"].loc[chosen, "t_fixed_ms"] *= 1.2
    assert draw("fixed_cost", tables, tmp_path / "c.svg") != before


def test_a_session_longer_than_the_first_is_drawn_to_its_end(tmp_path: Path) -> None:
    tables = frames.make(failures=False, repeats=1)
    samples = tables["samples"].copy()
    last = samples["session_id"] == samples["session_id"].max()
    start = samples.loc[last, "t_s"].min()
    samples.loc[last, "t_s"] = start + 200 * (samples.loc[last, "t_s"] - start)
    longest_min = (samples["t_s"].max() - start) / 60
    said = texts(draw("telemetry", tables | {"samples": samples}, tmp_path / "a.svg"))
    ticks = [float(text) for text in said if re.fullmatch(r"[\d.]+", text)]
    assert longest_min > 200  # beyond every tick of the other axes, which end at 100 %
    assert 0.6 * longest_min < max(ticks) <= longest_min
