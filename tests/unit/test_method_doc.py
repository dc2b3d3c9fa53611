"""docs/method.md against what it describes: sections that are cited, tags, levels, and the limits' defaults."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml
from benchbook import schema
from benchbook.derive import tags

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from method_parts import anomalies, coverage, designs, markdown, warmup  # noqa: E402
from method_parts.cells import Cell  # noqa: E402

DOCUMENT = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
SECTIONS = {int(number) for number in re.findall(r"^## (\d+)\. ", DOCUMENT, re.M)}
CITED = re.compile(r"method\.md(?:\s+(?:#\s+)?)(\d+(?:(?:, | and )\d+)*)")
FOLDERS = ("workflow", "scripts", "config", "benchmarks", "tests/unit")


def section(number: int) -> str:
    """Text of a section."""
    found = re.search(rf"^## {number}\. .*?(?=^## \d+\. |\Z)", DOCUMENT, re.M | re.S)
    assert found
    return found[0]


def citations() -> list[tuple[str, int]]:
    """File and section of every "method.md N", "method.md 3, 5 and 9" in the code and the schemas."""
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".yaml", ".smk", ".md", ".c", ".j2"} or path.name == "Snakefile":
                for numbers in CITED.findall(path.read_text(encoding="utf-8")):
                    found += [(str(path.relative_to(ROOT)), int(n)) for n in re.findall(r"\d+", numbers)]
    return found


def rows(text: str) -> list[list[str]]:
    """Cells of the rows of all tables in `text`, heads and rules included."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_the_sections_are_there():
    assert set(range(13)) == SECTIONS


def test_what_is_cited_exists():
    cited = citations()
    assert {4, 8, 10} <= {number for _, number in cited}
    assert [(path, number) for path, number in cited if number not in SECTIONS] == []


@pytest.mark.parametrize("tag", tags.ORDER)
def test_a_tag_is_explained(tag):
    assert any(row[0] == tag and row[1] for row in rows(section(10)))


def levels() -> list[str]:
    meaning = schema.TABLES["verdicts"]["level"].meaning
    return meaning.split(" | ")


@pytest.mark.parametrize("level", levels())
def test_a_level_has_a_rule_and_a_sentence(level):
    assert any(row[0] == level and row[1] and row[2] for row in rows(section(10)) if len(row) == 3)


def defaults() -> dict[str, float]:
    """Numbers of the booking schema's limits, by dotted key."""
    booking = yaml.safe_load((ROOT / "workflow" / "schemas" / "booking.schema.yaml").read_text(encoding="utf-8"))
    found: dict[str, float] = {}

    def gather(key: str, form: dict) -> None:
        for name, inner in form.get("properties", {}).items():
            gather(f"{key}.{name}", inner)
        if not isinstance(form.get("default"), bool) and isinstance(form.get("default"), int | float):
            found[key] = form["default"]

    for name in ("warmup", "thresholds", "comparisons"):
        gather(name, booking["properties"][name])
    return found


def test_the_limits_are_those_of_the_schema():
    told = {row[0].strip("`"): float(row[1]) for row in rows(section(10)) if row[0].startswith("`")}
    assert told == defaults()


def test_the_simulated_tables_are_those_of_the_benchmark():
    blocks = re.findall(r"<!-- tables: (\w+) -->\n(.*?)<!-- end of tables -->", DOCUMENT, re.S)
    assert [name for name, _ in blocks] == list(markdown.MARKS)
    for name, block in blocks:
        assert "Seed 1, 4,000 series" in block
        heads = [row[0] for row in rows(block)]
        assert all(table in heads for table in markdown.MARKS[name])
    shown = {name: [row[0] for row in rows(block)] for name, block in blocks}
    assert set(anomalies.SHAPES) <= set(shown["anomalies"])
    assert {truth.name for truth in warmup.warmup_rules.TRUTHS} <= set(shown["warmup"])


def test_tables_are_put_at_their_marks(tmp_path):
    cells = [Cell(table, "row", column, 50.0, found, 1.0) for table in sum(markdown.MARKS.values(), ())
             for column, found in (("fits, %", 51.0), ("off, %", 90.0))]  # fmt: skip
    path = tmp_path / "method.md"
    path.write_text("a\n" + "".join(f"<!-- tables: {name} -->\nold\n<!-- end of tables -->\nb\n" for name in
                                    markdown.MARKS), encoding="utf-8")  # fmt: skip
    markdown.put(path, cells, "Seed 1.")
    once = path.read_text(encoding="utf-8")
    assert "old" not in once and once.count("| row | 51 ± 2.0 (50) | **90 ± 2.0 (50)** |") == len(cells) / 2
    assert [table for table in (coverage.ONE, designs.BAND) if f"| {table} |" not in once] == []
    markdown.put(path, cells, "Seed 1.")
    assert path.read_text(encoding="utf-8") == once
    path.write_text("no mark", encoding="utf-8")
    with pytest.raises(markdown.NoMark, match="tables: warmup"):
        markdown.put(path, cells, "Seed 1.")
