"""Hypotheses: judged by the verdict and the interval, and only when they were declared before measuring."""

from __future__ import annotations

import pytest
from benchbook.claims.hypotheses import outcome
from hypothesis import given
from hypothesis import strategies as st
from verdictinput import METRIC, booking, comparison, judged, runs

EXPECTED = {"name": "mtp-helps", "arm": "mtp", "baseline": "base", "metric": METRIC, "concurrency": [8],
            "direction": "lower", "smallest_effect": 0.02, "because": "fewer steps"}  # fmt: skip
FACTS = booking(hypotheses=[EXPECTED])


def of(effect_pct, half_pct, declared=(EXPECTED,), facts=FACTS, sessions=3, **changes):
    measured = runs(sessions)
    (row,) = judged(comparison(measured, effect_pct, half_pct, **changes), measured, list(declared), facts).to_dict(
        "records"
    )
    return row


@pytest.mark.parametrize(("effect_pct", "half_pct", "expected"), [
    (-4.0, 0.9, "supported"),
    (-2.5, 1.5, "supported"),
    (4.0, 0.9, "contradicted"),
    (-1.2, 0.5, "too small to matter"),
    (-0.3, 1.0, "too small to matter"),
    (-1.8, 0.9, "undecided"),
    (-3.0, 4.0, "undecided"),
])  # fmt: skip
def test_the_outcome(effect_pct, half_pct, expected):
    row = of(effect_pct, half_pct)
    assert row["outcome"] == expected, row["sentence"]
    stated = ". Expected: mtp has at least 2.0 % lower mean TPOT than base"
    assert row["sentence"].startswith(expected.capitalize() + stated)


def test_the_sentence_says_when_all_of_the_interval_is_beyond_the_smallest_effect():
    assert "whole interval" in of(-4.0, 0.9)["sentence"]
    assert "whole interval" not in of(-2.5, 1.5)["sentence"]


def test_one_session_decides_nothing_and_a_failed_run_refuses():
    assert of(-4.0, None, sessions=1)["outcome"] == "undecided"
    assert of(-4.0, 0.9, incomplete_runs=1)["outcome"] == "refused"


def test_a_factor_of_two_needs_no_second_session():
    row = of(-60.0, None, sessions=1, worst_ratio=2.4)
    assert (row["level"], row["outcome"]) == ("SOLID-SCALE", "supported")
    assert of(150.0, None, sessions=1, worst_ratio=2.4)["outcome"] == "contradicted"


def test_an_order_that_is_not_balanced_decides_nothing():
    assert of(-0.3, 0.5, balanced=False, equivalent=False)["outcome"] == "undecided"


def test_equivalence_by_a_margin_wider_than_the_smallest_effect_decides_nothing():
    fine = EXPECTED | {"smallest_effect": 0.01}
    assert of(-0.4, 0.8, [fine], booking(hypotheses=[fine]))["outcome"] == "undecided"


def test_what_was_not_frozen_is_exploratory_and_not_judged():
    row = of(-4.0, 0.9, declared=[])
    assert row["outcome"] == "exploratory" and row["level"] == "SOLID"
    assert row["sentence"].startswith("Not declared before measuring, so exploratory. Expected: mtp has at least 2.0 %")


def test_what_was_frozen_counts_whatever_the_booking_file_says_now():
    easier = EXPECTED | {"smallest_effect": 0.001}
    measured = runs()
    found = judged(comparison(measured, -1.2, 0.5), measured, [EXPECTED], booking(hypotheses=[easier]))
    assert list(found["outcome"]) == ["too small to matter", "exploratory"]
    renamed = booking(hypotheses=[EXPECTED | {"name": "other", "because": None}])
    assert len(judged(comparison(measured), measured, [EXPECTED], renamed)) == 1, "only its terms decide"


def test_no_such_runs():
    elsewhere = EXPECTED | {"concurrency": [64]}
    row = of(-4.0, 0.9, [elsewhere], booking())
    assert row["outcome"] == "not measured" and "Next: measure both arms there." in row["sentence"]
    assert row["sentence"].startswith("Not measured. Expected: mtp has at least")


ENDS = st.tuples(st.floats(-20, 20), st.floats(0.01, 10))


@given(st.sampled_from(["SOLID", "EQUIVALENT", "WITHIN NOISE", "UNREPLICATED", "CONFOUNDED", "REFUSED", "SOLID-SCALE"]),
       ENDS, st.floats(0.1, 10), st.sampled_from(["higher", "lower"]))  # fmt: skip
def test_supported_only_by_solid_and_never_both_ways(level, ends, smallest_pct, direction):
    effect_pct, half = ends
    row = {"effect_pct": effect_pct, "holm_low_pct": effect_pct - half, "holm_high_pct": effect_pct + half,
           "balanced": True, "equivalence_margin_pct": 2.0, "runs": 3, "baseline_runs": 3,
           "incomplete_runs": 0}  # fmt: skip
    found = outcome(level, row, direction, smallest_pct)
    other = outcome(level, row, "lower" if direction == "higher" else "higher", smallest_pct)
    if "supported" in (found, other):
        assert level in ("SOLID", "SOLID-SCALE")
        assert "contradicted" in (found, other)
