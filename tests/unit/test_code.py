"""The inputs of a rule are its script and every module of the package behind it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import benchbook
from benchbook.provenance import code

ROOT = Path(benchbook.__file__).parents[2]


# Libraries are loaded once; what a script loads of the package is its own, as each runs in a fork.
EACH_IN_A_FORK = """
import os, runpy, sys
import matplotlib.figure, pandas, scipy.optimize, scipy.stats, weasyprint
for script in sys.argv[1:]:
    if not os.fork():
        runpy.run_path(script, run_name="imported")
        loaded = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "benchbook"]
        print(script, *loaded, flush=True)
        os._exit(0)
    if os.wait()[1]:
        sys.exit(script)
"""


def test_the_closure_is_what_python_really_imports():
    scripts = sorted(map(str, (ROOT / "scripts").glob("*.py")))
    shown = subprocess.run([sys.executable, "-P", "-c", EACH_IN_A_FORK, *scripts], capture_output=True, text=True,
                           check=True)  # fmt: skip
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert [script for script, *_ in lines] == scripts and sum(map(len, lines)) > 5 * len(lines)
    for script, *modules in lines:
        loaded = {Path(name).resolve() for name in modules}
        assert loaded <= {path.resolve() for path in code.closure(Path(script))}, script


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
