"""The chapters on claims: levels told without colour, every table there, addresses that resolve, absence explained."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import claimframes
import frames
import pandas as pd
import pytest
import reportinput
from benchbook import schema
from benchbook.columns import claims
from benchbook.columns.metrics import METRICS
from benchbook.errors import TableError
from benchbook.present import claim_chapters, claim_wording, labels, leads, report, summary
from benchbook.present import format as fmt
from benchbook.present.address import address, row_key, split
from benchbook.present.context import FRAMES, ReportInput
from benchbook.present.levels import LEVELS

CHAPTERS = ("claims", "hypotheses", "comparisons", "repeatability", "fixed-cost", "byte-floor", "elimination",
            "occupancy", "anomalies", "cost", "next")
SHOWN = ("repeatability", "comparisons", "fixed-cost-chosen", "fixed-cost-all", "toll", "steps", "floor", "floor-bytes",
         "elimination", "occupancy", "anomalies", "cost", "bill", "hypotheses", "next_experiments", "noise", "scale",
         "values", "levels")


@pytest.fixture(scope="module")
def made() -> ReportInput:
    return reportinput.make()


@pytest.fixture(scope="module")
def html(made: ReportInput) -> str:
    return report.render(made)


def chapter(html: str, name: str) -> str:
    return html.partition(f'<section id="{name}"')[2].partition("</section>")[0]


def test_every_chapter_and_every_table_is_there_in_the_order_of_a_write_up(html: str) -> None:
    order = re.findall(r'<section id="([\w-]+)" class="chapter', html)
    assert order == ["summary", "numbers", "metrics", "baseline", "boot", "sweep", "fixed-cost", "elimination",
                     "changes", "claims", "next", "run-index", "provenance"]  # fmt: skip
    assert set(CHAPTERS) <= set(re.findall(r'<section id="([\w-]+)"', html))
    assert {path.name for path in (report.REPORTS / "templates").glob("chapter_*")} == {
        f"chapter_{name.replace('-', '_')}.html.j2" for name in order}  # fmt: skip
    assert all(f'id="table-{name}"' in html for name in SHOWN)


def test_every_table_of_the_schema_of_claims_is_in_the_report_but_what_a_figure_draws() -> None:
    assert set(claims.TABLES) - set(FRAMES) == {"evidence"}


def test_every_level_is_a_word_and_a_shape_of_its_own(html: str) -> None:
    for level in LEVELS:
        assert f'<span class="level level-{level.slug}">{level.name}</span>' in chapter(html, "claims")
    style = (report.REPORTS / "style" / "report.css").read_text(encoding="utf-8")
    shapes = {level.slug: re.findall(rf'\.level-{level.slug}::before {{ content: "(.)"', style) for level in LEVELS}
    assert all(len(found) == 1 for found in shapes.values()), shapes
    assert len({found[0] for found in shapes.values()}) == len(LEVELS)
    assert len({(level.shape, level.filled) for level in LEVELS}) == len(LEVELS)


def test_levels_known_are_those_of_the_schema() -> None:
    told = claims.TABLES["verdicts"]["level"].meaning
    assert [level.name for level in LEVELS] == told.split(" | ")


def test_metrics_are_called_what_the_verdicts_call_them() -> None:
    assert {name: metric.label for name, metric in METRICS.items()} == labels.METRIC_NAMES


def test_counts_by_level_are_those_of_the_table(made: ReportInput) -> None:
    verdicts = made.frames["verdicts"]
    counted = summary.claims(verdicts).set_index("key")["value"]
    assert counted["claims"] + counted["values"] == len(verdicts)
    for level in LEVELS:
        both = counted[f"claims_{level.key}"] + counted[f"values_{level.key}"]
        assert both == (verdicts["level"] == level.name).sum()
    assert counted["values"] == (verdicts["kind"] == "value").sum()


def test_every_sentence_stands_once_under_its_level_and_declared_before_exploratory(made: ReportInput) -> None:
    verdicts = made.frames["verdicts"]
    placed = [(level.name, block.title, claim.claim_id.text) for level, blocks in claim_chapters.levels(verdicts)
              for block in blocks for claim in (*block.head, *block.rest)]
    expected = verdicts[verdicts["kind"] != "value"]
    assert sorted((level, name) for level, _, name in placed) == sorted(
        zip(expected["level"], expected["claim_id"], strict=True))
    exploratory = dict(zip(verdicts["claim_id"], verdicts["exploratory"], strict=True))
    for _, title, name in placed:
        if title == "Declared before measuring":
            assert not exploratory[name]
        if title == "Exploratory":
            assert exploratory[name]
    for level in LEVELS:
        titles = list(dict.fromkeys(title for name, title, _ in placed if name == level.name))
        assert titles == sorted(titles, key=("Declared before measuring", "Scale, fixed cost, floor, busy time",
                                             "Exploratory").index)


def test_what_a_sentence_says_is_not_said_again_beside_it(made: ReportInput) -> None:
    one = made.frames["verdicts"].query("kind == 'comparison'").iloc[:1]
    said = "Throughput at C=8: a 1 tok/s, b 2 tok/s; no difference can be claimed, because of UNWARMED. Next: warm up."
    twice = schema.check(pd.concat([
        one.assign(claim_id="a/b/m/c1", level="CONFOUNDED", sentence=said, because="UNWARMED", replicate="warm up"),
        one.assign(claim_id="a/b/m/c2", level="CONFOUNDED", sentence=said, because="drift", replicate="boot in turn"),
    ]), "verdicts")  # fmt: skip
    page = report.render(replace(made, frames={**made.frames, "verdicts": twice}))
    told, silent = (chapter(page, "claims").partition(f"verdicts:a/b/m/{level}:sentence")[2].partition("</li>")[0]
                    for level in ("c2", "c1"))  # fmt: skip
    assert "<b>Because</b>" in told and "drift" in told and "<b>To lift it</b>" in told and "boot in turn" in told
    assert "Because</b>" not in silent and "To lift it" not in silent


def test_a_reason_that_holds_for_every_run_is_said_once(made: ReportInput) -> None:
    frame = made.frames["occupancy"]
    why = "the node has no GPU"
    for reasons, alike in (([why] * len(frame), True), ([why] * (len(frame) - 1) + [None], False)):
        refused = frame.assign(refused=pd.array(reasons, dtype="string"))
        page = chapter(report.render(replace(made, frames={**made.frames, "occupancy": refused})), "occupancy")
        assert ("Refused for every run" in page) == alike
        assert 'id="table-occupancy"' in page


def test_no_chapter_begins_with_more_than_its_verdicts_allow(made: ReportInput) -> None:
    """A chapter's first sentences are those of verdicts, each with its level; the summary quotes only what may be."""
    assert set(leads.QUOTABLE) == {"SOLID", "SOLID-SCALE", "EQUIVALENT"}
    for level in LEVELS:
        verdicts = made.frames["verdicts"].assign(level=level.name)
        said = leads.says(verdicts)
        assert bool(said["summary"]) == (level.name in leads.QUOTABLE)
        known = set(verdicts["sentence"])
        assert all(told == level and claim.sentence.text in known for all_of in said.values() for told, claim in all_of)
    counted = " ".join(leads.COUNTS.values()).lower()
    assert not re.search(r"\b(faster|slower|better|worse|higher|lower|improve\w*|because)\b", counted)


