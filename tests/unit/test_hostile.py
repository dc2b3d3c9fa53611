"""Content that was made to break out: it is shown as it is, or refused; it opens no element, leaves no folder, and does
not grow the page."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import benchbook
import frames
import pandas as pd
import pytest
import reportinput
import yaml
from benchbook import masking, rawdata
from benchbook.archive.tables import as_csv
from benchbook.config.load import load_booking
from benchbook.derive import boot
from benchbook.errors import BenchbookError, ConfigError
from benchbook.measure.store import sha256
from benchbook.planned import planned
from benchbook.present import figure_sweep, report
from benchbook.present.context import Arm, ReportInput
from benchbook.provenance.trace import trace

ROOT = Path(benchbook.__file__).parents[2]
EVIL = (
    "\"><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}{% raw %}[[runs]]</title></style>"
    "\u202e\x1b[31m&lt;"
)
ATTRIBUTE = "x\" onmouseover=\"alert(3)\" data-address=\"sweep:a:b"


class Elements(HTMLParser):
    """What of a page could act: its scripts, images and frames, and every attribute that runs something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe", "object", "embed", "link", "base", "form", "input", "video"):
            self.found.append(tag)
        self.found += [name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "")]


def hostile() -> ReportInput:
    """A report in which everything that comes from outside is hostile."""
    tables = frames.make(failures=True, reason=EVIL)
    sessions = tables["sessions"].assign(root_cause=EVIL, engine_version=ATTRIBUTE, cpu_model=EVIL)
    tables = {**tables, "sessions": sessions}
    made = reportinput.traced(tables=tables)
    return dataclasses.replace(
        made, title=EVIL, question=EVIL, model=EVIL, node={EVIL: ATTRIBUTE}, workload={ATTRIBUTE: EVIL},
        arms=[Arm(EVIL, ATTRIBUTE, {EVIL: ATTRIBUTE})], warmup_rule=EVIL, superseded=[EVIL], draft=[EVIL],
        generated_by=ATTRIBUTE,
    )  # fmt: skip


def test_nothing_from_outside_becomes_an_element_or_an_attribute():
    html = report.render(hostile())
    assert Elements(html).found == ["script", "script"], "the page's own data and script"
    assert "alert(1)" in html and "<script>alert" not in html and "49" not in re.findall(r"\{\{.*?\}\}", html)
    assert "{{ 7*7 }}" in html and "onmouseover=\"" not in html


def test_the_trace_of_hostile_rows_is_text():
    context = hostile()
    session = context.frames["sessions"]["session_id"].iloc[0]
    found = trace(f"sessions:{session}:root_cause", reportinput.material(context))
    assert found.value == EVIL
    block = report.render(context).split('id="trace-data">')[1].split("</script>")[0]
    assert json.loads(block)["names"]


@pytest.mark.parametrize("name", ["a$b$c", "_x^{2}", "$\\frac{a}{b}$", "<b>x</b>", "a & b", "x" * 300])
def test_a_figure_draws_any_name_as_it_is(name, tmp_path):
    tables = frames.make((name,), failures=False)
    figure_sweep.draw(tables["sweep"], tables["runs"], tmp_path / "x.svg", arms=[name])
    assert Elements((tmp_path / "x.svg").read_text()).found == []


def booking(tmp_path: Path, **changes: Any) -> Path:
    for kind, name in (("nodes", "local-cpu"), ("models", "tiny-llama"), ("engines", "vllm-0.26.0")):
        target = tmp_path / f"config/{kind}/{name}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((ROOT / f"config/{kind}/{name}.yaml").read_text())
    told = {"title": "t", "node": "local-cpu", "model": "tiny-llama", "engine": "vllm-0.26.0", "arms": [{"name": "a"}],
            "workload": {"input_tokens": 8, "output_tokens": 8, "concurrency": [1], "waves": 4}} | changes  # fmt: skip
    (tmp_path / "config/bookings").mkdir(exist_ok=True)
    (tmp_path / "config/bookings/b.yaml").write_text(yaml.safe_dump(told))
    return tmp_path


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/b", "..", "a b", "<b>", "a\nb", "A"])
def test_a_name_that_would_be_a_path_is_refused(name, tmp_path):
    with pytest.raises(ConfigError, match=r"arms\[0\].name"):
        load_booking(booking(tmp_path, arms=[{"name": name}]), "b")
    for key in ("node", "model", "engine"):
        with pytest.raises(ConfigError, match=key):
            load_booking(booking(tmp_path, **{key: name}), "b")
    with pytest.raises(BenchbookError, match="name of a booking"):
        planned(tmp_path, f"{name}/../b", Path("registry"))


def stored(tmp_path: Path, log: bytes) -> rawdata.RawSession:
    """A failed session whose server wrote `log`."""
    folder = tmp_path / "raw/s1-a-0123456789ab/20260911-230548"
    folder.mkdir(parents=True)
    files = {
        "server.log": log, "spec.json": b'{"server": {"args": {}}, "arm": "a"}', "environment.json": b"{}",
        "session.json": json.dumps({"failure": {"what": "boot", "reason": "the server exited", "exit_code": 1},
                                    "status": "failed", "reason": "x"}).encode(),
    }  # fmt: skip
    for name, data in files.items():
        (folder / name).write_bytes(data)
    digests = {name: sha256(folder / name) for name in files}
    manifest = {"sessions": [{"session": folder.name, "status": "failed", "files": digests}]}
    return rawdata.sessions(manifest, folder.parent)[0]


@pytest.mark.parametrize("log", [
    b"ERROR </script><script>alert(1)</script>\nRuntimeError: </td><script>alert(2)</script>\n",
    b"RuntimeError: " + b"x" * 10_000_000 + b"\n",
    b"y" * 10_000_000,
    b"RuntimeError: \xff\xfe\x00\x80 not text \xc3\x28\n",
    b"\x1b[31mValueError: red\x1b[0m \xe2\x80\xae reversed\r\nfoo\rbar\n",
    b"\x00" * 4096,
], ids=["markup", "long error", "one long line", "no utf-8", "escapes", "nul"])  # fmt: skip
def test_any_log_gives_a_failure_that_can_be_shown(log, tmp_path):
    (found,) = boot.facts([stored(tmp_path, log)])
    cause = str(found["failure"]["root_cause"])
    assert len(cause) < 20_000
    tables = frames.make()
    sessions = tables["sessions"].assign(root_cause=pd.array([cause] * len(tables["sessions"]), dtype="string"))
    html = report.render(reportinput.make({**tables, "sessions": sessions}))
    assert Elements(html).found == ["script"] and html.encode("utf-8")


def test_covering_and_compressing_survive_any_bytes():
    data = bytes(range(256)) * 64
    assert len(masking.cover(data)[0]) == len(data)
    assert gzip.decompress(gzip.compress(masking.cover(data)[0], mtime=0))


def test_no_cell_of_a_csv_is_a_formula():
    text = as_csv(pd.DataFrame({"t": ["=1+1", "+1", "-1", "@x", "\tx", "ok"]}))
    assert [line[:1] for line in text.splitlines()[1:]] == ["'", "'", "'", "'", "'", "o"]
