"""The report: every number addressed and equal to its table, nothing missing hidden, nothing from a log trusted."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import frames
import pytest
import reportinput
from benchbook import schema
from benchbook.errors import TableError
from benchbook.present import format as fmt
from benchbook.present import report, summary, wording
from benchbook.present.address import row_key, split
from benchbook.present.context import FRAMES, ReportInput, Threshold
from pypdf import PdfReader

HOSTILE = '<script>alert("x")</script> & <b>bold</b> [[runs]]'
VOID = {"meta", "br", "wbr", "link", "img", "hr", "input"}
TABLES_WITHOUT_ADDRESS = {"table-arms", "table-thresholds", "table-thresholds-kept", "table-code", "table-levels"}


class Page(HTMLParser):
    """What the tests ask of the page: addressed values, cells of data tables without one, ids, tags, headings."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.values: list[tuple[str, str, str]] = []
        self.bare_cells: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.headings: list[int] = []
        self._open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._table = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.add(tag)
        if attributes.get("id"):
            self.ids.append(str(attributes["id"]))
        if tag == "a":
            self.links.append(str(attributes["href"]))
        if tag == "table":
            self._table = str(attributes["id"])
        if tag in ("h1", "h2", "h3", "h4"):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self._open.append((tag, attributes, []))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1][2].append(data)

    def handle_endtag(self, tag: str) -> None:
        name, attributes, pieces = self._open.pop()
        assert name == tag, (name, tag)
        text = "".join(pieces)
        if "data-address" in attributes:
            self.values.append((str(attributes["data-address"]), text, str(attributes.get("data-why") or "")))
        elif tag == "td" and self._table not in TABLES_WITHOUT_ADDRESS and text.strip(" ,") not in ("", "of"):
            self.bare_cells.append(text)


@pytest.fixture(scope="module")
def made() -> ReportInput:
    return reportinput.make(frames.make(repeats=1, reason=HOSTILE))


@pytest.fixture(scope="module")
def page(made: ReportInput) -> Page:
    return Page(report.render(made))


def cells(context: ReportInput) -> dict[tuple[str, str], Mapping[Any, Any]]:
    return {(name, row_key(name, row)): row for name in FRAMES for row in context.frames[name].to_dict("records")}


def test_every_shown_value_equals_its_cell(made: ReportInput, page: Page) -> None:
    rows = cells(made)
    facts = summary.build(made.frames["runs"], made.frames["sessions"], made.frames["failures"])
    totals = {row["key"]: row for row in (*facts.to_dict("records"),
                                          *summary.claims(made.frames["verdicts"]).to_dict("records"))}
    assert len(page.values) > 500
    for address, text, why in page.values:
        table, key, column = split(address)
        if table == "summary":
            expected = fmt.total(totals[key]["value"], totals[key]["unit"], summary.WHY.get(key, ""))
        else:
            expected = fmt.cell(table, column, rows[table, key][column])
        assert text == expected.text, address
        assert why == expected.why


def test_every_cell_of_a_data_table_is_addressed(page: Page) -> None:
    assert page.bare_cells == []


def test_missing_is_a_dash_never_nan_or_blank(made: ReportInput, page: Page) -> None:
    shown = {address: text for address, text, _ in page.values}
    boot = made.frames["sessions"].query("status == 'failed'")["session_id"].iloc[0]
    assert shown[f"sessions:{boot}:boot_s"] == "–"
    assert not {text for text in shown.values()} & {"", "nan", "NaN", "<NA>", "None", "NaT"}


def test_what_a_log_says_is_escaped(made: ReportInput) -> None:
    html = report.render(made)
    assert html.count("<script") == 1 and "alert(" not in html.replace("alert(&", "")
    assert "&lt;script&gt;alert(" in html


def test_the_page_stands_alone(made: ReportInput, page: Page) -> None:
    html = report.render(made)
    assert not page.tags & {"link", "img", "iframe"} and " src=" not in html
    assert "@import" not in html
    assert "url(http" not in html
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_headings_are_in_order(page: Page) -> None:
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert page.headings.count(2) == 13
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))


def test_equal_input_gives_equal_bytes(made: ReportInput) -> None:
    assert report.render(made) == report.render(made)


def test_status_and_relaxed_thresholds_are_named(made: ReportInput) -> None:
    html = report.render(made)
    assert 'class="status bad"' in html
    assert "steady_window_min_s" in html.partition("</section>")[0]
    assert "it compares nothing" not in html


