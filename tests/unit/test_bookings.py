"""Bookings side by side: nothing is claimed across fewer than three of each side, and nothing of unlike ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import claimruns
import frames
import numpy as np
import pandas as pd
import pytest
from benchbook.bookings import across, sides
from benchbook.bookings.taken import TABLES, Taken, folder, read
from benchbook.derive import sweep
from benchbook.errors import ConfigError, TableError
from benchbook.present import compared, figure_comparisons, figure_sweep

METRICS = ["throughput_tok_s"]


def taken(name: str, side: str, *, effect: float = 0.0, day: int = 0, seed: int = 0, **about: Any) -> Taken:
    """A booking of one arm with three boots; `effect` on ln of its metrics, `about` replaces model or workload."""
    runs = claimruns.runs("aaa", effects={"a": effect}, repeat_sigma=0.01, boot_sigma=0.01, first_day=day, seed=seed)
    sessions = frames.make(("a",), boots=3)["sessions"]
    claims = {
        **claimruns.booking("a", metrics=METRICS), "model": {"name": "m", "config": None, "sizes": {}},
        "workload": {"kind": "random", "content": {"input_tokens": 256}, "concurrency": [8], "repeats": 3},
        "schedule": {"order": "ABBA", "sessions_per_arm": 3, "cold_boot": True},
        "node": {"name": "n", "kind": "k", "gpus": 0, "price_usd_per_hour": None},
        "thresholds": {"steady_window_min_s": 30.0, "little_pass": 0.01}, **about,
    }  # fmt: skip
    return Taken(name, side, runs, sessions, claims, "0" * 64)


def judged(*items: Taken) -> Any:
    _, verdicts = across.compared(items, "x")
    return verdicts.iloc[0]


def interleaved(count: int, effect: float, sigma: float = 0.0, seed: int = 0, **options: Any) -> list[Taken]:
    """`count` bookings of each side, taking turns day by day (old new new old ...), each with a draw of its own."""
    random = np.random.default_rng(seed)
    order = (["old", "new", "new", "old"] * count)[: 2 * count]
    return sorted((
        taken(f"{side}-{day}", side, effect=effect * (side == "new") + random.normal(0, sigma), day=day,
              seed=int(random.integers(10**6)), **options)
        for day, side in enumerate(order)
    ), key=lambda one: one.side != "old")  # fmt: skip


def test_one_booking_a_side_claims_nothing_however_many_boots_it_has():
    found = judged(taken("one", "old"), taken("two", "new", effect=0.3, day=1))
    assert found["level"] == "CONFOUNDED" and found["because"] == "BOOKING"
    assert "no difference can be claimed" in found["sentence"]
    assert "book each side 3 times (new 2 more, old 2 more)" in found["replicate"]
    assert not re.search(r"higher|lower|better|worse", found["sentence"])


def test_three_bookings_of_each_side_in_turns_may_carry_a_claim():
    found = judged(*interleaved(4, 0.2, sigma=0.01))
    assert found["level"] == "SOLID" and "higher throughput" in found["sentence"]
    assert judged(*interleaved(2, 0.2, sigma=0.01))["because"] == "BOOKING"


def test_a_tag_on_one_run_of_one_booking_confounds():
    items = interleaved(4, 0.2, sigma=0.01)
    items[0].runs.loc[0, "tags"] = "UNWARMED"
    found = judged(*items)
    assert found["level"] == "CONFOUNDED" and "UNWARMED" in found["because"]


def test_all_of_one_side_before_the_other_cannot_be_told_from_drift():
    before = [taken(f"o{day}", "old", day=day, seed=day) for day in range(3)]
    after = [taken(f"n{day}", "new", effect=0.2, day=10 + day, seed=day) for day in range(3)]
    assert judged(*before, *after)["level"] == "WITHIN NOISE"


@pytest.mark.parametrize(("about", "what"), [
    ({"model": {"name": "other", "config": None, "sizes": {}}}, "models"),
    ({"workload": {"kind": "random", "content": {"input_tokens": 64}, "concurrency": [8], "repeats": 3}}, "workloads"),
])  # fmt: skip
def test_unlike_bookings_are_refused(about, what):
    found = judged(taken("one", "old"), taken("two", "new", day=1, **about))
    assert found["level"] == "REFUSED" and found["because"] == f"the bookings ran different {what}"


def test_equal_sides_are_claimed_apart_in_one_of_twenty_at_most():
    solid = sum(judged(*interleaved(3, 0.0, sigma=0.02, seed=seed))["level"] == "SOLID" for seed in range(40))
    assert solid <= 5, "5 % of 40, and two standard errors"


def test_two_nodes_may_boot_in_the_same_second():
    runs = across.pooled([taken("one", "old"), taken("two", "new")])
    assert runs["run_id"].is_unique and set(runs["arm"]) == {"a on old", "a on new"}


@pytest.mark.parametrize(("given", "sentence"), [
    ("a", "name two sides at least"), ("a,a", "name two sides at least"), ("../x,b", "cannot be the name of a booking"),
])  # fmt: skip
def test_sides_that_cannot_be(given, sentence):
    with pytest.raises(ConfigError, match=sentence):
        sides.of_list(given)


def test_sides_of_a_list_and_of_a_file(tmp_path):
    assert sides.of_list("[a,b]") == sides.of_list("a, b") == {"a": ["a"], "b": ["b"]}
    file = tmp_path / "config/compared/x.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("title: t\nsides: {old: [a, b], new: [c]}\n")
    assert sides.of_file(tmp_path, "x") == ("t", "", {"old": ["a", "b"], "new": ["c"]})
    wrong = {"sides: {old: [a, b], new: [a]}": "named twice", "side: 1": "give title", "{": "no YAML"}
    for text, sentence in wrong.items():
        file.write_text(text)
        with pytest.raises(ConfigError, match=sentence):
            sides.of_file(tmp_path, "x")
    with pytest.raises(ConfigError, match="does not exist; create it"):
        sides.of_file(tmp_path, "../y")


def test_what_only_some_bookings_have_on_record_is_no_difference():
    one, two = taken("one", "old"), taken("two", "new", day=1)
    two.sessions["kernel"] = pd.array([None] * len(two.sessions), dtype="string")
    found = across.bookings([one, two])
    assert "kernel" not in compared._differing(found) and "kernel" in compared._unknown(found)


def test_the_page_says_what_differs_and_no_more_than_the_levels_allow(tmp_path):
    items = [taken("one", "old"), taken("two", "<b>new</b>", effect=0.3, day=1,
                                         model={"name": "<i>m</i>", "config": None, "sizes": {}},
                                         thresholds={"steady_window_min_s": 5.0, "little_pass": 0.01})]  # fmt: skip
    runs = across.pooled(items)
    found, verdicts = across.compared(items, "x")
    tables = {"runs": runs, "sweep": sweep.table(runs, list(dict.fromkeys(runs["arm"]))), "comparisons": found,
              "verdicts": verdicts, "bookings": across.bookings(items)}  # fmt: skip
    figure_sweep.draw(tables["sweep"], runs, tmp_path / "sweep.svg", arms=list(dict.fromkeys(runs["arm"])))
    figure_comparisons.draw(found, verdicts, tmp_path / "comparisons.svg")
    sidecar = {"rule": "across", "script": "scripts/across.py", "code_fingerprint": "0" * 64, "run_ids": [],
               "inputs": {}}  # fmt: skip
    names = [*tables, *compared.SHOWN]
    html = compared.render(compared.ComparedInput(
        "one+two", "one against two", "", {"old": ["one"], "<b>new</b>": ["two"]}, tables,
        {name: (tmp_path / f"{name.removeprefix('figure_')}.svg").read_text() for name in compared.SHOWN},
        {name: sidecar for name in names}, "Benchbook"))  # fmt: skip
    assert "They differ in model, limits;" in html and "steady_window_min_s 5.0" in html and "little_pass" not in html
    assert "REFUSED" in html and "<b>new</b>" not in html and "<i>m</i>" not in html
    assert not re.search(r"higher throughput|lower throughput", html)
    assert 'data-address="bookings:two:model"' in html and "DRAFT" not in html


def test_the_newest_tables_are_taken_which_are_those_of_results(tmp_path):
    for place in ("reports/b/tables", "results/b/tables"):
        (tmp_path / place).mkdir(parents=True)
        for name in TABLES:
            (tmp_path / place / f"{name}.parquet").touch()
    assert folder(tmp_path, "b") == Path("results/b/tables")
    (tmp_path / "results/b/tables/runs.parquet").unlink()
    assert folder(tmp_path, "b") == Path("reports/b/tables")


def test_tables_of_other_code_are_named_with_their_booking(tmp_path):
    for name in TABLES:
        pd.DataFrame({"x": [1]}).to_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(TableError, match=r"booking b: .* was made by other code"):
        read(tmp_path, "b", "one")
