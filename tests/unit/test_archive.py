"""Archives: equal bytes, written once, checked when unpacked, nothing outside the folder; the crate for outsiders."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import claimruns
import pandas as pd
import pytest
import requests
import requests_cache
import rocrate
from benchbook import masking, rawdata
from benchbook.archive import covered, crate, members, pack, place, restore, tables, write
from benchbook.archive.restored import from_json
from benchbook.archive.unpack import FILES, unpack
from benchbook.errors import ArchiveError, BenchbookError
from requests.adapters import BaseAdapter, HTTPAdapter
from rocrate_validator import models, services
from urllib3.response import HTTPResponse

TOLD = {"booking": "b", "stores": ["s1-a-0123456789ab"], "superseded": [], "registered": [],
        "configuration": ["config/bookings/b.yaml"], "commit": "", "code": {"workflow/Snakefile": "0"}}  # fmt: skip
MEMBERS = {
    "workflow/Snakefile": b"rule all:\n",
    "config/config.yaml": b"booking: b\n",
    "config/bookings/b.yaml": b"title: b\n",
    "results/b/archived.json": json.dumps(TOLD).encode(),
    "results/b/raw/s1-a-0123456789ab/20260911-230548/bench.json": b"[1, 2, 3]" * 99,
    "results/b/raw/s1-a-0123456789ab/20260911-230548/files.json": b"{}",
    "results/b/sessions/s1-a-0123456789ab.json": json.dumps({"sessions": [{"session": "20260911-230548", "files": {
        "bench.json": hashlib.sha256(b"[1, 2, 3]" * 99).hexdigest()}}]}).encode(),
    "results/b/tables/sweep.parquet": b"PAR1",
    "reports/b/report.html": b"<p>1</p>",
}
RUN = crate.Run("b", "A <b>title</b>", 1.0e9, 1.0e9 + 60, ["0.26.0"], "0.1.0", "9.27.0", "")


def written(folder: Path, members: dict[str, bytes] = MEMBERS) -> Path:
    return folder / str(pack.pack(members, folder, "b")["archive"])


def test_equal_members_give_equal_bytes_and_the_first_is_never_changed(tmp_path):
    first, second = written(tmp_path / "1"), written(tmp_path / "2", dict(reversed(MEMBERS.items())))
    assert first.read_bytes() == second.read_bytes() and first.name == second.name
    before = first.stat()
    assert written(tmp_path / "1") == first and first.stat().st_mtime_ns == before.st_mtime_ns
    other = written(tmp_path / "1", {**MEMBERS, "reports/b/report.html": b"<p>2</p>"})
    assert other != first and first.read_bytes() == second.read_bytes()


def test_a_changed_archive_is_told_and_left(tmp_path):
    path = written(tmp_path)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ArchiveError, match="is not what it was when it was written"):
        written(tmp_path)


def test_what_was_packed_is_unpacked(tmp_path):
    assert unpack(written(tmp_path), tmp_path / "out") == TOLD
    found = {str(path.relative_to(tmp_path / "out")): path.read_bytes()
             for path in (tmp_path / "out").rglob("*") if path.is_file()}  # fmt: skip
    assert found == MEMBERS


def _rezipped(path: Path, change: dict[str, bytes | None], listed: bool = False) -> Path:
    with zipfile.ZipFile(path) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    members = {name: data for name, data in {**members, **change}.items() if data is not None}
    if listed:
        members[FILES] = pack.listing({name: data for name, data in members.items() if name != FILES})
    out = path.with_name("changed.zip")
    with zipfile.ZipFile(out, "w") as opened:
        for name, data in members.items():
            opened.writestr(zipfile.ZipInfo(name), data)
    return out


RAW = "results/b/raw/s1-a-0123456789ab/20260911-230548/bench.json"


@pytest.mark.parametrize(("change", "listed", "sentence"), [
    ({RAW: b"[1, 2, 4]" * 99}, False, f"member {RAW} is not the one that was archived"),
    ({RAW: b"[1, 2, 3]" * 100}, False, f"member {RAW} is not the one that was archived"),
    ({RAW: None}, False, f"lacks {RAW}"),
    ({"results/b/extra": b""}, False, "has results/b/extra, which files.json does not list"),
    ({"../out": b"x"}, True, "would lie outside the folder"),
    ({"/etc/x": b"x"}, True, "would lie outside the folder"),
    ({"a/../../x": b"x"}, True, "would lie outside the folder"),
    ({"c:\\\\x": b"x"}, True, "would lie outside the folder"),
    ({FILES: b"{"}, False, "has no readable files.json"),
    ({FILES: b"[]"}, False, "has no readable files.json"),
    ({FILES: b'{"files": {"a": 1}}'}, False, "has no readable files.json"),
    ({FILES: b'{"files": {"a": {"sha256": "0"}}}'}, False, "has no readable files.json"),
    ({".": b"x"}, True, "would lie outside the folder"),
    ({"results/b/archived.json": None}, True, "has no results/BOOKING/archived.json"),
])  # fmt: skip
def test_an_archive_that_is_not_whole_is_refused_by_name(tmp_path, change, listed, sentence):
    changed = _rezipped(written(tmp_path), change, listed)
    with pytest.raises(ArchiveError, match="^.*" + sentence.replace("\\", "\\\\")):
        unpack(changed, tmp_path / "out")
    assert not list(tmp_path.parent.glob("out")) and not (tmp_path / "x").exists()


def test_a_member_that_is_a_link_is_refused(tmp_path):
    path = written(tmp_path)
    with zipfile.ZipFile(path) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    out = tmp_path / "link.zip"
    with zipfile.ZipFile(out, "w") as opened:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if name == RAW else 0o100644) << 16
            opened.writestr(info, data)
    with pytest.raises(ArchiveError, match="no plain file"):
        unpack(out, tmp_path / "out")


@pytest.mark.parametrize("note", ['{"archive": "../../x.zip"}', '{"archive": "/x.zip"}', "[]", '{"archive": 1}', "{"])
def test_a_note_cannot_point_elsewhere(note, tmp_path):
    (tmp_path / "archive.json").write_text(note)
    with pytest.raises(ArchiveError, match="cannot be read"):
        place.archive_of(tmp_path)


def test_a_member_is_read_no_further_than_it_is_listed(tmp_path):
    bomb = _rezipped(written(tmp_path), {RAW: b"0" * 50_000_000})
    with pytest.raises(ArchiveError, match=RAW):
        unpack(bomb, tmp_path / "out")


def test_nothing_is_overwritten(tmp_path):
    path = written(tmp_path)
    unpack(path, tmp_path / "out")
    with pytest.raises(ArchiveError, match="exists already"):
        unpack(path, tmp_path / "out")
    restore.restore(path, tmp_path / "clone")
    assert (tmp_path / "clone/results/b/archived/config/bookings/b.yaml").read_bytes() == b"title: b\n"
    assert not (tmp_path / "clone/config").exists() and not (tmp_path / "clone/reports").exists()
    with pytest.raises(ArchiveError, match="exists already: nothing is overwritten"):
        restore.restore(path, tmp_path / "clone")


def test_a_text_file_is_no_archive(tmp_path):
    (tmp_path / "a.zip").write_text("hello")
    with pytest.raises(ArchiveError, match="cannot be read"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_a_reports_files_are_found_in_the_project_or_in_the_archive(tmp_path):
    report = tmp_path / "reports/b"
    report.mkdir(parents=True)
    with pytest.raises(ArchiveError, match="neither results/b"), place.tree_of(report):
        pass
    told = pack.pack(MEMBERS, report, "b")
    (report / "archive.json").write_text(json.dumps(told))
    with place.tree_of(report) as tree:
        assert (tree / RAW).read_bytes() == MEMBERS[RAW]
    (tmp_path / "results/b/sessions").mkdir(parents=True)
    with place.tree_of(report) as tree:
        assert tree == tmp_path


SAYS = {"booking": "b", "stores": ["s1-base-0123456789ab"], "superseded": [],
        "configuration": ["config/bookings/b.yaml"],
        "registered": ["registry/node_kind=h200/20260911-230548_a.parquet"], "commit": "", "code": {}}  # fmt: skip


@pytest.mark.parametrize("changed", [
    {"registered": ["snakemake.py"]}, {"registered": [".git/hooks/post-checkout"]}, {"registered": ["../../x"]},
    {"registered": ["registry/../node_kind=x/20260911-230548_a.parquet"]}, {"registered": [1]}, {"registered": "abc"},
    {"registered": [".x/node_kind=x/20260911-230548_a.parquet"]}, {"configuration": [["a"]]}, {"configuration": None},
    {"configuration": ["../x"]}, {"configuration": ["/etc/passwd"]}, {"stores": ["../evil"]}, {"stores": None},
    {"registered": ["workflow/node_kind=x/20260911-230548_a.parquet"]},
    {"booking": "../../evil"}, {"booking": "a b"}, {"booking": "-x"}, {"booking": 1}, {"code": "abc"}, {"commit": None},
], ids=str)  # fmt: skip
def test_what_an_archive_says_of_itself_cannot_name_a_place_in_a_project(changed):
    assert from_json(SAYS).registered == tuple(SAYS["registered"])
    with pytest.raises(ArchiveError, match=r"archived\.json"):
        from_json({**SAYS, **changed})
    with pytest.raises(ArchiveError, match=r"archived\.json"):
        from_json([1])


def restorable(folder: Path, told: object = None, **more: bytes) -> Path:
    """An archive of a booking without sessions, as small as one can be."""
    value = json.dumps(SAYS | {"stores": [], "registered": [], "configuration": []} if told is None else told)
    held = {"results/b/archived.json": value.encode(), "config/config.yaml": b"booking: b", **more}
    packed = pack.pack(held, folder, "b")
    return folder / packed["archive"]


def test_a_booking_is_restored_into_a_clone_and_nothing_beside_it(tmp_path):
    clone = tmp_path / "clone"
    clone.mkdir()
    restore.restore(restorable(tmp_path, **{"results": b"x"}), clone)
    kept = {str(path.relative_to(clone)) for path in clone.rglob("*") if path.is_file()}
    assert kept == {"results/b/archived.json", "results/b/archived/config/config.yaml"}


@pytest.mark.parametrize(("told", "sentence"), [
    (SAYS | {"booking": "c", "stores": [], "registered": [], "configuration": []}, "in the place of b"),
    ("no JSON", "in the form|lacks"), (SAYS | {"stores": []}, "does not hold it"),
    (SAYS, "cannot be read"), ([1], "lacks"),
])  # fmt: skip
def test_an_archive_that_contradicts_itself_is_refused_whole(tmp_path, told, sentence):
    clone = tmp_path / "clone"
    clone.mkdir()
    with pytest.raises(BenchbookError, match=sentence):
        restore.restore(restorable(tmp_path, told), clone)
    assert not any(path.is_file() for path in clone.rglob("*"))


def test_raw_files_that_are_not_what_was_measured_are_neither_archived_nor_restored(tmp_path):
    results = tmp_path / "p/results/b"
    for name, data in MEMBERS.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert RAW in members.measured(results, TOLD["stores"])
    (tmp_path / "p" / RAW).write_bytes(b"[1, 2, 4]" * 99)
    with pytest.raises(ArchiveError, match=r"bench\.json is not the file that was measured"):
        members.measured(results, TOLD["stores"])
    path = written(tmp_path / "x", {**MEMBERS, RAW: b"[1, 2, 4]" * 99})
    with pytest.raises(ArchiveError, match=r"bench\.json is not the file that was measured"):
        restore.restore(path, tmp_path / "clone")
    assert not any(path.is_file() for path in (tmp_path / "clone").rglob("*"))


def noise_file(folder):
    claimruns.noise("a").to_parquet(folder / "noise.parquet")
    return (folder / "noise.parquet").read_bytes()


def test_an_archive_is_without_the_tokens_times_of_warmup_readings_and_says_so(tmp_path):
    reading = RAW.replace("bench.json", "warmup/warmup_c1_w1/bench.json")
    files = {"bench.json": MEMBERS[RAW], "warmup/warmup_c1_w1/bench.json": b"[]"}
    manifest = {"sessions": [{"session": "20260911-230548", "files": {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items()}}]}  # fmt: skip
    for name, data in {**MEMBERS, reading: b"[]"}.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    results = tmp_path / "p/results/b"
    (results / "sessions/s1-a-0123456789ab.json").write_text(json.dumps(manifest))
    assert reading not in members.measured(results, TOLD["stores"])
    left = members.left_out(results, TOLD["stores"])
    assert left == {reading.removeprefix("results/b/"): hashlib.sha256(b"[]").hexdigest()}
    covering = covered.Covering((masking.NOBODY,), {})
    covering.leave_out(left)
    (results / "scrubbed.json").write_bytes(covering.listed())
    assert rawdata.scrubbed(results) == {tuple(*left.items()): None}
    (tmp_path / "p" / reading).unlink()
    manifest["sessions"][0]["status"] = "complete"
    (session,) = rawdata.sessions(manifest, results / "raw/s1-a-0123456789ab")
    assert set(session.digests) == {"bench.json"} and set(session.measured) == set(files)


def test_a_refused_restore_leaves_no_file_in_the_registry(tmp_path):
    clone, name = tmp_path / "clone", "registry/node_kind=h200/20260911-23054{}_a.parquet"
    told = SAYS | {"stores": [], "registered": [name.format(8), name.format(9)], "configuration": []}
    with pytest.raises(BenchbookError):
        restore.restore(restorable(tmp_path, told, **{name.format(8): noise_file(tmp_path)}), clone)
    with pytest.raises(BenchbookError):
        restore.restore(restorable(tmp_path, told, **{name.format(8): b"PAR1", name.format(9): b"PAR1"}), clone)
    assert not any(path.is_file() for path in clone.rglob("*"))


def test_logs_of_rules_are_covered_by_every_session_and_raw_files_by_their_own():
    one, two = masking.Identity(user="alice"), masking.Identity(user="carol")
    sessions = {"raw/s/1": one, "raw/s/2": two}
    assert covered.owners("results/b/logs/session.log", sessions) == (one, two)
    assert covered.owners("results/b/raw/s/2/server.log", sessions) == (two,)
    assert covered.owners("results/b/tables/runs.parquet", sessions) == (masking.NOBODY,)


def test_code_that_lies_in_the_project_folder_is_not_what_snakemake_is(tmp_path):
    (tmp_path / "snakemake.py").write_text("open('ran', 'w')")
    restore.make_report("b", tmp_path, 1)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("folder", ["/nonexistent", "/tmp", "/"])
def test_what_is_no_folder_of_a_report_is_refused_in_a_sentence(folder):
    with pytest.raises(ArchiveError, match="name the folder reports/BOOKING"), place.tree_of(Path(folder)):
        pass


def test_raw_files_are_covered_and_listed_and_a_report_is_refused():
    covering = covered.Covering((masking.Identity(user="alice"),), {})
    name = "results/b/raw/s/20260911-230548/server.log"
    log = b"model='/home/carol/m' for alice"
    told = covering.member(name, log)
    assert told == b"model='/home/xxxxx/m' for xxxxx"
    (entry,) = json.loads(covering.listed())["files"]
    assert entry["file"] == "raw/s/20260911-230548/server.log" and entry["covered"] == {"home path": 1, "user name": 1}
    assert (entry["before"], entry["after"]) == tuple(hashlib.sha256(data).hexdigest() for data in (log, told))
    assert b"carol" not in covering.listed() and b"alice" not in covering.listed()
    with pytest.raises(ArchiveError, match=r"reports/b/report.html shows what may not be published \(user name\)"):
        covering.member("reports/b/report.html", b"<p>alice</p>")
    data = io.BytesIO()
    pd.DataFrame({"reason": ["key of alice"]}).to_parquet(data)
    with pytest.raises(ArchiveError, match=r"results/b/tables/runs\.parquet shows"):
        covering.member("results/b/tables/runs.parquet", data.getvalue())


def test_code_with_a_secret_in_it_is_not_archived_and_other_files_beside_it_are_none(tmp_path):
    token = "hf_" + "abcdefghijklmnopqrstuvwxyz"
    with pytest.raises(ArchiveError, match="holds what looks like a secret"):
        write._without_secrets("scripts/run.py", f"TOKEN = '{token}'".encode())
    assert write._without_secrets("scripts/run.py", b"TOKEN = os.environ['HF_TOKEN']").startswith(b"TOKEN")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/run.py").touch()
    (tmp_path / "scripts/run-me.sh").write_text(token)
    assert set(members.code(tmp_path)) == {"scripts/run.py"}
    for name, path in members.code(Path(__file__).parents[2]).items():
        write._without_secrets(name, path.read_bytes())


def test_csv_keeps_every_digit_and_no_cell_is_a_formula():
    frame = pd.DataFrame({"x": [0.1 + 0.2, None], "n": pd.array([-1, None], dtype="Int64"), "t": ["=cmd()", None]})
    text = tables.as_csv(frame)
    assert text == "x,n,t\n0.30000000000000004,-1,'=cmd()\n,,\n"


class _Context(BaseAdapter):
    """Answers for w3id.org with the context that the rocrate package ships, in the terms of version 1.1."""

    def send(self, request, **_):
        text = (Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
        body = io.BytesIO(text.replace(b"https://bioschemas.org/terms/", b"https://bioschemas.org/"))
        raw = HTTPResponse(body=body, status=200, headers={"Content-Type": "application/ld+json"},
                           preload_content=False)  # fmt: skip
        return HTTPAdapter().build_response(request, raw)

    def close(self):
        pass


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """A cache of the validator's that holds the one document it asks for, so that it needs no network."""
    path = tmp_path_factory.mktemp("cache") / "http"
    with requests_cache.CachedSession(str(path), backend="sqlite", expire_after=-1) as session:
        session.mount("https://", _Context())
        assert isinstance(session, requests.Session)
        assert session.get("https://w3id.org/ro/crate/1.1/context").ok
    return path


