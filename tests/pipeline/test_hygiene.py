"""Snakemake is stopped in the middle of a session: nothing of it is alive 15 s later, and the next start goes on."""

from __future__ import annotations

import json
import signal

import pytest
from project import Project, wait_for

pytestmark = pytest.mark.pipeline


def phase_reached(project, phase):
    if phase == "boot":
        return any(project.folder.glob("results/*/raw/*/*/server.log"))
    return any(project.folder.glob("results/*/raw/*/*/runs/*"))


@pytest.mark.parametrize("phase", ["boot", "run"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_stopped(tmp_path, number, phase):
    # FAKE_TPOT_S makes a run last seconds, so that the signal falls into it.
    project = Project(
        tmp_path / "p", engine_env={"FAKE_TPOT_S": "0.06", "FAKE_BOOT_S": "1"}, arms=[{"name": "only"}],
        workload={"input_tokens": 8, "output_tokens": 8, "concurrency": [2], "waves": 6, "repeats": 1},
    )  # fmt: skip
    snakemake = project.start()
    wait_for(lambda: phase_reached(project, phase) or snakemake.poll() is not None, 60, "the phase")
    assert snakemake.poll() is None, project.output()
    snakemake.send_signal(number)
    wait_for(lambda: snakemake.poll() is not None, 15, "the end of snakemake")
    wait_for(lambda: not project.processes(), 15, "the end of server, client and sampler")
    assert snakemake.returncode != 0

    (broken,) = project.sessions()
    again = project.start("results/small/acceptance.json")
    assert again.wait(timeout=180) == 0, project.output()
    sessions = project.sessions()
    assert [json.loads((s / "session.json").read_text())["status"] for s in sessions].count("set-aside") == 1
    assert json.loads((broken / "session.json").read_text())["status"] == "set-aside"
    assert len(sessions) == 2, "the broken session, and the one that took its place"
    assert project.processes() == []