def test_rows_that_differ_in_the_arm_only_are_one(made: ReportInput) -> None:
    row = made.frames["elimination"].iloc[0].to_dict()
    rows = [{**row, "arm": arm} for arm in ("one", "two", "three")] + [{**row, "arm": "four", "why": "x"}]
    frame = schema.check(pd.DataFrame(rows), "elimination")
    page = chapter(report.render(replace(made, frames={**made.frames, "elimination": frame})), "elimination")
    body = page.partition('id="table-elimination"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    shown = body.split("<tr>")[1:]
    assert len(shown) == 2 and all(f"elimination:{arm}/" in shown[0] for arm in ("one", "two", "three"))


def test_more_claims_than_a_page_holds_are_folded_none_is_lost(made: ReportInput) -> None:
    one = made.frames["verdicts"].query("kind == 'comparison'").iloc[:1]
    count = claim_chapters.SHOWN + 5
    many = schema.check(one.loc[one.index.repeat(count)].assign(claim_id=[f"a/b/m/c{i}" for i in range(count)]),
                        "verdicts")
    (_, blocks), = claim_chapters.levels(many)
    assert (len(blocks[0].head), len(blocks[0].rest)) == (claim_chapters.SHOWN, 5)
    page = report.render(replace(made, frames={**made.frames, "verdicts": many}))
    assert all(f"verdicts:a/b/m/c{i}:sentence" in page for i in range(count))


def test_a_comparison_shows_the_level_of_its_verdict_and_says_when_there_is_none(made: ReportInput) -> None:
    gone = made.frames["comparisons"]["comparison_id"].iloc[0]
    kept = made.frames["verdicts"][made.frames["verdicts"]["claim_id"] != gone]
    shown = claim_chapters.tables({**made.frames, "verdicts": kept})["effects"]
    level_of = dict(zip(kept["claim_id"], kept["level"], strict=True))
    at = [head.label for head in shown.heads].index("Level")
    for row in shown.rows:
        _, name, _ = split(row[at].parts[0].address)
        assert row[at].parts[0].text == level_of.get(name, "–")
    assert [row[at].parts[0].why for row in shown.rows].count("none was given") == 1


def test_the_summary_shows_the_level_of_each_throughput(made: ReportInput) -> None:
    end = made.frames["sweep"].sort_values("concurrency").iloc[0]
    name = f"value/{end['arm']}/throughput_tok_s/c{end['concurrency']}"
    one = made.frames["verdicts"].iloc[:1].assign(claim_id=name, kind="value", level="REFUSED")
    verdicts = schema.check(one, "verdicts")
    page = report.render(replace(made, frames={**made.frames, "verdicts": verdicts}))
    shown = page.partition('id="table-sweep-ends"')[2].partition("</table>")[0]
    assert shown.count(">REFUSED<") == 1
    assert f'data-address="verdicts:{name}:level"' in shown


def test_addresses_are_unique_per_table_and_resolve(made: ReportInput) -> None:
    for name in claims.TABLES:
        if name == "evidence":
            continue
        rows = made.frames[name].to_dict("records")
        assert rows, name
        keys = [row_key(name, row) for row in rows]
        assert len(set(keys)) == len(keys), name
        assert split(address(name, rows[0], "run_ids")) == (name, keys[0], "run_ids")


def test_an_effect_without_an_interval_says_why_and_shows_no_range(html: str) -> None:
    assert "+2.10" in html
    assert 'data-address="comparisons:eager/baseline/throughput_tok_s/c2:holm_low_pct"' in html
    assert 'data-address="comparisons:eager/baseline/throughput_tok_s/c2:holm_high_pct"' not in html
    assert claims.NOT_TESTED in chapter(html, "comparisons")


@pytest.fixture(scope="module")
def bare(made: ReportInput) -> str:
    """The report of a booking that was measured and whose tables of claims are empty."""
    nothing = {name: schema.empty(name) for name in claims.TABLES if name in FRAMES}
    return report.render(replace(made, frames={**made.frames, **nothing}))


@pytest.mark.parametrize("name", CHAPTERS)
def test_an_empty_chapter_says_what_is_missing(bare: str, name: str) -> None:
    assert claim_wording.ABSENT[name].partition("`")[0] in chapter(bare, name)
    assert "no rows" not in chapter(bare, name)


def test_a_level_that_nobody_knows_is_refused_not_hidden(made: ReportInput) -> None:
    verdicts = made.frames["verdicts"].copy()
    verdicts.loc[0, "level"] = "ALMOST"
    with pytest.raises(TableError, match="no level is called ALMOST"):
        report.render(replace(made, frames={**made.frames, "verdicts": verdicts}))


def test_text_from_outside_is_escaped() -> None:
    hostile = '<script>alert("x")</script> & [[runs]]'
    page = report.render(reportinput.make(frames.make(repeats=1, reason=hostile)))
    for name in ("hypotheses", "anomalies", "next", "fixed-cost"):
        assert "&lt;script&gt;" in chapter(page, name), name
    assert page.count("<script") == 1 and "alert(" not in page.replace("alert(&", "")


def test_no_run_usable_leaves_no_claim() -> None:
    tables = frames.make(("only",), all_failed=True, repeats=1, boots=1)
    assert all(tables[name].empty for name in claims.TABLES)
    assert claimframes.rows(tables["runs"], ("only",), "")["verdicts"] == []


@pytest.mark.parametrize(("table", "column", "value", "text", "unit"), [
    ("comparisons", "effect_pct", 6.3, "+6.30", "%"), ("comparisons", "effect_pct", -0.9, "−0.90", "%"),
    ("comparisons", "holm_high_pct", 3220.4, "+3,220", "%"), ("comparisons", "effect_pct", 0.0, "0", "%"),
    ("comparisons", "mde_pct", 4.52, "4.52", "%"), ("comparisons", "metric", "tpot_mean_ms", "mean TPOT", ""),
    ("comparisons", "p", 0.0004, "<0.001", ""), ("toll", "toll_share", 0.469, "46.9", "%"),
    ("repeatability", "range_coverage", 0.9375, "93.8", "%"), ("floor", "dense_gb", 7.6, "7.60", "GB"),
    ("floor", "bandwidth_tb_s", 8.0, "8.00", "TB/s"), ("occupancy", "spread_pp", 4.8, "4.8", "pp"),
    ("cost", "usd_per_mtok", 0.369, "0.369", "USD/Mtok"), ("cost", "usd_per_mtok", 12.248, "12.2", "USD/Mtok"),
    ("cost", "tokens_per_j", 5.512, "5.51", "tok/J"), ("bill", "usd", 173.99, "173.99", "USD"),
    ("bill", "usd", 0.001, "<0.01", "USD"), ("bill", "time_s", 5400.0, "1 h 30 min", ""),
    ("bill", "share", 0.2147, "21.5", "%"), ("next_experiments", "claims_per_hour", 21.3333, "21.3", "1/h"),
    ("anomalies", "voids", "ttft_mean_ms,itl_p50_ms", "mean TTFT, median ITL", ""),
])  # fmt: skip
def test_units_of_claims_are_shown(table: str, column: str, value: Any, text: str, unit: str) -> None:
    assert fmt.cell(table, column, value).text.replace("\u00a0", " ") == text
    assert fmt.unit(table, column) == unit
