"""The layers stay apart: who may import what and open files; and no import is hidden from code()."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import benchbook
import pytest

PACKAGE = Path(benchbook.__file__).parent
MODULES = [path for path in PACKAGE.rglob("*.py") if "inside" not in path.parts]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def calls(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            names.add(node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""))
    return names


def layer(name: str) -> list[Path]:
    return sorted((PACKAGE / name).rglob("*.py"))


@pytest.mark.parametrize("path", layer("measure"), ids=lambda path: path.name)
def test_measure_needs_nothing_but_the_standard_library_psutil_and_pynvml(path):
    allowed = sys.stdlib_module_names | {"psutil", "pynvml", "uvloop", "__future__"}
    outside = {name for name in imports(path) if name.split(".")[0] not in allowed}
    ours = ("benchbook.measure", "benchbook.errors", "benchbook.engines", "benchbook.provenance.code",
            "benchbook.__version__")  # fmt: skip
    assert all(name == "benchbook" or name.startswith(ours) for name in outside), outside


@pytest.mark.parametrize("path", layer("measure/client"), ids=lambda path: path.name)
def test_the_load_client_needs_nothing_but_the_standard_library(path):
    outside = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - {"__future__", "benchbook"}
    assert outside <= ({"uvloop"} if path.name == "workers.py" else set())


@pytest.mark.parametrize("path", layer("derive") + layer("claims"), ids=lambda path: path.name)
def test_derive_opens_no_file_and_knows_no_presentation(path):
    assert not calls(path) & {"open", "read_text", "write_text", "read_parquet", "to_parquet", "read_bytes"}
    assert not any(name.startswith("benchbook.present") for name in imports(path))


@pytest.mark.parametrize("path", layer("statistics"), ids=lambda path: path.name)
def test_statistics_know_numbers_only(path):
    outside = {name.split(".")[0] for name in imports(path)} - sys.stdlib_module_names - {"__future__"}
    assert outside <= {"numpy", "scipy", "benchbook"}
    ours = {name for name in imports(path) if name.startswith("benchbook.")}
    assert all(name.startswith("benchbook.statistics") for name in ours), ours


@pytest.mark.parametrize("path", layer("check"), ids=lambda path: path.name)
def test_only_load_opens_files_of_what_check_reads(path):
    opening = calls(path) & {"open", "read_text", "write_text", "read_bytes"}
    assert not opening or path.name == "load.py"


@pytest.mark.parametrize("path", layer("present"), ids=lambda path: path.name)
def test_present_knows_neither_measuring_nor_deriving(path):
    others = ("benchbook.measure", "benchbook.derive", "benchbook.claims", "benchbook.statistics", "scipy")
    assert not any(name.startswith(others) for name in imports(path))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_import_by_computed_name(path):
    assert not calls(path) & {"import_module", "__import__"}
    assert not any(name.startswith("importlib") for name in imports(path) if "importlib.metadata" not in name)


def test_every_rule_of_derive_and_present_has_a_script_named_after_it():
    root = PACKAGE.parents[1]
    rules = {
        line.split()[1].rstrip(":")
        for file in (root / "workflow" / "rules").glob("*.smk")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("rule ")
    }
    assert rules == {path.stem for path in (root / "scripts").glob("*.py")}
