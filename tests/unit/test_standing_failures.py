"""Which failures still stand at the end."""

from __future__ import annotations

import pandas as pd
from benchbook.derive import failures


def unexpected(sessions, runs):
    """`sessions`: (id, slot, status, expected, reboot_of); `runs`: (session, slot, name, status, expected)."""
    columns = ["session_id", "slot", "status", "expected_failure", "reboot_of"]
    session_table = pd.DataFrame(sessions, columns=columns).assign(reason="why")
    run_table = pd.DataFrame(runs, columns=["session_id", "slot", "name", "status", "expected_failure"])
    run_table["run_id"] = run_table["session_id"] + "/" + run_table["name"]
    run_table = run_table.assign(reason="why", spare=run_table["name"].str.startswith("spare"),
                                 replaced=run_table["name"].str.startswith("replaced"))  # fmt: skip
    return [name for name, _ in failures.unexpected(session_table, run_table)]


def test_nothing_failed():
    assert unexpected([("1", "s1", "complete", False, None)], [("1", "s1", "r", "ok", False)]) == []


def test_an_expected_failure_does_not_stand():
    assert unexpected([("1", "s1", "failed", True, None)], [("1", "s1", "r", "missing", True)]) == []


def test_a_second_boot_does_not_settle_a_death_but_a_retry_does():
    died = [("1", "s1", "failed", False, None), ("2", "s1", "complete", False, "1")]
    runs = [("1", "s1", "r", "failed", False), ("2", "s1", "r", "ok", False)]
    assert unexpected(died, runs) == ["1", "1/r"]
    assert unexpected([*died, ("3", "s1", "complete", False, None)], [*runs, ("3", "s1", "r", "ok", False)]) == []


def test_a_success_in_another_place_settles_nothing():
    sessions = [("1", "s1", "complete", False, None), ("2", "s2", "complete", False, None)]
    assert unexpected(sessions, [("1", "s1", "r", "failed", False), ("2", "s2", "r", "ok", False)]) == ["1/r"]


def test_runs_measured_once_more_and_those_they_replaced_are_not_asked_for_again():
    runs = [("1", "s1", "spare_r4", "failed", False), ("1", "s1", "replaced_r1", "failed", False)]
    assert unexpected([("1", "s1", "complete", False, None)], runs) == []
    assert unexpected([("1", "s1", "complete", False, None)], []) == []


def test_a_session_set_aside_is_no_failure():
    assert unexpected([("1", "s1", "set-aside", False, None)], [("1", "s1", "r", "ok", False)]) == []
