"""`benchbook check`: what it prints, its exit codes, and that no file whatever makes it fall over."""

from __future__ import annotations

import copy
import gzip
import json
import random

import pytest
from benchbook import cli
from benchbook.check import figures
from benchforms import LOGS, RECORDINGS, noted, old, printed, sglang, simulated, without_lists

C64 = RECORDINGS / "base-c64-r1.bench.json.gz"
STEADY = {"concurrency": 2, "num_prompts": 40, "lin": 8, "lout": 64, "ranks": 1, "t_fixed_ms": 30.0, "c_ms": 0.0}


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", *map(str, words)])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def written(tmp_path, value, name="r.json"):
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_nothing_wrong_is_exit_code_0(tmp_path, capsys):
    code, out, err = run(capsys, written(tmp_path, simulated(**STEADY)[1]))
    assert code == 0 and err == "" and out.splitlines()[2].startswith("UNREPLICATED: ")
    assert "withheld  n < 64" in out and "Not checked" in out and "--metrics-before" in out


def test_the_verdict_comes_first_then_tags_then_figures(capsys):
    code, out, err = run(capsys, C64, "--telemetry", RECORDINGS / "base-c64-r1.telemetry.jsonl.gz", "--log",
                         RECORDINGS / "base.server.log.gz")  # fmt: skip
    assert code == 1 and err == ""
    assert out.index("CONFOUNDED: 3,366.1 tok/s") < out.index("\nUNSTEADY ") < out.index("  Requests completed")
    for words in ("in the run                 98.2 %", "(naive)         48.0 %", "-0.14 % (pass)", "withheld  n < 662"):
        assert words in out
    assert max(map(len, out.splitlines()[1:])) <= 100


def test_all_failed(capsys):
    code, out, _ = run(capsys, LOGS / "own-vllm-0.32-bench-all-failed.txt")
    assert code == 1 and "REFUSED: Nothing may be claimed" in out and "0.00" not in out


def test_json_of_one_and_of_several(tmp_path, capsys):
    _, result = simulated(**STEADY)
    code, out, _ = run(capsys, written(tmp_path, result), "--json")
    assert code == 0 and json.loads(out)["verdict"] == "UNREPLICATED"
    assert list(json.loads(out)["metrics"]) == list(figures.METRICS)
    several = [result, without_lists(result), sglang(result), old(result)]
    lines = "\n".join(json.dumps(value) for value in several)
    for text in (json.dumps(several), lines, lines + "\n"):
        code, out, _ = run(capsys, written(tmp_path, text), "--json")
        assert code == 0 and len(json.loads(out)) == 4
    code, out, _ = run(capsys, written(tmp_path, lines + '\n{"duration": 3, "compl'), "--json")
    assert code == 0 and "left out" in json.loads(out)[-1]["notes"][-1]
    text = printed(result) + "noise\n" + printed(result, failed=False)
    code, out, _ = run(capsys, written(tmp_path, text, "r.txt"), "--json")
    assert [one["metrics"]["failed"] for one in json.loads(out)] == [0, None]


@pytest.mark.parametrize("data, words", [
    (b"", "is empty"), (b"  \n", "is empty"), (b"\x00\x01\x02", "is binary"), (b"plain words\n", "neither JSON"),
    (b'{"duration": 3, ', "cut short"), (b"[1, 2]", "without a benchmark"), (b"{}", "without a benchmark"),
    (b"\x1f\x8bnot gzip", "broken gzip"), (b"=== Serving Benchmark Result ===\nnothing", "neither JSON"),
])  # fmt: skip
def test_what_cannot_be_read_is_one_sentence(tmp_path, capsys, data, words):
    path = tmp_path / "r.json"
    path.write_bytes(data)
    code, out, err = run(capsys, path)
    assert code == 2 and out == "" and words in err and err.count("\n") == 1 and "Traceback" not in err


def test_files_beside_that_cannot_be_read(tmp_path, capsys):
    result, empty = written(tmp_path, simulated(**STEADY)[1]), written(tmp_path, "", "empty")
    assert run(capsys, tmp_path / "none.json")[0] == 2
    assert run(capsys, tmp_path)[0] == 2
    for words in (["--telemetry", empty], ["--log", empty], ["--metrics-before", empty],
                  ["--metrics-before", empty, "--metrics-after", empty], ["--telemetry", result], ["--utc-offset", 99],
                  ["--output-len", 0]):  # fmt: skip
        code, out, err = run(capsys, result, *words)
        assert code == 2 and out == "" and "Traceback" not in err


