from __future__ import annotations

from benchbook.config import schedule
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5, unique=True)


def arms_of(places):
    return "".join(place.arm for place in places)


def test_the_order_of_two_arms():
    assert arms_of(schedule.slots(["A", "B"], 2, "ABBA")) == "ABBA"
    assert arms_of(schedule.slots(["A", "B"], 4, "ABBA")) == "ABBABAAB"
    assert arms_of(schedule.slots(["A", "B"], 2, "blocked")) == "AABB"


@given(NAMES, st.integers(1, 6), st.sampled_from(["ABBA", "blocked"]))
def test_every_arm_gets_its_sessions_and_every_place_its_own_name(arms, sessions, order):
    places = schedule.slots(arms, sessions, order)
    assert sorted(arms_of(places)) == sorted(arms * sessions)
    assert [place.position for place in places] == list(range(1, len(places) + 1))
    assert len({place.name for place in places}) == len(places)


@given(NAMES, st.sampled_from([2, 4, 6]))
def test_no_arm_gets_the_early_places(arms, sessions):
    places = schedule.slots(arms, sessions, "ABBA")
    means = {arm: sum(p.position for p in places if p.arm == arm) / sessions for arm in arms}
    assert len(set(means.values())) == 1, "equal mean place: a linear drift cancels"


@given(st.integers(0, 9), st.lists(st.integers(1, 4096), min_size=1, max_size=12, unique=True))
def test_seeds_are_the_same_for_all_arms_and_never_twice_on_a_server(base, levels):
    def seeds(booking):
        return [schedule.seed(booking, base, level, phase, n)
                for level in levels for phase in ("warmup", "run") for n in range(1, 11)]  # fmt: skip

    assert seeds("b") == seeds("b") != seeds("c")
    assert len(set(seeds("b"))) == len(seeds("b"))
    assert all(0 <= value < 2**31 for value in seeds("b"))
