"""What runs again after an edit, a touch, a copy, a loss; and that a session never does."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from project import PAGE, Project

pytestmark = pytest.mark.recorded
TABLES_ONLY = "results/small/acceptance.json"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("finished") / "p")
    done = project.run()
    assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.fixture
def project(finished, tmp_path):
    """The finished project as it is, in a copy for each test."""
    shutil.copytree(finished.folder, tmp_path / "p", copy_function=shutil.copy2)
    copy = Project.__new__(Project)
    copy.folder, copy.booking = tmp_path / "p", finished.booking
    return copy


def planned(project, *arguments):
    """Names of the rules that Snakemake would run."""
    done = project.run("-n", "--quiet", "rules", "--", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    names = {line[0] for line in lines if len(line) == 2 and line[1].isdigit()}
    return names - {"total", "report", "job"}


def edit(project, name):
    path = project.folder / name
    path.write_text(path.read_text() + "\n# edited\n")


def test_nothing_to_do(project):
    assert planned(project) == set()


def test_a_changed_deadline_measures_nothing_and_keeps_nothing_from_being_made(project):
    """Snakemake plans nothing beyond an ancient file that is itself due: then a lost report would stay lost."""
    project.write("config/bookings/small.yaml", project.booking | {"limits": {"ready_s": 59, "teardown_s": 4}})
    assert planned(project) == {"preflight_table", "report_html", "report_pdf"}, "preflight has a rule about deadlines"
    (project.folder / "results/small/tables/sweep.parquet").unlink()
    assert {"statistics", "report_pdf"} <= planned(project) and "session" not in planned(project)


def test_a_changed_model_is_measured_anew(project):
    path = project.folder / "config/models/tiny-llama.yaml"
    path.write_text(path.read_text().replace("num_hidden_layers: 2", "num_hidden_layers: 3"))
    assert {"model", "session", "boot", "statistics", "report_pdf"} <= planned(project)


def test_an_edited_table_does_not_get_into_the_report(project):
    path = project.folder / "results/small/tables/sweep.parquet"
    frame = pd.read_parquet(path)
    frame["throughput_tok_s"] = 98765.0
    frame.to_parquet(path)
    refused = project.run()
    assert refused.returncode != 0
    assert "sweep.parquet was changed after its rule wrote it" in refused.stdout + refused.stderr


def test_an_edited_figure_is_redrawn_alone_and_the_report_follows(project):
    edit(project, "workflow/benchbook/present/figure_sweep.py")
    assert planned(project, "results/small/figures/sweep.svg") == {"figure_sweep"}
    assert project.run("results/small/figures/sweep.svg").returncode == 0
    # A comment draws the same bytes; the figure is newer all the same.
    assert planned(project) <= {"report_html", "report_pdf"}


def test_an_edited_figure_changes_the_report_and_nothing_else(project):
    path = project.folder / "workflow/benchbook/present/figure_sweep.py"
    path.write_text(path.read_text().replace("tok/s", "tokens/s"))
    assert project.run("results/small/figures/sweep.svg").returncode == 0
    assert planned(project) == {"report_html", "report_pdf"}
    before = (project.folder / "reports/small/report.html").read_bytes()
    assert project.run(*PAGE).returncode == 0
    assert (project.folder / "reports/small/report.html").read_bytes() != before


def test_an_edited_derive_module_reruns_what_hangs_on_it_and_no_session(project):
    edit(project, "workflow/benchbook/derive/little.py")
    assert {"bench"} <= planned(project)
    assert not planned(project) & {"session", "boot", "warmup", "engine_env", "specification"}


@pytest.mark.parametrize("name", ["scripts/session.py", "workflow/benchbook/measure/boot.py"])
def test_edited_measuring_code_reruns_no_session(project, name):
    edit(project, name)
    assert not planned(project) & {"session"}


def test_a_touch_reruns_nothing(project):
    for path in [*project.folder.glob("scripts/*.py"), *project.folder.glob("workflow/benchbook/**/*.py"),
                 *project.folder.glob("config/**/*.yaml"), *project.folder.glob("results/small/specs/*")]:  # fmt: skip
        path.touch()
    assert planned(project) == set()


def test_preflight_lost_touched_or_asked_for_again_measures_nothing(project):
    path = project.folder / "results/small/preflight.json"
    path.touch()
    assert planned(project) == set()
    path.write_text("{}")
    assert planned(project) == set()
    path.unlink()
    assert planned(project) == set()
    before = project.sessions()
    assert project.run("results/small/preflight.json", TABLES_ONLY).returncode == 0
    assert path.exists() and project.sessions() == before


def test_an_error_of_preflight_stops_the_booking_before_anything_boots(tmp_path):
    partial = {"input_tokens": 8, "output_tokens": 8, "concurrency": [2], "num_prompts": 7}
    stopped = Project(tmp_path / "p", workload=partial)
    done = stopped.run()
    assert done.returncode != 0 and not list((stopped.folder / "results/small").glob("raw/*"))
    assert "7 / 2 = 3.5 waves: 1 - 3.5 / 4 = 12.5 % too low" in done.stdout + done.stderr


def test_a_lost_snakemake_folder_boots_nothing(project):
    shutil.rmtree(project.folder / ".snakemake")
    before = project.sessions()
    assert project.run(TABLES_ONLY).returncode == 0
    assert project.sessions() == before


def test_results_copied_into_a_fresh_clone_boot_nothing(project, tmp_path):
    clone = Project(tmp_path / "clone")
    shutil.copytree(project.folder / "results", clone.folder / "results", copy_function=shutil.copy)
    assert "session" not in planned(clone)
    assert clone.run(TABLES_ONLY).returncode == 0
    assert [path.name for path in clone.sessions()] == [path.name for path in project.sessions()]


def test_lost_manifests_are_written_again_from_the_store(project):
    shutil.rmtree(project.folder / "results/small/sessions")
    before = project.sessions()
    assert project.run("report", "--until", "session").returncode == 0
    assert project.sessions() == before


def test_a_sealed_booking_cannot_be_measured(project):
    project.write("config/bookings/small.yaml", project.booking | {"sealed": True})
    assert planned(project) == set()
    shutil.rmtree(project.folder / "results/small/sessions")
    refused = project.run()
    assert refused.returncode != 0
    assert "booking small is sealed" in refused.stderr and "Traceback" not in refused.stderr


def test_a_changed_specification_makes_a_new_store_beside_the_old_one(project):
    changed = project.booking | {"workload": project.booking["workload"] | {"repeats": 1}}
    project.write("config/bookings/small.yaml", changed)
    before = project.sessions()
    assert project.run(*PAGE).returncode == 0
    assert set(before) < set(project.sessions())
    html = (project.folder / "reports/small/report.html").read_text()
    assert all(path.parent.name in html.replace("<wbr>", "") for path in before), "superseded stores are listed"


def test_a_tampered_raw_file_is_refused_by_name(project):
    record = next(project.folder.glob("results/small/raw/*/*/runs/*/bench.json"))
    record.chmod(0o644)
    record.write_text(record.read_text().replace("1", "2", 1))
    edit(project, "workflow/benchbook/derive/little.py")
    refused = project.run()
    assert refused.returncode != 0
    assert "is not the file that was measured" in refused.stdout + refused.stderr


def test_many_cores_on_a_small_machine(tmp_path):
    project = Project(tmp_path / "p")
    assert project.run("--cores", "32", TABLES_ONLY).returncode == 0
