"""Which cores a server is pinned to, and whether /proc shows it there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from benchbook.derive import sessions
from benchbook.measure import cpu_set
from hypothesis import given
from hypothesis import strategies as st


def topology(folder, siblings):
    for number, text in siblings.items():
        place = folder / f"cpu{number}/topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(text + "\n")
    return folder


def test_one_thread_of_every_core_comes_first(tmp_path):
    adjacent = topology(tmp_path / "a", {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"})
    assert cpu_set.choose(2, range(4), adjacent) == [0, 2]
    assert cpu_set.choose(3, range(4), adjacent) == [0, 1, 2]
    apart = topology(tmp_path / "b", {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})
    assert cpu_set.choose(2, range(4), apart) == [0, 1]
    assert cpu_set.choose(2, {5, 9, 12}, tmp_path / "no topology") == [5, 9]


def test_too_few_cores_are_refused_with_both_numbers():
    with pytest.raises(cpu_set.TooFewCores, match=r"8 cores were asked for, and this process may use 3 \(0-1,5\)"):
        cpu_set.choose(8, {0, 1, 5})


@given(st.sets(st.integers(0, 300), min_size=1))
def test_the_kernels_list_form_comes_back(numbers):
    assert cpu_set.parsed(cpu_set.spelled(numbers)) == sorted(numbers)


def test_a_process_started_inside_is_pinned_and_this_one_is_not():
    before = os.sched_getaffinity(0)
    cpus = cpu_set.choose(1)
    with cpu_set.pinned(cpus):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        assert os.sched_getaffinity(0) == before
        seen = cpu_set.seen(child.pid)
        assert seen["threads"] >= 1 and seen["cpus"] == cpus
        assert cpu_set.held(cpus, seen) and cpu_set.held([max(before) + 1], seen) is False
    finally:
        child.communicate(b"\n")
    assert cpu_set.held(cpus, cpu_set.seen(child.pid)) is None, "nobody is there to be seen"


@pytest.mark.parametrize(("ready", "end", "held"), [
    ([0, 1], [0, 1], True), ([0], [0, 1, 2], False), ([0, 1], None, True), (None, None, None), ([0, 1], [], True),
])  # fmt: skip
def test_a_session_stayed_on_its_cores_when_nothing_was_seen_elsewhere(ready, end, held):
    noted = {"asked": 2, "cpus": [0, 1], "ready": ready and {"threads": 9, "cpus": ready},
             "end": None if end is None else {"threads": len(end), "cpus": end}}  # fmt: skip
    assert sessions._cpu_set(noted) == {"server_cpus": 2, "server_cpus_held": held}
    assert sessions._cpu_set(None) == {"server_cpus": None, "server_cpus_held": None}
