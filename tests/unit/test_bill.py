"""The bill: every second of a session belongs to one item, and what nobody recorded stays missing."""

from __future__ import annotations

import frames
import pandas as pd
import pytest
from benchbook.claims import bill
from hypothesis import given, settings
from hypothesis import strategies as st

T0 = 1.7e9


def booking(arms=("baseline", "eager"), usd_per_hour=64.0):
    return {"arms": [{"name": arm} for arm in arms], "node": {"price_usd_per_hour": usd_per_hour}}


def made(**options):
    tables = frames.make(**options)
    return tables, bill.table(tables["sessions"], tables["timeline"], tables["runs"], booking())


def value(frame, item, column="time_s", arm=None):
    mine = frame[(frame["item"] == item) & (frame["arm"].isna() if arm is None else frame["arm"] == arm)]
    return mine[column].item()


def test_a_booking_with_a_failed_boot_and_a_failed_run():
    tables, frame = made()
    sessions, runs = tables["sessions"], tables["runs"]
    assert value(frame, bill.FAILED_BOOTS) == pytest.approx(33.0)
    assert value(frame, bill.FAILED_BOOTS, "usd") == pytest.approx(64 * 33 / 3600)
    assert value(frame, bill.FAILED_BOOTS, "sessions") == 1
    good = runs[runs["status"] == "ok"]
    assert value(frame, bill.MEASURED) == pytest.approx((good["t_end_s"] - good["t_start_s"]).sum())
    bad = runs[runs["status"] != "ok"]
    assert len(bad) == 1 and value(frame, bill.FAILED_RUNS) == pytest.approx((bad["t_end_s"] - bad["t_start_s"]).sum())
    assert value(frame, bill.ALL) == pytest.approx(sessions["wall_s"].sum())
    assert value(frame, bill.ALL, "tokens") == good["output_tokens"].sum()
    all_in = 1e6 * 64 * sessions["wall_s"].sum() / 3600 / good["output_tokens"].sum()
    assert value(frame, bill.ALL, "usd_per_mtok") == pytest.approx(all_in)
    assert "between sessions" in value(frame, bill.ALL, "note")


def test_items_add_up_for_all_arms_and_for_each():
    _, frame = made()
    for arm in (None, "baseline", "eager"):
        for column in ("time_s", "usd", "share"):
            items = [value(frame, item, column, arm) for item in bill.ITEMS]
            assert sum(items) == pytest.approx(value(frame, bill.ALL, column, arm))
    assert value(frame, bill.ALL, "share") == 1


def test_without_a_price_time_stands_and_money_is_missing():
    tables = frames.make()
    frame = bill.table(tables["sessions"], tables["timeline"], tables["runs"], booking(usd_per_hour=None))
    assert frame["time_s"].notna().all() and frame["usd"].isna().all() and frame["usd_per_mtok"].isna().all()


def test_a_session_without_an_end_leaves_the_whole_unknown():
    tables = frames.make()
    lost = tables["sessions"]["slot"] == "s2"
    tables["sessions"].loc[lost, ["status", "wall_s"]] = ["set-aside", None]
    frame = bill.table(tables["sessions"], tables["timeline"], tables["runs"], booking())
    assert pd.isna(value(frame, bill.ALL)) and pd.isna(value(frame, bill.ALL, "usd_per_mtok"))
    assert pd.isna(value(frame, bill.IDLE)) and "provider's bill" in value(frame, bill.ALL, "note")
    assert value(frame, bill.ALL, arm="baseline") > 0
    assert value(frame, bill.WARMUPS) > 0
    kept = tables["runs"][(tables["runs"]["status"] == "ok") & (tables["runs"]["slot"] != "s2")]
    assert value(frame, bill.MEASURED, "tokens") == kept["output_tokens"].sum()


def test_no_session_no_bill():
    tables = frames.make()
    assert bill.table(tables["sessions"].iloc[:0], tables["timeline"], tables["runs"], booking()).empty


ONE = frames.make(repeats=1, boots=1, concurrency=(4,), failures=False)
SPANS = st.lists(st.tuples(st.sampled_from(["boot", "client", "warmup", "run", "teardown"]), st.floats(-5, 200),
                           st.floats(0, 90), st.booleans()), max_size=8)  # fmt: skip


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(SPANS, st.floats(0.1, 180)), min_size=1, max_size=3))
def test_every_second_belongs_to_one_item(drawn):
    """Whatever was recorded: phases that overlap, that start before the launch or end after the session."""
    sessions, timeline = [], []
    for index, (spans, wall_s) in enumerate(drawn):
        about = {"session_id": f"x{index}", "slot": f"s{index}", "arm": "baseline"}
        sessions.append({**ONE["sessions"].iloc[0].to_dict(), **about, "t_launch_s": T0 + 500 * index,
                         "boot_s": None, "wall_s": wall_s})
        timeline += [{**about, "phase": phase, "label": f"{phase}{n}", "concurrency": None, "ok": ok,
                      "t_start_s": T0 + 500 * index + start, "t_end_s": T0 + 500 * index + start + length}
                     for n, (phase, start, length, ok) in enumerate(spans)]  # fmt: skip
    frame = bill.table(frames.frame("sessions", sessions), frames.frame("timeline", timeline), ONE["runs"],
                       booking(()))
    items = [value(frame, item) for item in bill.ITEMS]
    assert min(items) >= 0
    assert sum(items) == pytest.approx(value(frame, bill.ALL), abs=1e-4)
    assert value(frame, bill.ALL) == pytest.approx(sum(wall for _, wall in drawn), abs=1e-4)
