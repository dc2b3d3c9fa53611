"""What a session records when something breaks. The engine is the fake one; tests/engine does it on a real vLLM."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import specs
from benchbook.errors import SessionError, StoreError
from benchbook.measure import boot, guard, processes, session, specification, store
from benchbook.measure.progress import Told

pytestmark = pytest.mark.pipeline
ALL_RUNS = {"only_c1_r1", "only_c1_r2", "only_c2_r1", "only_c2_r2"}


def statuses(raw):
    return {record["run"]: record["status"] for record in raw.runs}


def test_a_session_leaves_everything_it_promises(measured):
    manifest, (raw,) = measured(specs.make())
    assert set(manifest["measured"]) == set(manifest["planned"]) == ALL_RUNS
    assert raw.status == "complete" and raw.ending["failure"] is None
    assert statuses(raw) == dict.fromkeys(ALL_RUNS, "ok")
    assert [event["phase"] for event in raw.events if event["phase"] not in ("warmup", "run")] == [
        "boot", "client", "teardown",
    ]  # fmt: skip
    assert {line["src"] for line in raw.telemetry} >= {"cpu", "proc", "metrics"}
    assert {role for line in raw.telemetry if line["src"] == "proc" for _, role, *_ in line["procs"]} == {
        "pipeline", "server", "client",
    }  # fmt: skip
    assert raw.environment["node"]["cores"] >= 1
    assert all(not path.stat().st_mode & 0o222 for path in raw.folder.rglob("*") if path.is_file())


def test_measuring_again_boots_nothing(measured):
    first, _ = measured(specs.make())
    again, sessions = measured(specs.make())
    assert again == first and len(sessions) == 1


def test_a_server_that_dies_in_a_run_is_booted_once_more_for_the_rest(measured, tmp_path):
    # 2 to 3 readings of one request, then two runs of two requests: request 6 falls into the first run's end or later
    env = {"FAKE_DIE_AT_REQUEST": "6", "FAKE_DIED_FLAG": str(tmp_path / "died")}
    manifest, (first, second) = measured(specs.make(env=env))
    assert first.status == "failed" and first.ending["failure"]["what"] == "run"
    assert "SIGKILL" in first.ending["reason"]
    (broken,) = [record for record in first.runs if record["status"] != "ok"]
    assert broken["failure_kind"] == "server_died" and "SIGKILL" in broken["reason"]
    assert second.status == "complete"
    assert set(manifest["measured"]) == ALL_RUNS - {broken["run"]}, "the run that it died in is not tried again"
    finished_first = {record["run"] for record in first.runs if record["status"] == "ok"}
    assert {record["run"] for record in second.runs} == ALL_RUNS - finished_first - {broken["run"]}
    assert second.ending["reboot_of"] == first.session_id


@pytest.mark.parametrize("client", ["native", "vllm-bench"])
def test_every_request_failed(measured, client):
    manifest, (raw,) = measured(specs.make(env={"FAKE_REFUSE": "1"}, clients=(client,)))
    assert manifest["measured"] == []
    assert raw.status == "complete", "the session went on: failed requests are a result"
    assert statuses(raw) == dict.fromkeys(ALL_RUNS, "failed")
    for record in raw.runs:
        assert record["failure_kind"] == "requests" and "HTTP" in record["reason"] and "400" in record["reason"]
        assert record["throughput_tok_s"] is None and record["tpot_mean_ms"] is None
    verdicts = [store.read_json(path) for path in raw.folder.glob("warmup/verdict_c*.json")]
    assert {verdict["verdict"] for verdict in verdicts} == {"UNWARMED"}


def test_a_pinned_server_is_seen_on_its_cores_at_the_beginning_and_at_the_end(measured):
    _, (raw,) = measured(specs.make(cpus=1))
    noted = raw.ending["cpu_set"]
    assert raw.status == "complete" and noted["asked"] == len(noted["cpus"]) == 1
    for when in ("ready", "end"):
        assert noted[when]["threads"] >= 1 and noted[when]["cpus"] == noted["cpus"]


def test_a_draft_models_directory_is_put_into_the_flags(measured, tmp_path):
    spec = specs.make(args={"speculative-config": '{"model": "{draft_model}"}', "max-num-seqs": 4}, readings=2)
    spec["draft_model"] = {"name": "draft", "path": ".models/draft-1", "local": True, "config": {}}
    spec["spec_hash"] = specification.spec_hash(spec)
    _, (raw,) = measured(spec)
    words = store.read_json(raw.folder / "command.json")["server"]
    place = json.loads(words[words.index("--speculative-config") + 1])["model"]
    assert Path(place).is_absolute() and place.endswith("/.models/draft-1")
    assert words[words.index("--max-num-seqs") + 1] == "4"


def test_a_server_that_sets_a_cpu_set_of_its_own_is_not_measured(measured, monkeypatch):
    monkeypatch.setattr(boot.cpu_set, "choose", lambda count: [0])
    monkeypatch.setattr(boot.cpu_set, "pinned", lambda cpus: contextlib.nullcontext())
    manifest, (raw,) = measured(specs.make(cpus=1))
    assert manifest["measured"] == [] and raw.ending["failure"]["what"] == "boot"
    assert "was started on cores 0, and its threads may run on 0-" in raw.ending["reason"]


def test_more_cores_than_there_are_is_a_boot_that_failed(measured):
    manifest, (raw,) = measured(specs.make(cpus=4096))
    assert manifest["measured"] == [] and raw.ending["failure"]["what"] == "boot"
    assert "4096 cores were asked for" in raw.ending["reason"] and "larger node" in raw.ending["reason"]
    assert not (raw.folder / "server.log").exists()


def test_an_occupied_port(measured):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        _, (raw,) = measured(specs.make(port=port))
    assert raw.status == "failed" and raw.ending["failure"]["what"] == "boot"
    assert f"port {port} is in use by another process" in raw.ending["reason"]


def test_a_bad_flag(measured):
    _, (raw,) = measured(specs.make(args={"no-such-flag": True}))
    assert raw.ending["failure"]["what"] == "boot" and raw.ending["failure"]["exit_code"] == 2
    assert "unrecognized arguments: --no-such-flag" in raw.ending["reason"]


def test_a_server_that_never_gets_ready(measured):
    _, (raw,) = measured(specs.make(env={"FAKE_BOOT": "hang"}, ready_s=1.0))
    assert "not ready within 1 s (limits.ready_s)" in raw.ending["reason"]


@pytest.mark.parametrize("client", ["native", "vllm-bench"])
def test_a_run_that_times_out_costs_that_run_only(measured, client):
    hang = {"FAKE_HANG_RUNS": "only_c1_r1,only_c2_r1"}
    manifest, (raw,) = measured(specs.make(env=hang, repeats=1, run_s=1.0, clients=(client,)))
    assert {record["failure_kind"] for record in raw.runs} == {"timeout"}
    assert len(raw.runs) == 2, "a new client went on with the next run"
    assert manifest["measured"] == []


def test_a_server_that_falls_silent_is_given_up_before_the_run_is(measured):
    manifest, (raw,) = measured(specs.make(env={"FAKE_HANG_RUNS": "only_c2_r1"}, concurrency=(2,), read_gap_s=0.5))
    failed, after = raw.runs
    assert failed["status"] == "failed" and failed["reason"].startswith("all 4 requests failed: read_gap: ")
    assert failed["failure_kind"] == "requests" and manifest["measured"] == [after["run"]]


def test_two_clients_take_turns_on_one_server(measured):
    spec = specs.make(clients=("native", "vllm-bench"), concurrency=(2,), repeats=2)
    manifest, (raw,) = measured(spec)
    assert [(record["run"], record["client_name"]) for record in raw.runs] == [
        ("only_c2_r1", "native"), ("only_c2_r2", "vllm-bench"), ("only_c2_r3", "native"), ("only_c2_r4", "vllm-bench"),
    ]  # fmt: skip
    assert {record["client_name"] for record in raw.readings} == {"native"}
    assert [event["label"] for event in raw.events if event["phase"] == "client"] == ["native", "vllm-bench"]
    assert set(manifest["measured"]) == {f"only_c2_r{n}" for n in (1, 2, 3, 4)}
    noted = {record["run"]: record["client"] for record in raw.runs}
    assert noted["only_c2_r1"]["name"] == "native" and noted["only_c2_r1"]["processes"] == 1
    assert noted["only_c2_r2"] is None, "the fake client notes nothing of itself"


def test_a_server_that_ignores_the_request_to_stop_is_killed(measured):
    _, (raw,) = measured(specs.make(env={"FAKE_BOOT": "stubborn"}, teardown_s=0.5, repeats=1, concurrency=(1,)))
    assert raw.status == "complete"


def test_a_command_that_cannot_be_started(measured, tmp_path):
    spec = specs.make()
    spec["engine"] = spec["engine"] | {"python": None, "command": [str(tmp_path / "no-such-container-tool")]}
    _, (raw,) = measured(spec)
    assert "the server's command cannot be started" in raw.ending["reason"]


def test_a_missing_interpreter_is_a_boot_that_failed(measured, tmp_path):
    _, (raw,) = measured(specs.make(python=tmp_path / "none"))
    assert raw.status == "failed" and "the server's command cannot be started" in raw.ending["reason"]


@pytest.mark.parametrize(("change", "message"), [
    (lambda spec: spec | {"schema": 99}, "specification version 99"),
    (lambda spec: spec | {"schema": 1}, "specification version 1"),
    (lambda spec: spec | {"endpoint": "chat"}, "was changed after it was written"),
    (lambda spec: [], "is no session specification"),
])  # fmt: skip
def test_a_specification_that_cannot_be_used_is_refused(tmp_path, change, message):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(change(specs.make())))
    with pytest.raises(SessionError, match=message):
        specification.load(path)


def test_another_specification_does_not_take_the_runs_of_this_one(measured):
    measured(specs.make())
    with pytest.raises(SessionError, match=r"holds session .* of another specification"):
        measured(specs.make(output_tokens=16))


def test_an_exception_of_our_own_leaves_no_server(measured, tmp_path, monkeypatch):
    monkeypatch.setattr(boot.Boot, "_measure_blocks", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        measured(specs.make())
    trees = [store.read_json(path) for path in tmp_path.glob("store/*/processes/*.json")]
    assert trees and [pid for tree in trees for pid in processes.left_of(tree)] == []
    (ending,) = [store.read_json(path) for path in tmp_path.glob("store/*/session.json")]
    assert ending["failure"]["what"] == "pipeline" and "ZeroDivisionError" in ending["reason"]


def test_a_guard_ends_what_it_watches_when_it_is_left_by_an_exception():
    with pytest.raises(RuntimeError), guard.Guard() as watching:
        orphan = subprocess.Popen(["sleep", "3600"], start_new_session=True)
        watching.watch(orphan.pid)
        raise RuntimeError
    assert orphan.wait(timeout=5) == -signal.SIGTERM


def test_a_changed_raw_file_is_not_blessed_by_a_new_manifest(measured):
    _, (raw,) = measured(specs.make())
    path = raw.folder / "runs" / "only_c1_r1" / "bench.json"
    path.chmod(0o644)
    path.write_text(path.read_text().replace("1", "2", 1))
    with pytest.raises(StoreError, match=r"bench.json is not the file that was measured"):
        measured(specs.make())


def test_a_folder_of_another_name_is_no_session(measured, tmp_path):
    (tmp_path / "store" / "backup").mkdir(parents=True)
    (tmp_path / "store" / "20260101-000000").mkdir()
    _, sessions = measured(specs.make())
    assert [raw.status for raw in sessions] == ["complete"], "the one without a specification has nothing to show"
    assert not any((tmp_path / "store" / "backup").iterdir())


def test_failed_runs_are_measured_again_and_their_records_stay(measured, tmp_path):
    _, (first,) = measured(specs.make(env={"FAKE_REFUSE": "1"}))
    manifest, sessions = measured(specs.make(env={"FAKE_REFUSE": "1"}))
    assert sessions[0].session_id == first.session_id and len(sessions) == 2
    assert statuses(sessions[0]) == statuses(sessions[1]) == dict.fromkeys(ALL_RUNS, "failed")
    assert manifest["measured"] == []


def test_a_session_broken_off_is_set_aside_with_its_runs(measured, tmp_path):
    _, (raw,) = measured(specs.make())
    (raw.folder / "session.json").unlink()
    (raw.folder / "files.json").unlink()
    (raw.folder / "telemetry.jsonl").rename(raw.folder / "telemetry.jsonl.part")
    manifest, sessions = measured(specs.make())
    assert [item.status for item in sessions] == ["set-aside", "complete"]
    assert statuses(sessions[0]) == dict.fromkeys(ALL_RUNS, "ok")
    assert (sessions[0].folder / "telemetry.jsonl").exists()
    assert set(manifest["measured"]) == ALL_RUNS


def test_a_raw_file_is_never_overwritten(tmp_path: Path):
    store.write_whole(tmp_path / "a", b"1")
    with pytest.raises(StoreError, match="never overwritten"):
        store.write_whole(tmp_path / "a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"


def test_what_a_killed_session_left_is_found_by_its_kernel_session_and_ended(tmp_path):
    """A server whose guard was killed with its session, and which hides its name and environment as vLLM's do."""
    folder = tmp_path / "store" / "20260101-000000"
    orphan = subprocess.Popen(["sleep", "3600"], start_new_session=True, env={})
    (folder / "processes").mkdir(parents=True)
    store.write_json(folder / "processes" / "server.json", processes.identity(orphan.pid))
    store.write_json(folder / "spec.json", specs.make())
    manifest = session.measure(specs.make(), tmp_path / "store", tmp_path, Told(told := io.StringIO()))
    assert orphan.wait(timeout=5) == -signal.SIGTERM
    assert "an earlier session left behind" in told.getvalue()
    assert [item["status"] for item in manifest["sessions"]] == ["set-aside", "complete"]


def test_a_number_that_belongs_to_somebody_else_by_now_is_left_alone():
    other = subprocess.Popen(["sleep", "3600"], start_new_session=True)
    try:
        tree = processes.identity(other.pid)
        assert processes.left_of(tree) == [other.pid]
        assert processes.left_of(tree | {"started_ticks": tree["started_ticks"] - 1}) == []
        assert processes.left_of(tree | {"boot_id": "another boot"}) == []
    finally:
        other.kill()
        other.wait()
