"""`benchbook load` as a person uses it: what it says, what it leaves, and its exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import scriptedserver
from benchbook import cli
from benchbook.load import bar
from benchbook.measure.client.tally import Progress
from project import ROOT
from scriptedserver import HEAD, completion, serving, token


def answering(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
    link.sendall(completion(body["max_tokens"], len(body["prompt"])))
    return True


def every_other_fails(link: socket.socket, number: int, body: dict[str, Any]) -> bool:
    if number % 2:
        link.sendall(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")
        return True
    return answering(link, number, body)


def load(server: scriptedserver.Scripted, *words: str) -> int:
    """Exit code of `benchbook load` in this process; signal handlers are put back."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main(["load", server.url, "--model", "m", *words])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return int(ended.value.code or 0)


def test_it_says_how_the_server_did(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(answering) as server:
        code = load(server, "--concurrency", "2", "--input-tokens", "7", "--output-tokens", "5", "--seed", "3")
        assert {len(body["prompt"]) for _, _, body in server.seen} == {7}
    out, err = capsys.readouterr()
    assert code == 0
    assert "8 of 8 requests ended well" in out
    assert "56 and 40 tokens" in out
    assert "withheld" in out
    assert "7 tokens in, 5 tokens out, 2 in flight, seed 3" in err


def test_what_it_leaves_is_read_by_check_and_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with serving(answering) as server:
        assert load(server, "--out", str(out), "--output-tokens", "5") == 0
        assert sorted(path.name for path in out.iterdir()) == ["chunks.parquet", "requests.parquet", "result.json"]
        before = (out / "result.json").read_bytes()
        assert load(server, "--out", str(out)) == 2
    assert (out / "result.json").read_bytes() == before
    requests, chunks = (pd.read_parquet(out / f"{name}.parquet") for name in ("requests", "chunks"))
    assert requests["ok"].tolist() == [True] * 4 and set(requests["requested_output_tokens"]) == {5}
    assert len(chunks) == 20 and chunks.groupby("request")["t_s"].min().tolist() == pytest.approx(
        (requests["ttft_ms"] / 1000).tolist()
    )
    assert "exists already" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["check", str(out / "result.json"), "--json"])
    examined = json.loads(capsys.readouterr().out)
    assert examined["metrics"]["completed"] == 4
    assert examined["metrics"]["output_tokens"] == 20


@pytest.mark.parametrize(("allowed", "code"), [("0", 1), ("0.49", 1), ("0.5", 0)])
def test_the_share_that_may_fail_decides_the_exit_code(
    allowed: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(every_other_fails) as server:
        assert load(server, "--requests", "8", "--max-failed", allowed) == code
    out = capsys.readouterr().out
    assert "4 of 8 requests ended well" in out
    assert "4 http_status: the server answered with an error" in out
    assert "HTTP 500" in " ".join(out.split())


def test_json_has_the_result_without_its_lists(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(every_other_fails) as server:
        assert load(server, "--requests", "4", "--json") == 1
    value = json.loads(capsys.readouterr().out)
    assert (value["completed"], value["failed"]) == (2, 2)
    assert value["benchbook_client"]["failures"] == {"http_status": 2}
    assert not any(isinstance(item, list) for item in value.values())


def test_headers_and_key_reach_the_server_and_not_the_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    with serving(answering) as server:
        load(server, "--header", "X-Team: red", "--out", str(tmp_path / "out"))
        heads = [head for _, head, _ in server.seen]
    assert all(b"Authorization: Bearer sesame" in head and b"X-Team: red" in head for head in heads)
    assert "sesame" not in (tmp_path / "out" / "result.json").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--workload", "file"], "belong together"),
        (["--workload", "random", "--file", "x"], "belong together"),
        (["--arrival-times", "no-such-file"], "cannot be read"),
        (["--arrival-times", "some-file", "--rate", "3"], "give one of them"),
        (["--rate", "3", "--concurrency", "2", "--processes", "2"], "leave --processes out"),
        (["--rate", "1e-300"], "three years"),
        (["--extra", '{"n": 2}'], "cannot be set"),
        (["--workload", "file", "--file", "no-such-file"], "no-such-file"),
    ],
)
def test_what_cannot_be_sent_is_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(answering) as server:
        assert load(server, *words) == 2
        assert server.seen == []
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "words", [["--input-tokens", "9:3"], ["--concurrency", "0"], ["--rate", "-1"], ["--max-failed", "2"],
              ["--extra", "[]"], ["--header", "nocolon"], ["--header", "Content-Length: 3"], ["--seed", "x"]],
)  # fmt: skip
def test_a_word_that_is_none_is_refused_before_anything_is_sent(words: list[str]) -> None:
    with serving(answering) as server:
        assert load(server, *words) == 2
        assert server.seen == []