def test_scrapes_belong_to_one_result(tmp_path, capsys):
    _, result = simulated(**STEADY)
    path = written(tmp_path, [result, result])
    page = written(tmp_path, 'vllm:generation_tokens_total{engine="0"} 5.0\n', "m.prom")
    code, _, err = run(capsys, path, "--metrics-before", page, "--metrics-after", page)
    assert code == 2 and "one" in err


GARBAGE = [None, True, -1, 0, 1, 1e308, -1e308, float("nan"), float("inf"), 10**30, 2**40, "", "12", "x" * 50, [], {},
           [[]], [None], {"a": [1]}, 0.5, "20261130-150313", "00010101-000000"]  # fmt: skip


def mutated(value, rng):
    """A JSON value with a few of its parts replaced, dropped or doubled."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 4)):
        place = value
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.6:
                place = place[key]
                continue
            act = rng.random()
            if act < 0.6:
                place[key] = copy.deepcopy(rng.choice(GARBAGE))
            elif act < 0.8:
                del place[key]
            elif isinstance(place, list):
                place.append(place[key])
            break
    return value


def damaged(text, rng):
    """Text with bytes cut out, doubled or replaced."""
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 6)):
        start = rng.randrange(max(1, len(data)))
        end = min(len(data), start + rng.choice([1, 3, 40, 4000]))
        act = rng.randrange(3)
        data[start:end] = (b"", data[start:end] * 2, bytes(rng.randrange(256) for _ in range(end - start)))[act]
    return bytes(data)


def test_no_file_makes_it_fall_over(tmp_path, capsys):
    rng = random.Random(20261130)
    _, result = simulated(**(STEADY | {"lout": 6, "t_fixed_ms": 400.0}))
    recorded = json.loads(gzip.decompress((RECORDINGS / "base-c1-r1.bench.json.gz").read_bytes()))
    telemetry = gzip.decompress((RECORDINGS / "base-c1-r1.telemetry.jsonl.gz").read_bytes()).decode().splitlines()
    log = gzip.decompress((RECORDINGS / "base.server.log.gz").read_bytes()).decode()[-20_000:]
    page = 'vllm:generation_tokens_total{engine="0"} 5.0\nvllm:prompt_tokens_total 7\nvllm:num_preemptions_total 1\n'
    smi = "timestamp, index, utilization.gpu [%], power.draw [W]\n" + "\n".join(
        f"2026/11/30 15:01:{second:02d}.500, 0, 99 %, 600.1 W" for second in range(60)
    )
    forms = [result, old(result), without_lists(result), sglang(result), sglang(result, backend="sglang"), recorded,
             noted(result)]  # fmt: skip
    path, beside = tmp_path / "r", tmp_path / "beside"
    seen = []
    for turn in range(360):
        value = rng.choice(forms)
        kind, words = turn % 6, []
        if kind == 0:
            path.write_bytes(damaged(json.dumps(value), rng))
        elif kind == 1:
            path.write_bytes(damaged(printed(result, accept=rng.choice([None, 2.5])), rng))
        elif kind in (2, 3):
            path.write_text(json.dumps(mutated(value, rng)), encoding="utf-8")
        else:
            path.write_text(json.dumps(recorded if kind == 4 else mutated(recorded, rng)), encoding="utf-8")
            lines = [json.dumps(mutated(json.loads(line), rng)) if rng.random() < 0.1 else line for line in telemetry]
            option, text = rng.choice([("--telemetry", "\n".join(lines)), ("--telemetry", smi), ("--log", log)])
            beside.write_bytes(text.encode() if rng.random() < 0.4 else damaged(text, rng))
            words = [option, beside]
            if rng.random() < 0.3:
                beside.write_bytes(damaged(page, rng))
                words = ["--metrics-before", beside, "--metrics-after", beside]
        if turn % 2:
            words.append("--json")
        code, out, err = run(capsys, path, *words)
        assert code in (0, 1, 2) and "Traceback" not in err, (turn, path.read_bytes()[:300])
        assert (code == 2) == (out == "") and err.count("\n") == (code == 2)
        if out and turn % 2:
            told = json.loads(out, parse_constant=pytest.fail)
            for one in told if isinstance(told, list) else [told]:
                assert list(one["metrics"]) == list(figures.METRICS)
                assert one["verdict"] == "REFUSED" or (one["verdict"] == "CONFOUNDED") == bool(one["tags"])
        seen.append(code)
    assert set(seen) == {0, 1, 2}