def test_thresholds_that_a_booking_changes_are_listed_and_the_rest_folded(made: ReportInput) -> None:
    summary = report.render(made).partition('id="claims"')[0].replace("<wbr>", "")
    changed, kept = (summary.partition(f'id="{name}"')[2].partition("</table>")[0]
                     for name in ("table-thresholds", "table-thresholds-kept"))
    for item in made.thresholds:
        cell = f"<code>{item.name}</code>"
        assert (cell in changed, cell in kept) == (item.value != item.default, item.value == item.default), item.name
    alike = [replace(item, value=item.default) for item in made.thresholds]
    page = report.render(replace(made, thresholds=alike))
    assert f"All {len(alike)} thresholds are as the method has them" in page
    assert 'id="table-thresholds"' not in page


def test_how_each_warmup_was_judged_is_told_in_a_sentence(made: ReportInput) -> None:
    warmup = made.frames["warmup"].copy()
    last = warmup.drop_duplicates(["session_id", "concurrency"], keep="last").iloc[0]
    block = (warmup["session_id"] == last["session_id"]) & (warmup["concurrency"] == last["concurrency"])
    warmup.loc[block, ["gate", "gate_reason"]] = ["rerun passed", "TPOT of all the runs had moved"]
    chapter = report.render(replace(made, frames={**made.frames, "warmup": warmup})).partition('id="warmup"')[2]
    for sentence in ("TPOT of the last three readings spreads 4.1 %", "TPOT of all the runs had moved",
                     "they were measured once more"):  # fmt: skip
        assert sentence in chapter.replace("\n", " ")
    assert "had not stayed warm, and the runs carry" not in chapter


def test_gpu_columns_collapse_into_a_sentence(made: ReportInput) -> None:
    assert "not available: no GPU" in report.render(made)
    with_gpu = report.render(reportinput.make(frames.make(("only",), gpu=True, repeats=1, boots=1)))
    assert "not available: no GPU" not in with_gpu
    assert 'id="table-telemetry-gpu"' in with_gpu


def test_nothing_measured_and_everything_failed_are_rendered() -> None:
    full = frames.make(("only",), repeats=1, boots=1, all_failed=True)
    assert "No run is ok" in report.render(reportinput.make(full))
    nothing = {table: schema.empty(table) for table in schema.TABLES} | {"samples": full["samples"].iloc[:0]}
    html = report.render(reportinput.make(nothing))
    assert "Nothing was measured" in html
    assert "No session is on record" in html


def test_clean_booking_is_green_and_names_no_failure() -> None:
    html = report.render(reportinput.make(frames.make(("only",), failures=False, repeats=1, boots=1)))
    assert 'class="status good"' in html
    assert wording.no_failures() in html


def test_a_missing_sidecar_is_refused(made: ReportInput) -> None:
    kept = {name: sidecar for name, sidecar in made.sidecars.items() if name != "runs"}
    with pytest.raises(TableError, match="sidecar of runs"):
        report.render(replace(made, sidecars=kept))


def test_one_wall_time_missing_makes_the_total_missing() -> None:
    tables = frames.make(("only",), repeats=1, failures=False)
    tables["sessions"].loc[0, "wall_s"] = None
    facts = summary.build(tables["runs"], tables["sessions"], tables["failures"], 64.0).set_index("key")["value"]
    assert facts[["wall_s", "cost_usd", "run_share"]].isna().all()
    assert facts["sessions"] == 2


@pytest.mark.parametrize(("rule", "value", "relaxed"), [
    ("at least", 1.0, True), ("at least", 60.0, False), ("at most", 31.0, True), ("at most", 30.0, False)])
def test_relaxed_means_weaker_than_the_method(rule: Any, value: float, relaxed: bool) -> None:
    assert Threshold("x", value, 30.0, "s", rule).relaxed is relaxed


def test_pdf_has_pages_bookmarks_and_a_title(tmp_path: Path) -> None:
    tables = frames.make(("only",), repeats=1, boots=1, concurrency=(4, 8), failures=False)
    html = report.render(reportinput.make(tables, tmp_path))
    report.write_pdf(html, tmp_path / "report.pdf")
    reader = PdfReader(tmp_path / "report.pdf")
    assert len(reader.pages) > 1
    outline = str([getattr(item, "title", item) for item in reader.outline])
    assert "The sweep" in outline
    assert "Run index" in outline
    assert f"1 / {len(reader.pages)}" in reader.pages[0].extract_text()
    assert reader.metadata is not None
    assert "torch.compile" in str(reader.metadata.title)


def test_a_draft_says_so_in_title_head_and_summary(made: ReportInput) -> None:
    lacks = "Session s3 of <eager>: not measured yet, 12 runs planned."
    html = report.render(dataclasses.replace(made, draft=[lacks]))
    assert "<title>DRAFT · " in html and "data-draft" in html and 'class="draft-mark">DRAFT<' in html
    assert "Session s3 of &lt;eager&gt;: not measured yet" in html and "What is measured so far" in html
    final = report.render(made)
    assert "DRAFT" not in final.partition("<script")[0] and "data-draft>" not in final