def test_ctrl_c_keeps_what_has_ended(tmp_path: Path) -> None:
    def then_hang(link: socket.socket, number: int, body: dict[str, Any]) -> bool:
        if number < 3:
            return answering(link, number, body)
        link.sendall(HEAD + token())
        time.sleep(20)
        return False

    with serving(then_hang) as server:
        command = [sys.executable, "-m", "benchbook", "load", server.url, "--model", "m", "--requests", "9",
                   "--out", str(tmp_path / "out")]  # fmt: skip
        environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 20
        while len(server.seen) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in err
    assert "3 of 4 requests ended well" in out
    assert "stopped before the other 5 were sent" in out
    value = json.loads((tmp_path / "out" / "result.json").read_text())
    assert value["benchbook"]["failure_kinds"] == [None, None, None, "interrupted"]


def test_the_progress_line_says_what_is_done_failed_and_left() -> None:
    line = bar.text(Progress(finished=25, failed=2, chunks=4000), 100, 10.0)
    assert "25 of 100 requests, 2 failed, 400 reads/s, 10 s, about 30 s left" in line
    assert line.startswith("[######..................]")
    assert "left" not in bar.text(Progress(100, 0, 10), 100, 10.0)


def test_reasoning_counts_as_first_token_and_the_answer_has_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def thinking(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        def delta(**said: str) -> bytes:
            return scriptedserver.event({"choices": [{"index": 0, "delta": said, "finish_reason": None}]})

        link.sendall(HEAD + delta(role="assistant", content="") + delta(reasoning="hm"))
        time.sleep(0.1)
        link.sendall(delta(content="so") * (body["max_completion_tokens"] - 1))
        link.sendall(scriptedserver.usage(4, body["max_completion_tokens"]) + scriptedserver.event("[DONE]"))
        link.sendall(scriptedserver.LAST)
        return True

    with serving(thinking) as server:
        assert load(server, "--endpoint", "chat", "--output-tokens", "4", "--requests", "2") == 0
    first = dict(re.findall(r"^  (TTFT|TTFT, answer) +([\d.]+)", capsys.readouterr().out, re.MULTILINE))
    assert float(first["TTFT"]) < 50
    assert float(first["TTFT, answer"]) > 100


def test_the_first_answer_of_a_request_that_failed_is_no_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def half_break_off(link: socket.socket, number: int, _body: dict[str, Any]) -> bool:
        def delta(**said: str) -> bytes:
            return scriptedserver.event({"choices": [{"index": 0, "delta": said, "finish_reason": None}]})

        link.sendall(HEAD + delta(reasoning="hm"))
        time.sleep(0.5 if number % 2 else 0.05)
        link.sendall(delta(content="so") * 3)
        if number % 2:
            return False
        link.sendall(scriptedserver.usage(4, 4) + scriptedserver.event("[DONE]") + scriptedserver.LAST)
        return True

    out = tmp_path / "out"
    with serving(half_break_off) as server:
        words = ("--endpoint", "chat", "--output-tokens", "4", "--requests", "4", "--out", str(out))
        assert load(server, *words) == 1
    said = capsys.readouterr().out
    (mean,) = re.findall(r"^  TTFT, answer +([\d.]+)", said, re.MULTILINE)
    assert float(mean) < 300
    assert "reasoning only" not in said
    noted = json.loads((out / "result.json").read_text())["benchbook"]
    assert [one is None for one in noted["answer_ttfts"]] == [kind is not None for kind in noted["failure_kinds"]]


def test_a_server_that_speaks_no_http_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def greet(listener: socket.socket) -> None:
        link, _ = listener.accept()
        link.recv(1 << 16)
        link.sendall(b"SSH-2.0-none\r\n")
        link.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=greet, args=(listener,), daemon=True).start()
        with pytest.raises(SystemExit) as ended:
            cli.main(["load", f"http://127.0.0.1:{listener.getsockname()[1]}"])
    assert ended.value.code == 2
    assert "name the model with --model" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with serving(answering) as server:
        assert load(server, "--out", str(tmp_path / "file")) == 2
        assert not server.seen
    assert "cannot be written" in capsys.readouterr().err
