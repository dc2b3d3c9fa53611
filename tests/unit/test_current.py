"""A table or figure made from other files, or by other code, than there are now does not pass for current."""

from __future__ import annotations

import pytest
from benchbook.errors import StaleError
from benchbook.measure.store import sha256
from benchbook.provenance import current
from benchbook.provenance.code import combined, fingerprint


@pytest.fixture
def made(tmp_path):
    """A project with a script, an input and the sidecar of what came of them."""
    script, table = tmp_path / "scripts/figure_sweep.py", tmp_path / "results/b/tables/sweep.parquet"
    for path in (script, table):
        path.parent.mkdir(parents=True)
        path.write_text("x = 1\n")
    current._digest.cache_clear()
    current._code.cache_clear()
    return tmp_path, script, table, {
        "rule": "figure_sweep", "script": "scripts/figure_sweep.py", "output": {"path": "results/b/figures/sweep.svg"},
        "inputs": {"results/b/tables/sweep.parquet": sha256(table)},
        "code_fingerprint": combined(fingerprint([script], tmp_path)),
    }  # fmt: skip


def test_what_is_current_passes(made):
    root, _, _, told = made
    current.check([told], root)


@pytest.mark.parametrize(("change", "why"), [
    (lambda script, table: table.write_text("x = 2\n"), "sweep.parquet is another file"),
    (lambda script, table: table.unlink(), "sweep.parquet, which it was made from, is gone"),
    (lambda script, table: script.write_text("x = 2\n"), "figure_sweep.py, or a module behind it, was changed"),
])  # fmt: skip
def test_what_is_stale_is_named_with_the_command_that_helps(made, change, why):
    root, script, table, told = made
    change(script, table)
    with pytest.raises(StaleError, match=why) as caught:
        current.check([told], root)
    assert str(caught.value).startswith("results/b/figures/sweep.svg is stale")
    assert str(caught.value).endswith("snakemake --cores 2 --forcerun figure_sweep -- report")
