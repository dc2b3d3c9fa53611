"""The rules of method.md 10: its four holes, its applied examples, and what holds for every claim."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchbook.claims import remedies
from benchbook.claims.levels import (
    CONFOUNDED,
    EQUIVALENT,
    ORDER,
    REFUSED,
    SOLID,
    SOLID_SCALE,
    UNREPLICATED,
    WITHIN_NOISE,
    Claim,
    level,
)
from benchbook.columns.metrics import METRICS
from benchbook.derive import tags
from hypothesis import given
from hypothesis import strategies as st

REPLICATED = Claim("comparison", sessions=3, runs=9, effect_pct=-4.0, interval=(-4.9, -3.1), worst_ratio=1.02)
TTFT, TPOT = METRICS["ttft_mean_ms"].voided_by, METRICS["tpot_mean_ms"].voided_by
ALL_TAGS = sorted({*tags.ORDER, "REGIME"})


def of(claim=REPLICATED, **changes):
    return level(replace(claim, **changes))[0]


def test_each_level_by_its_rule():
    assert level(REPLICATED) == (SOLID, None)
    assert level(replace(REPLICATED, interval=(-8.0, 0.3))) == (WITHIN_NOISE, "the interval includes 0")
    assert of(interval=(-1.4, 0.6), effect_pct=-0.4, equivalent=True) == EQUIVALENT
    assert level(replace(REPLICATED, sessions=2)) == (UNREPLICATED, "2 boots of 3")
    assert level(replace(REPLICATED, tags=frozenset({"UNWARMED"}))) == (CONFOUNDED, "UNWARMED")
    assert level(replace(REPLICATED, incomplete=1)) == (REFUSED, "INCOMPLETE: 1 run failed or fell short")
    assert of(worst_ratio=2.0, sessions=1, runs=1, interval=None) == SOLID_SCALE


def test_hole_1_one_run_of_each():
    assert of(sessions=1, runs=1, interval=None) == UNREPLICATED


def test_hole_2_a_baseline_after_a_stalled_warmup_confounds_whatever_uses_it():
    assert level(replace(REPLICATED, tags=frozenset({"UNWARMED"}))) == (CONFOUNDED, "UNWARMED")
    assert of(tags=frozenset({"UNWARMED"}), sessions=1, runs=1) == CONFOUNDED, "the tag is named before the count"


def test_hole_3_sides_of_different_bookings():
    assert level(replace(REPLICATED, bookings=1)) == (CONFOUNDED, "BOOKING")
    assert level(replace(REPLICATED, bookings=2, tags=frozenset({"CLIENT"}))) == (CONFOUNDED, "CLIENT, BOOKING")
    assert of(bookings=3) == SOLID


def test_hole_4_a_bimodal_ttft_is_refused_and_its_tpot_is_not():
    bimodal = replace(REPLICATED, tags=frozenset({"BIMODAL"}))
    assert level(replace(bimodal, voided_by=TTFT)) == (REFUSED, "BIMODAL")
    assert level(replace(bimodal, voided_by=TPOT)) == (CONFOUNDED, "BIMODAL")


def test_the_applied_examples():
    """33.2 times throughput, one run each; an effect of -1.4 to -2.7 % of one boot each; one of +6.3 % against a
    baseline that was not warm."""
    scale = Claim("scale", sessions=1, runs=1, effect_pct=3220.0, worst_ratio=33.2)
    assert level(scale)[0] == SOLID_SCALE
    assert level(replace(scale, tags=frozenset({"UNWARMED"}))) == (
        SOLID_SCALE, "in spite of UNWARMED, which does not move it by a factor of 2")  # fmt: skip
    assert level(replace(scale, tags=frozenset({"UNWARMED", "CACHED"})))[1] == (
        "in spite of CACHED, UNWARMED, which do not move it by a factor of 2")  # fmt: skip
    for effect in (-1.4, -2.7):
        assert level(Claim("comparison", sessions=1, runs=1, effect_pct=effect, worst_ratio=1.02))[0] == UNREPLICATED
    unwarmed = frozenset({"UNWARMED"})
    assert level(Claim("comparison", unwarmed, sessions=1, runs=1, effect_pct=6.3))[0] == CONFOUNDED


def test_tags_that_void_a_fit_and_busy_time():
    fit = Claim("fit", sessions=3, runs=18, effect_pct=17.0, interval=(16.8, 17.2))
    assert level(fit)[0] == SOLID
    assert level(replace(fit, interval=(-1.0, 2.0)))[0] == WITHIN_NOISE
    assert level(replace(fit, tags=frozenset({"REGIME"}), voided_by=frozenset({"REGIME"}))) == (REFUSED, "REGIME")
    assert level(replace(fit, refused="too few points")) == (REFUSED, "too few points")


def test_tokens_that_the_client_counted_carry_no_small_effect():
    retokenized = replace(REPLICATED, tags=frozenset({"RETOKENIZED"}))
    assert of(retokenized, effect_pct=1.9) == REFUSED
    assert of(retokenized, effect_pct=-2.1) == CONFOUNDED


def test_more_in_flight_than_clients_refuses():
    assert of(impossible=1, worst_ratio=30.0) == REFUSED


def test_an_effect_too_small_and_an_order_that_is_not_balanced_are_no_claim():
    small = replace(REPLICATED, effect_pct=0.6, interval=(0.3, 0.9))
    assert level(small) == (WITHIN_NOISE, "the effect is below the smallest of interest")
    assert of(small, equivalent=True) == EQUIVALENT
    assert of(balanced=False) == WITHIN_NOISE


def test_two_boots_are_enough_only_where_that_is_asked():
    assert of(sessions=2, runs=6, sessions_needed=2) == SOLID
    assert of(sessions=2, runs=2, sessions_needed=2) == UNREPLICATED, "three runs are the least"


@pytest.mark.parametrize("tag", ALL_TAGS)
def test_every_tag_has_a_remedy(tag):
    assert tag in remedies.TAGS


ends = st.floats(-50, 50)
claims = st.builds(
    Claim,
    kind=st.sampled_from(["comparison", "scale", "value", "fit", "floor", "occupancy"]),
    tags=st.frozensets(st.sampled_from(ALL_TAGS), max_size=2),
    voided_by=st.sampled_from([frozenset(), *(frozenset({tag}) for tag in ("BIMODAL", "REGIME", "TELEM"))]),
    incomplete=st.sampled_from([0, 0, 0, 1]),
    impossible=st.sampled_from([0, 0, 0, 1]),
    refused=st.sampled_from([None, None, None, "too few points"]),
    bookings=st.sampled_from([None, None, 1, 3]),
    sessions=st.integers(0, 5),
    sessions_needed=st.integers(2, 4),
    runs=st.integers(0, 9),
    effect_pct=st.none() | ends,
    interval=st.none() | st.tuples(ends, ends).map(sorted).map(tuple),
    balanced=st.booleans(),
    equivalent=st.booleans(),
    worst_ratio=st.none() | st.floats(0.5, 40),
)


@given(claims)
def test_every_claim_has_exactly_one_level(claim):
    found, because = level(claim)
    assert found in ORDER
    assert found in (SOLID, SOLID_SCALE, EQUIVALENT) or because


@given(claims, st.sampled_from(ALL_TAGS))
def test_a_tag_never_raises_a_level(claim, tag):
    tagged = replace(claim, tags=claim.tags | {tag})
    assert ORDER.index(level(tagged)[0]) <= ORDER.index(level(claim)[0])


@given(claims)
def test_one_boot_is_never_solid_nor_equivalent(claim):
    assert level(replace(claim, sessions=1))[0] not in (SOLID, EQUIVALENT)


@given(claims, st.floats(0, 50), st.floats(0, 50))
def test_an_interval_around_zero_is_never_solid(claim, below, above):
    compared = replace(claim, kind="comparison", interval=(-below, above))
    assert level(compared)[0] != SOLID


@given(claims, st.floats(0, 20))
def test_solid_stays_solid_when_the_effect_moves_away_from_zero(claim, further):
    compared = replace(claim, kind="comparison")
    if level(compared)[0] != SOLID:
        compared = replace(REPLICATED, balanced=True)
    way = 1 if compared.effect_pct > 0 else -1
    if (compared.interval[0] > 0) != (way > 0):
        return
    moved = replace(compared, effect_pct=compared.effect_pct + way * further,
                    interval=tuple(end + way * further for end in compared.interval))  # fmt: skip
    assert level(moved)[0] == SOLID


@given(claims)
def test_what_failed_is_refused_whatever_the_ratio(claim):
    assert level(replace(claim, incomplete=2))[0] == REFUSED
