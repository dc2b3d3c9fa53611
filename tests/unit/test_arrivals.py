"""Arrival times of an open loop: as drawn, in order, at the rate asked for."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise
from pathlib import Path

import pytest
from benchbook.errors import LoadError
from benchbook.measure.client import arrivals
from hypothesis import given
from hypothesis import strategies as st


@given(
    st.sampled_from(arrivals.KINDS), st.floats(0.01, 1e4), st.integers(0, 200), st.integers(0, 2**31),
    st.floats(0.05, 20),
)  # fmt: skip
def test_times_ascend_and_are_a_function_of_their_arguments(kind, rate, count, seed, burstiness):
    due = arrivals.times(kind, rate, count, seed, burstiness)
    assert len(due) == count
    assert all(0 <= sooner <= later for sooner, later in pairwise([0.0, *due]))
    assert due == arrivals.times(kind, rate, count, seed, burstiness)
    assert due == arrivals.times(kind, rate, count + 5, seed, burstiness)[:count]


def test_a_constant_rate_begins_at_once():
    assert arrivals.times("constant", 4, 4, 0) == [0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("kind", "burstiness", "variation"), [("poisson", 5.0, 1.0), ("gamma", 1.0, 1.0), ("gamma", 4.0, 0.5),
                                          ("gamma", 0.25, 2.0)],
)  # fmt: skip
def test_gaps_have_the_mean_and_the_variation_of_their_distribution(kind, burstiness, variation):
    """Coefficient of variation of a gamma distribution: 1 / sqrt(shape)."""
    due = arrivals.times(kind, 50, 20_000, 1, burstiness)
    gaps = [later - sooner for sooner, later in pairwise([0.0, *due])]
    assert statistics.mean(gaps) == pytest.approx(0.02, rel=0.05)
    assert statistics.stdev(gaps) / statistics.mean(gaps) == pytest.approx(variation, rel=0.05)


@pytest.mark.parametrize(
    ("kind", "rate", "burstiness", "said"),
    [("uniform", 1, 1, "no kind"), ("poisson", 0, 1, "rate 0"), ("poisson", math.inf, 1, "rate"),
     ("gamma", 1, -1, "burstiness -1")],
)  # fmt: skip
def test_what_cannot_arrive_is_refused(kind, rate, burstiness, said):
    with pytest.raises(LoadError, match=said):
        arrivals.times(kind, rate, 3, 0, burstiness)


@pytest.mark.parametrize("text", ["0\n0.5\n# a remark\n\n2\n", "[0, 0.5, 2]", " [0.0,0.5,2e0]\n"])
def test_a_trace_is_read_from_lines_or_a_list(tmp_path: Path, text: str):
    path = tmp_path / "arrivals"
    path.write_text(text)
    assert arrivals.from_file(path) == [0, 0.5, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [("0\nsoon\n", "line 2: 'soon'"), ("1\n\n0.5\n", "line 3: 0.5 is before"), ("", "no arrival time"),
     ("[0, -1]", "entry 2"), ("[0, null]", "entry 2"), ("[0, true]", "entry 2"), ("[1", "no JSON"),
     ("nan", "line 1"), ('[1, 0.5]', "entry 2: 0.5 is before")],
)  # fmt: skip
def test_a_broken_trace_names_its_place(tmp_path: Path, text: str, said: str):
    path = tmp_path / "arrivals"
    path.write_text(text)
    with pytest.raises(LoadError, match=said):
        arrivals.from_file(path)


def test_a_trace_that_is_not_there_is_one_sentence(tmp_path: Path):
    with pytest.raises(LoadError, match="cannot be read"):
        arrivals.from_file(tmp_path / "none")