def test_the_crate_is_a_workflow_run_crate_for_an_independent_reader(tmp_path, context):
    described = crate.describe(MEMBERS, RUN)
    assert described == crate.describe(dict(reversed(MEMBERS.items())), RUN)
    path = written(tmp_path, {**MEMBERS, crate.METADATA: described})

    def issues(archive: Path) -> list[str]:
        found = services.validate({
            "rocrate_uri": str(archive), "profile_identifier": "workflow-run-crate", "offline": True,
            "cache_path": str(context), "requirement_severity": models.Severity.REQUIRED,
        })  # fmt: skip
        return [issue.message for issue in found.get_issues()]

    assert issues(path) == []
    broken = json.loads(described)
    broken["@graph"] = [item for item in broken["@graph"] if item["@id"] != "workflow/Snakefile"]
    assert issues(_rezipped(path, {crate.METADATA: json.dumps(broken).encode()}, listed=True))


def test_a_full_disk_leaves_no_part_and_one_sentence(tmp_path, monkeypatch):
    def full(path, members):
        path.write_bytes(b"1")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pack, "_write", full)
    with pytest.raises(ArchiveError, match=r"No space left on device.*Free the disk"):
        pack.pack(MEMBERS, tmp_path, "b")
    assert not list(tmp_path.iterdir())
