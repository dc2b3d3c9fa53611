"""The inputs of a rule are its script and every module of the package behind it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import benchbook
from benchbook.provenance import code

ROOT = Path(benchbook.__file__).parents[2]


def test_the_closure_is_what_python_really_imports():
    for script in sorted((ROOT / "scripts").glob("*.py")):
        shown = subprocess.run(
            [sys.executable, "-P", "-c",
             "import runpy, sys; runpy.run_path(sys.argv[1], run_name='imported');"
             "print('\\n'.join(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'benchbook'))",
             str(script)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        loaded = {Path(line).resolve() for line in shown.stdout.split()}
        listed = {path.resolve() for path in code.closure(script)}
        assert loaded <= listed, (script.name, loaded - listed)


def test_a_figure_does_not_hang_on_another_figure_or_on_measuring():
    listed = {path.name for path in code.closure(ROOT / "scripts" / "figure_sweep.py")}
    assert "figure_sweep.py" in listed
    assert not listed & {"figure_warmup.py", "report.py", "session.py", "boot.py"}


def test_the_fingerprint_changes_with_a_file_and_not_with_its_time(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    before = code.combined(code.fingerprint([tmp_path / "a.py"], tmp_path))
    (tmp_path / "a.py").touch()
    assert code.combined(code.fingerprint([tmp_path / "a.py"], tmp_path)) == before
    (tmp_path / "a.py").write_text("x = 2\n")
    assert code.combined(code.fingerprint([tmp_path / "a.py"], tmp_path)) != before
