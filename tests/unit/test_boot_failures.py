"""What derive makes of a failed session: the log's cause with the evidence that the session itself has."""

from __future__ import annotations

import json

import pytest
from benchbook.derive import boot
from benchbook.rawdata import RawSession

SILENT = (
    "(APIServer pid=1) INFO 06-01 10:00:00 [a.py:1] vLLM API server version 0.26.0\n"
    "(EngineCore pid=2) INFO 06-01 10:00:05 [c.py:1] Initializing a V1 LLM engine (v0.26.0) with config: x\n"
)
EXITED = "the server exited with code -9 before it was ready"


def session_of(folder, log, reason=EXITED, what="boot", **evidence):
    folder.mkdir()
    (folder / "server.log").write_text(log)
    failure = {"what": what, "reason": reason, **evidence}
    (folder / "session.json").write_text(json.dumps({"reason": reason, "failure": failure}))
    return RawSession(folder, "failed")


def failure_of(*args, **kwargs):
    return boot.facts([session_of(*args, **kwargs)])[0]["failure"]


@pytest.mark.parametrize(("reason", "evidence", "name"), [
    (EXITED, {"exit_code": -9, "oom_kills": 0}, "silent_stop"),
    (EXITED, {"exit_code": -9, "oom_kills": None}, "silent_stop"),
    (EXITED, {"exit_code": -9, "oom_kills": 2}, "host_oom_killed"),
    ("the server was not ready within 600 s", {"exit_code": None, "oom_kills": 0}, "not_ready"),
    ("port 8000 is in use by another process", {}, "port_in_use"),
    ("/opt/x/bin/python cannot be started: no such file", {}, "no_command"),
])  # fmt: skip
def test_a_log_that_just_stops(tmp_path, reason, evidence, name):
    found = failure_of(tmp_path / "20260601-100000", SILENT, reason, **evidence)
    assert found["failure_class"] == name and found["remedy"]
    assert found["exit_code"] == evidence.get("exit_code")


def test_the_log_has_the_first_word(tmp_path):
    cause = "(EngineCore pid=2) ERROR 06-01 10:00:09 [c.py:1] ValueError: No available memory for the cache blocks."
    found = failure_of(tmp_path / "20260601-100000", SILENT + cause, oom_kills=1)
    assert (found["failure_class"], found["phase"]) == ("no_kv_memory", "kv_allocation")


def test_a_server_that_did_not_fail_has_no_failure(tmp_path):
    (found,) = boot.facts([session_of(tmp_path / "20260601-100000", SILENT, "the client died", what="client")])
    assert found["failure"] is None and found["facts"]["version"] == "0.26.0"
