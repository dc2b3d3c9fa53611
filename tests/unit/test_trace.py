"""Every number of the page leads to its runs, rules and raw lines."""

from __future__ import annotations

import hashlib
import html
import json
import random
import re

import pandas as pd
import pytest
import reportinput
from benchbook.errors import TraceError
from benchbook.present import report
from benchbook.provenance import traced
from benchbook.provenance.trace import is_of_others, lines, owners, store_of, trace

VALUE = re.compile(r'data-address="([^"]+)"[^>]*>([^<]*)<')


@pytest.fixture(scope="module")
def context():
    return reportinput.traced()


@pytest.fixture(scope="module")
def material(context):
    return reportinput.material(context)


def test_every_shown_value_is_traced_and_reads_as_it_is_shown(context, material):
    shown = {html.unescape(address): html.unescape(text) for address, text in VALUE.findall(report.render(context))}
    assert len(shown) > 1000
    of_tables = {table: [address for address in shown if address.startswith(table + ":")]
                 for table in sorted({address.split(":")[0] for address in shown})}  # fmt: skip
    chance = random.Random(11)
    asked = [address for found in of_tables.values() for address in chance.sample(found, min(15, len(found)))]
    assert len(of_tables) > 20
    for address in asked:
        text = shown[address]
        found = trace(address, material)
        assert found.shown == text, address
        assert found.steps and (found.owners or not len(context.frames["runs"])), address
        assert dict(lines(found))["address"] == address


def test_a_run_leads_to_its_own_raw_lines_and_a_mean_to_those_of_its_runs(context, material):
    run = context.frames["runs"]["run_id"].iloc[0]
    found = trace(f"runs:{run}:tpot_mean_ms", material)
    assert found.owners == (run,) and found.of_row
    told = [(raw.file.rsplit("/", 1)[1], raw.lines) for raw in found.raw]
    assert told == [("bench.json", None), ("server.log", (12, 34))]
    of_point = context.frames["runs"].query("arm == 'eager' and concurrency == 8")["run_id"]
    assert trace("sweep:eager/c8:tpot_mean_ms", material).owners == tuple(of_point)
    assert [step.rule for step in trace("sweep:eager/c8:tpot_mean_ms", material).steps] == ["sweep", "bench"]


def test_a_comparison_rests_on_the_runs_of_both_arms(context, material):
    row = context.frames["comparisons"].query("question == 'arms'").iloc[0]
    found = trace(f"comparisons:{row['comparison_id']}:effect_pct", material)
    runs = context.frames["runs"].set_index("run_id")
    assert {runs.at[run, "arm"] for run in found.owners} == {row["arm"], row["baseline"]}
    assert {runs.at[run, "concurrency"] for run in found.owners} == {row["concurrency"]}


def test_a_missing_value_says_why(context, material):
    runs = context.frames["runs"]
    run = runs.loc[runs["tpot_mean_ms"].isna(), "run_id"].iloc[0]
    assert dict(lines(trace(f"runs:{run}:tpot_mean_ms", material)))["value"].startswith("missing: ")


@pytest.mark.parametrize(("asked", "sentence"), [
    ("tpot", "is not an address"),
    ("sweeps:eager/c8:tpot_mean_ms", "no table 'sweeps'. Nearest: sweep"),
    ("sweep:eager/c9:tpot_mean_ms", "no row 'eager/c9'. Nearest: eager/c8"),
    ("sweep:eager/c8:tpot_ms", "no column 'tpot_ms'. Nearest: tpot_"),
    ("summary:rums:value", "Nearest: runs"),
    ("figure:swep", "Nearest: figure:sweep"),
])  # fmt: skip
def test_an_address_that_leads_nowhere_names_the_nearest(material, asked, sentence):
    with pytest.raises(TraceError, match=re.escape(sentence)):
        trace(asked, material)


def test_a_figure_leads_to_its_rules(material):
    assert [step.rule for step in trace("figure:sweep", material).steps][0] == "sweep"


def test_files_of_other_sessions_are_known_by_their_store():
    assert store_of("results/b/derived/s1-a-0/runs.parquet") == store_of("raw/s1-a-0/20260911-230548/server.log")
    assert store_of("results/b/sessions/s1-a-0.json") == "s1-a-0" and store_of("results/b/tables/runs.parquet") is None
    assert is_of_others("results/b/sessions/s2-a-0.json", {"s1-a-0"})
    assert not is_of_others("results/b/sessions/s2-a-0.json", set())
    assert not is_of_others("results/b/tables/runs.parquet", {"s1-a-0"})


def test_the_pages_data_cannot_end_its_element(context):
    page = report.render(context)
    block = page.split('id="trace-data">')[1].split("</script>")[0]
    assert "<" not in block and any("</script> & meanwhile" in what for what in json.loads(block)["whats"])


def test_a_row_that_lists_its_runs_is_of_those_and_none_that_was_measured_once_more():
    runs = pd.DataFrame({"run_id": ["s/a_c8_r1", "s/a_c8_r2", "s/a_c8_r3"], "arm": "a", "concurrency": 8,
                         "replaced": [True, False, False]})  # fmt: skip
    listed = {"arm": "a", "concurrency": 8, "run_ids": "s/a_c8_r2 s/a_c8_r3"}
    assert owners("sweep", listed, {"runs": runs}) == ("s/a_c8_r2", "s/a_c8_r3")
    unlisted = {"arm": "a", "concurrency": 8, "run_ids": None}
    assert owners("sweep", unlisted, {"runs": runs}) == ("s/a_c8_r2", "s/a_c8_r3")


def test_tables_that_are_newer_than_the_page_are_named(tmp_path):
    report, tables = tmp_path / "reports/b", tmp_path / "results/b/tables"
    report.mkdir(parents=True)
    tables.mkdir(parents=True)
    assert traced.changed_since(tmp_path, report) == []
    (tables / "sweep.parquet").write_text("1")
    digest = hashlib.sha256(b"1").hexdigest()
    told = {"inputs": {"results/b/tables/sweep.parquet": digest, "results/b/tables/gone.parquet": "0"}}
    (report / "report.html.prov.json").write_text(json.dumps(told))
    assert traced.changed_since(tmp_path, report) == []
    (tables / "sweep.parquet").write_text("2")
    assert traced.changed_since(tmp_path, report) == ["sweep"]
