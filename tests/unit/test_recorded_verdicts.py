"""The H200 recording to verdicts: one boot, no warmup at what was measured. Nothing small may be claimed of it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from benchbook import rawdata, schema
from benchbook.adopt import recording, session
from benchbook.claims import comparisons, next_experiments, noise, repeatability, verdicts
from benchbook.claims.levels import CONFOUNDED, SOLID_SCALE, UNREPLICATED
from benchbook.config import spec
from benchbook.config.claims_facts import claims_facts
from benchbook.config.load import load_booking
from benchbook.derive import bench, boot, sessions, warmup
from benchbook.errors import TableError

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Facts of the booking, and tables runs, sessions and timeline of its one session."""
    booking, store = load_booking(ROOT, "h200-recorded"), tmp_path_factory.mktemp("store")
    (specification,) = spec.session_specs(booking, ROOT)
    manifest = session.adopt(recording.read(ROOT / "recordings" / "h200-qwen3moe", "s1"), specification, store)
    raw = rawdata.sessions(manifest, store)
    facts = claims_facts(booking)
    _, _, runs = bench.tables(raw, warmup.table(raw), facts["thresholds"], [])
    known = zip(raw, boot.facts(raw), strict=True)
    table = sessions.table([sessions.row(one, facts_of, runs, []) for one, facts_of in known])
    return facts, runs, table, sessions.timeline(raw)


def test_facts_that_older_code_derived_are_refused_with_what_to_do(recorded, tmp_path):
    booking, (_, runs, *_) = load_booking(ROOT, "h200-recorded"), recorded
    (specification,) = spec.session_specs(booking, ROOT)
    manifest = session.adopt(recording.read(ROOT / "recordings" / "h200-qwen3moe", "s1"), specification, tmp_path)
    raw = rawdata.sessions(manifest, tmp_path)
    (known,) = boot.facts(raw)
    older = {**known, "facts": {name: fact for name, fact in known["facts"].items() if name != "graph_tokens_max"}}
    with pytest.raises(TableError, match=r"lacks graph_tokens_max.*derived and run again"):
        sessions.row(raw[0], older, runs, [])


def claims(facts, runs):
    own, prior = noise.table(runs, facts["clients"], facts["id"], "k"), noise.prior([])
    compared = comparisons.table(runs, facts, [], prior)
    spread = repeatability.table(runs, facts["clients"], own, prior)
    others = [schema.empty(name) for name in ("fixed_cost", "toll", "floor", "occupancy")]
    return compared, verdicts.table(runs, compared, spread, *others, facts)


def test_a_figure_of_one_boot_that_was_not_warm_is_confounded_and_says_all_it_lacks(recorded):
    facts, runs, *_ = recorded
    _, found = claims(facts, runs)
    values = found[found["kind"] == "value"]
    assert len(values) >= 15 and set(values["level"]) == {CONFOUNDED}
    assert values["because"].str.contains("UNWARMED").all()
    assert values["replicate"].str.contains("warm up at this concurrency").all()
    assert values["replicate"].str.endswith("boot the arm 2 more times (sessions_per_arm: 3)").all()


def test_what_scales_by_more_than_a_factor_of_two_is_solid_all_the_same(recorded):
    facts, runs, *_ = recorded
    _, found = claims(facts, runs)
    (scale,) = found[found["kind"] == "scale"].to_dict("records")
    assert scale["level"] == SOLID_SCALE and "UNWARMED" in scale["because"]


def test_had_it_been_warm_every_value_would_lack_boots(recorded):
    facts, runs, *_ = recorded
    _, found = claims(facts, runs.assign(tags=""))
    values = found[found["kind"] == "value"]
    assert set(values["level"]) == {UNREPLICATED} and set(values["because"]) == {"1 boot of 3"}
    assert set(values["replicate"]) == {"boot the arm 2 more times (sessions_per_arm: 3)"}


def test_two_arms_of_one_boot_are_unreplicated(recorded):
    """The recording beside a copy of itself under another name: the same figures, so nothing to tell apart."""
    facts, runs, *_ = recorded
    copy = runs.assign(arm="other", session_id=runs["session_id"] + "-b", run_id=runs["run_id"] + "-b")
    both = pd.concat([runs, copy], ignore_index=True).assign(tags="")
    two = facts | {"arms": [*facts["arms"], {"name": "other", "server_args": {}}]}
    compared, found = claims(two, both)
    mine = found[found["kind"] == "comparison"]
    assert len(mine) == 15 == (compared["question"] == "arms").sum()
    assert set(mine["level"]) == {UNREPLICATED}
    assert mine["sentence"].str.contains("Next: boot each arm 2 more times (sessions_per_arm: 3).", regex=False).all()


def test_what_to_run_next_is_costed_from_the_recording(recorded):
    facts, runs, table, timeline = recorded
    compared, found = claims(facts, runs)
    listed = next_experiments.table(found, compared, table, timeline, facts, runs)
    first = listed.iloc[0]
    assert first["rank"] == 1 and first["claims"] == (found["level"] == CONFOUNDED).sum()
    assert "UNWARMED" in first["experiment"] and first["sessions"] == 3
    spent = timeline[timeline["phase"] == "run"]
    runs_s = (spent["t_end_s"] - spent["t_start_s"]).sum()
    assert first["time_s"] > 3 * (table["boot_s"].iloc[0] + runs_s)
    assert listed["usd"].isna().all(), "the node has no price"
