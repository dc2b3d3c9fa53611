"""`benchbook facts`: what it prints, its exit codes, and that no text whatever makes it fall over."""

from __future__ import annotations

import gzip
import json
import random
import sys

import pytest
from benchbook import cli
from benchbook.engines import facts, facts_text, metrics_page
from enginelogs import SIDECARS, TESTS, recorded, sidecar, text_of

LOGS = TESTS / "logs"


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["facts", *map(str, words)])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize("path", SIDECARS, ids=lambda path: path.stem)
def test_exit_code_and_json(path, capsys):
    expected = sidecar(path)
    code, out, err = run(capsys, path.parent / expected["file"], "--json")
    told = json.loads(out)
    assert code == (1 if expected.get("failure") else 0) and err == ""
    assert all(told[key] == value for key, value in expected["expect"].items())
    assert (told["failure"] or {}).get("class") == (expected.get("failure") or {}).get("class")
    code, out, err = run(capsys, path.parent / expected["file"])
    assert out.startswith("FAILED" if expected.get("failure") else "eng") and err == ""


def test_a_failure_comes_first_with_its_remedy(tmp_path, capsys):
    path = tmp_path / "server.log"
    path.write_text(recorded("h200-boot-nokv"), encoding="utf-8")
    code, out, _ = run(capsys, path, "--exit-code", 1)
    assert code == 1 and out.splitlines()[0].split() == ["FAILED", "no_kv_memory", "in", "kv_allocation"]
    assert "what to do" in out.split("\n\n")[0] and "55.97 GiB" in out


def test_a_healthy_boot_is_shown_by_phase(tmp_path, capsys):
    path = tmp_path / "server.log"
    path.write_text(recorded("h200-qwen3moe"), encoding="utf-8")
    code, out, _ = run(capsys, path)
    assert code == 0
    for words in ("774,352 tokens", "51 PIECEWISE, 51 FULL: 22 s, 0.80 GiB", "Boot: 189 s", "fused_moe_kernel"):
        assert words in out


def test_an_exit_code_makes_a_log_that_stops_a_failure(tmp_path, capsys):
    path = tmp_path / "server.log"
    path.write_text(recorded("h200-qwen3moe"), encoding="utf-8")
    code, out, _ = run(capsys, path, "--exit-code", -9, "--json")
    assert code == 1 and json.loads(out)["failure"]["class"] == "silent_stop"
    code, out, _ = run(capsys, path, "--exit-code", -9, "--oom-kills", 1, "--json")
    assert json.loads(out)["failure"]["class"] == "host_oom_killed"
    assert run(capsys, path, "--exit-code", 143)[0] == 0, "it was asked to end"


@pytest.mark.parametrize(("content", "says"), [
    (b"", "is empty"), (b" \n\r\n", "is empty"), (bytes(range(256)) * 20, "is binary"),
    (b"# vllm\n\nprose", "is no text"), (b'{"vllm": 1}', "is no text"),
])  # fmt: skip
def test_what_cannot_be_read_gets_one_sentence(tmp_path, capsys, content, says):
    path = tmp_path / "x.log"
    path.write_bytes(content)
    code, out, err = run(capsys, path)
    assert code == 2 and out == "" and says in err and len(err.strip().splitlines()) == 1


def test_a_missing_file(tmp_path, capsys):
    code, _, err = run(capsys, tmp_path / "none.log")
    assert code == 2 and "none.log" in err and len(err.strip().splitlines()) == 1


def test_a_log_in_utf_16(tmp_path, capsys):
    path = tmp_path / "server.log"
    path.write_text(recorded("h200-boot-nokv"), encoding="utf-16")
    assert run(capsys, path)[0] == 1


def test_engine_steps_only_where_they_count_once():
    single = metrics_page.parse((LOGS / "own-vllm-0.32-metrics-api1.prom").read_text())
    four = metrics_page.parse((LOGS / "own-vllm-0.32-metrics-api4.prom").read_text())
    two_engines = metrics_page.parse((LOGS / "own-vllm-0.32-metrics-dp2.prom").read_text())
    assert (single.engine_steps, four.engine_steps, two_engines.engine_steps) == (3004, None, None)
    assert metrics_page.parse('vllm:x{engine="0"} 1') == metrics_page.Page({}, None)
    assert metrics_page.parse("# HELP other 1\nother 1") is None


def test_mutated_logs_never_raise():
    dice = random.Random(20261130)
    texts = [text_of(path) for path in SIDECARS] + [recorded("h200-qwen3moe")[:20000], recorded("h200-boot-nokv")]
    alphabet = "0123456789-.,:{}[]()'\"\\ \n\r\t\x1b\x00%|/█é\ufffdEFINOR"
    for _ in range(400):
        text = list(dice.choice(texts))
        for _ in range(dice.randint(1, 60)):
            at = dice.randrange(len(text))
            what = dice.randrange(4)
            if what == 0:
                text[at] = dice.choice(alphabet)
            elif what == 1:
                del text[at : at + dice.randint(1, 400)]
            elif what == 2:
                text[at:at] = text[dice.randrange(len(text)) :][: dice.randint(1, 400)]
            else:
                text[at:at] = dice.choice(alphabet) * dice.randint(1, 40)
            text = text or ["x"]
        found = facts.read("".join(text), exit_code=dice.choice([None, 0, 1, -9]), oom_kills=dice.choice([None, 0, 1]))
        if found is not None:
            json.dumps(found, allow_nan=False)
            list(facts_text.lines_of(found))


def test_numbers_beyond_measure():
    digits = "9" * (sys.get_int_max_str_digits() + 1)
    lines = ["KV cache size: D tokens", "Graph capturing finished in D secs, took 1 GiB",
             "Model loading took D GiB and D seconds", "non-default args: {'a': D}"]  # fmt: skip
    text = "\n".join(f"INFO 06-01 10:00:00 [vllm.py:1] {line.replace('D', digits)}" for line in lines)
    found = facts.read(text)
    json.dumps(found, allow_nan=False)
    assert found["kv_tokens"] is None and found["capture"] is None and found["load"] is None
    block = "============ Serving Benchmark Result ============\nSuccessful requests:   " + digits
    assert facts.read(block)["ok"] is None


def test_of_several_boots_in_one_file_the_last_is_told(tmp_path, capsys):
    healthy, failed = ((LOGS / f"own-vllm-0.32-cpu-{name}.log").read_text(encoding="utf-8")
                       for name in ("ok-api2", "fail-no-kv-memory"))  # fmt: skip
    path = tmp_path / "server.log"
    path.write_text(healthy + failed)
    code, out, _ = run(capsys, path, "--json")
    assert code == 1 and json.loads(out)["boots"] == 2 and json.loads(out)["kv_tokens"] is None
    path.write_text(failed + healthy)
    code, out, _ = run(capsys, path)
    assert code == 0 and "2 boots" in out


def test_a_gzipped_log_is_read(tmp_path, capsys):
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress((LOGS / "own-vllm-0.32-cpu-ok-dp2.log").read_bytes()))
    assert run(capsys, path)[0] == 0
    path.write_bytes(path.read_bytes()[:200])
    assert run(capsys, path)[0] == 2
