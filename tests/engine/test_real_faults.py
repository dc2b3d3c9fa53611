"""The same faults as tests/session, on real vLLM: what its processes really do when they are killed or misled."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from benchbook import rawdata
from benchbook.derive import boot
from benchbook.measure import processes, session
from benchbook.measure.progress import Told
from benchbook.measure.store import read_json
from project import ROOT, Project, wait_for
from real_engine import SERVER_ARGS, SERVER_ENV

sys.path.insert(0, str(ROOT / "tests" / "session"))
import specs

pytestmark = pytest.mark.engine


def spec_of(python: Path, model: Path | str, **changes):
    args = SERVER_ARGS | changes.pop("args", {})
    return specs.make(python, model=str(model), args=args, env=SERVER_ENV, ready_s=180.0, teardown_s=20.0, **changes)


def living(folder: Path) -> list[int]:
    trees = [read_json(path) for path in folder.glob("store/*/processes/*.json")]
    return [pid for tree in trees for pid in processes.left_of(tree)]


def measure(spec, folder: Path):
    manifest = session.measure(spec, folder / "store", folder, Told(io.StringIO()))
    assert living(folder) == [], "a process is left"
    raw = rawdata.sessions(manifest, folder / "store")
    return manifest, raw, boot.facts(raw)


def test_a_bad_flag(engine_python, tiny_model, tmp_path):
    _, (raw,), (facts,) = measure(spec_of(engine_python, tiny_model, args={"no-such-flag": 3}), tmp_path)
    assert raw.status == "failed" and raw.ending["failure"]["exit_code"] == 2
    assert facts["failure"]["failure_class"] == "bad_flag"
    assert "--no-such-flag" in facts["failure"]["root_cause"]


def test_a_model_that_does_not_exist(engine_python, tmp_path):
    _, (raw,), (facts,) = measure(spec_of(engine_python, tmp_path / "no-such-model"), tmp_path)
    assert raw.status == "failed" and raw.ending["failure"]["exit_code"] == 1
    assert facts["failure"]["failure_class"] == "model_not_found"


def test_every_request_fails_on_a_healthy_server(engine_python, tiny_model, tmp_path):
    # 600 + 8 tokens do not fit max-model-len 512: the server answers each request with 400.
    spec = spec_of(engine_python, tiny_model, input_tokens=600, concurrency=(2,), repeats=1)
    manifest, (raw,), _ = measure(spec, tmp_path)
    (record,) = raw.runs
    assert manifest["measured"] == [] and raw.status == "complete"
    assert record["status"] == "failed" and record["failure_kind"] == "requests"
    assert record["reason"].startswith("all 4 requests failed") and record["tpot_mean_ms"] is None


def test_the_engine_is_killed_in_a_run(engine_python, tiny_model, tmp_path):
    spec = spec_of(engine_python, tiny_model, concurrency=(2,), repeats=2, waves=40, output_tokens=64)
    killed = []

    def kill_in_first_run():
        deadline = time.monotonic() + 200
        while time.monotonic() < deadline and not any(tmp_path.glob("store/*/runs/only_c2_r1")):
            time.sleep(0.05)
        time.sleep(1.0)
        for pid in living(tmp_path):
            if "EngineCore" in Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill_in_first_run)
    killer.start()
    manifest, raw, facts = measure(spec, tmp_path)
    killer.join()
    assert killed, "the engine's process was found and killed"
    assert manifest["measured"] == ["only_c2_r2"], "booted once more, the rest measured"
    first, second = raw
    assert (first.status, second.status) == ("failed", "complete")
    (broken,) = first.runs
    assert broken["status"] != "ok" and broken["failure_kind"] == "server_died"
    assert first.ending["failure"]["what"] == "run" and facts[0]["failure"]["failure_class"] != "silent_stop"
    assert {record["run"] for record in second.runs} == {"only_c2_r2"}


def test_kill_9_of_snakemake_leaves_no_engine(engine_python, tmp_path):
    project = Project(
        tmp_path / "p", model="tiny-llama", engine=engine_python.parents[1].name, arms=[{"name": "only"}],
        server={"args": SERVER_ARGS, "env": SERVER_ENV},
        workload={"input_tokens": 32, "output_tokens": 128, "concurrency": [2], "waves": 100, "repeats": 2},
    )  # fmt: skip
    (project.folder / ".engines").symlink_to(engine_python.parents[2])
    snakemake = project.start()
    wait_for(lambda: any(project.folder.glob("results/*/raw/*/*/runs/*")) or snakemake.poll() is not None, 240, "a run")
    assert snakemake.poll() is None, project.output()
    snakemake.kill()
    wait_for(lambda: not project.processes(), 15, "the end of every process")
