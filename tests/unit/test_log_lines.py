"""The reader of log text: prefixes, stamps and line ends of every source."""

from __future__ import annotations

import pytest
from benchbook.engines.log_lines import LONGEST, Record, lines, records, seconds, without_answered


@pytest.mark.parametrize(("line", "record"), [
    ("INFO 03-12 12:00:01 [cuda.py:221] Using Flash", Record(None, "INFO", "03-12 12:00:01", "Using Flash")),
    ("(EngineCore_DP0 pid=7) INFO 03-12 12:00:01 [c.py:1] a", Record("EngineCore_DP0", "INFO", "03-12 12:00:01", "a")),
    ("\x1b[1;36m(APIServer pid=7)\x1b[0;0m WARNING 03-12 12:00:01 [c.py:1] a",
     Record("APIServer", "WARNING", "03-12 12:00:01", "a")),
    ("(EngineCore pid=1) (Worker_DP0_TP1_EP0 pid=2) ERROR 03-12 12:00:01 [c.py:1]   File",
     Record("Worker_DP0_TP1_EP0", "ERROR", "03-12 12:00:01", "  File")),
    ("(VllmWorker rank=1 pid=2) INFO 03-12 12:00:01 [c.py:1] a",
     Record("VllmWorker_1", "INFO", "03-12 12:00:01", "a")),
    ("(APIServer pid=604) INFO:     Started server process [604]",
     Record("APIServer", "INFO", None, "Started server process [604]")),
    ("2026-03-09 18:51:13.905 | (EngineCore pid=2) INFO 03-09 16:51:13 [a.py:1] b",
     Record("EngineCore", "INFO", "03-09 16:51:13", "b")),
    ("vllm-1  | 2026-03-09T18:51:13.905Z (EngineCore pid=2) b", Record("EngineCore", None, None, "b")),
    ("2026-03-09T18:51:13.905+02:00 stderr F INFO 03-09 16:51:13 [a.py:1] b",
     Record(None, "INFO", "03-09 16:51:13", "b")),
    ("Nov 30 15:15:28 node7 vllm[123]: INFO 11-30 15:15:28 [a.py:1] b", Record(None, "INFO", "11-30 15:15:28", "b")),
    ("(EngineCore pid=2) 2026-03-09 16:52:08,125 - INFO - autotuner.py:1 - flashinfer.jit: [Autotuner]: x",
     Record("EngineCore", "INFO", "03-09 16:52:08", "[Autotuner]: x")),
    ("[2026-03-09 11:28:40 DP7 TP30 EP30] Load weight end.", Record("DP7 TP30", None, "03-09 11:28:40",
                                                                    "Load weight end.")),
    ("[2026-03-09 11:28:40] INFO:     Application startup complete.",
     Record(None, "INFO", "03-09 11:28:40", "Application startup complete.")),
    ("ValueError: plain", Record(None, None, None, "ValueError: plain")),
])  # fmt: skip
def test_a_line_is_taken_apart(line, record):
    assert records(line) == [record]


def test_a_bar_that_ends_on_the_next_record():
    bar = "(EngineCore pid=1) \rCapturing CUDA graphs (decode, FULL):  50%|▌| 1/2 [00:01<00:01]"
    bar += "\rCapturing CUDA graphs (decode, FULL): 100%|█| 2/2 [00:02<00:00, 1.0it/s]"
    found = records(bar + "(EngineCore pid=1) INFO 11-30 14:59:27 [g.py:1] Graph capturing finished in 2 secs\n")
    assert [record.text.split(":")[0] for record in found[1:]] == [
        "Capturing CUDA graphs (decode, FULL)", "Capturing CUDA graphs (decode, FULL)",
        "Graph capturing finished in 2 secs",
    ]  # fmt: skip
    assert found[-1].time == "11-30 14:59:27"


def test_every_kind_of_line_end():
    assert lines("a\r\nb\rc\n\n  \nd\x1b[0m\x00") == ["a", "b", "c", "d"]


def test_a_line_without_end_is_cut():
    assert len(records("x" * (3 * LONGEST))[0].text) == LONGEST


def test_seconds_in_order():
    assert seconds("03-01 00:00:00") - seconds("02-29 23:59:59") == 1
    assert seconds("13-01 00:00:00") is None


ANSWERED = '(APIServer pid=604) INFO:     127.0.0.1:40000 - "POST /v1/completions HTTP/1.1" 200 OK'


def test_requests_that_went_well_are_left_out():
    told = ["(APIServer pid=604) INFO:     Application startup complete.", "KV cache size: 1,000 tokens"]
    plain = ANSWERED.removeprefix("(APIServer pid=604) ")
    text = "\n".join([ANSWERED, told[0], plain, ANSWERED, told[1], ANSWERED, ""])
    assert without_answered(text) == "\n".join([*told, ""])
    assert without_answered("") == ""


@pytest.mark.parametrize("line", [
    ANSWERED.replace("200 OK", "500 Internal Server Error"), f"Capturing CUDA graphs: 51%|#| 1/2{ANSWERED}",
    f"{ANSWERED} ", f"KV cache size: 1,000 tokens\r{ANSWERED}", ANSWERED.replace("/v1", "/?startup plan"),
    ANSWERED.replace("/v1/", "/'max_capture_size': 4"),
])  # fmt: skip
def test_a_request_with_anything_beside_it_stays(line):
    assert without_answered(line) == line
