"""What the native client's result says beyond vLLM's lists, as runs, requests and `benchbook check` read it."""

from __future__ import annotations

import json
import os
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from benchbook.check import examine, json_result, load
from benchbook.derive import client
from benchbook.measure import bench_result, client_process
from hypothesis import given
from hypothesis import strategies as st
from test_observed import THRESHOLDS, closed_loop, counted, run_row

OWN_COST: dict[str, Any] = {
    "name": "native", "loop": "uvloop", "processes": 1, "cpu_s": 0.4, "busiest_cpu_s": 0.4, "span_s": 4.0,
    "loop_lag_mean_ms": 0.1, "loop_lag_p99_ms": 0.8, "loop_lag_max_ms": 2.0, "receive_queue_mean_bytes": 40.0,
    "receive_queue_max_bytes": 900, "receive_wait_mean_ms": 0.2, "parse_s": 0.1,
}  # fmt: skip


def native(lengths: tuple[int, ...] = (4, 8), failed: dict[int, str] | None = None, **noted: Any) -> dict[str, Any]:
    """A result of requests with these output lengths, 50 ms to the first token and 10 ms to each further one."""
    failed = failed or {}
    ok = [index not in failed for index in range(len(lengths))]

    def each(good: Any, bad: Any) -> list[Any]:
        return [good(length) if fine else bad for length, fine in zip(lengths, ok, strict=True)]

    notes = {
        "stream_errors": [None] * len(lengths), "usage_tokens": each(int, None), "asked_tokens": list(lengths),
        "finished": ok, "chunks": each(int, 1), "empty_chunks": [[] for _ in lengths],
        "chunk_kinds": each(lambda n: "t" * n, "t"), "chunk_times": each(lambda n: None, [0.05]),
        "failure_kinds": [failed.get(index) for index in range(len(lengths))], "failure_s": each(lambda n: None, 0.3),
        "answer_ttfts": each(lambda n: 0.05, 0.05), "send_times": [0.001] * len(lengths),
        "connect_times": [0.002, *[None] * (len(lengths) - 1)], "cached_tokens": each(lambda n: 0, None),
    }  # fmt: skip
    return {
        "duration": 4.0, "completed": sum(ok), "failed": len(lengths) - sum(ok), "num_prompts": len(lengths),
        "request_rate": "inf", "max_concurrency": 1, "total_input_tokens": 8 * sum(ok),
        "total_output_tokens": sum(n for n, fine in zip(lengths, ok, strict=True) if fine),
        "input_lens": [8] * len(lengths), "output_lens": each(int, 0), "ttfts": each(lambda n: 0.05, 0.0),
        "itls": each(lambda n: [0.01] * (n - 1), []), "latencies": each(lambda n: 0.05 + 0.01 * (n - 1), 0.0),
        "start_times": list(accumulate([0.04 + 0.01 * n for n in lengths[:-1]], initial=7.0)),
        "errors": ["" if fine else f"{failed[index]}: in words\nand more" for index, fine in enumerate(ok)],
        "benchbook": notes | noted, "benchbook_client": OWN_COST,
    }  # fmt: skip


def test_lengths_that_vary_are_judged_by_what_each_request_asked_for() -> None:
    assert bench_result.judge(native(), 2, None) == bench_result.Judgement("ok", None, None)
    judged = bench_result.judge(native(asked_tokens=[4, 9]), 2, None)
    assert (judged.status, judged.kind) == ("incomplete", "short_output")
    assert judged.reason == "1 of 2 requests did not return the tokens asked for (first: 8 of 9)"
    same = bench_result.judge(native((4, 8), asked_tokens=[8, 8]), 2, 4)
    assert same.reason == "1 of 2 requests did not return the 8 tokens asked for (first: 4)", "the note goes first"


def test_a_result_that_does_not_say_what_was_asked_for_is_not_taken_for_whole() -> None:
    result = native()
    del result["benchbook"]
    judged = bench_result.judge(result, 2, None)
    assert judged.status == "incomplete" and judged.reason == "the result does not say how many tokens were asked for"
    assert bench_result.judge(native((4, 4)) | {"benchbook": None}, 2, 4).status == "ok"


def test_a_failure_has_its_kind_and_time_and_no_figures() -> None:
    ok, broken = bench_result.requests(native(failed={1: "read_gap"}))
    assert (broken.ok, broken.failure_kind, broken.failure_s) == (False, "read_gap", 0.3)
    assert broken.error == "read_gap: in words" and broken.ttft_s is None and broken.answer_ttft_s is None
    assert broken.asked_tokens == 8 and broken.send_s == 0.001 and broken.chunk_s == (0.05,)
    assert ok.failure_kind is None and (ok.connect_s, ok.cached_tokens) == (0.002, 0)
    judged = bench_result.judge(native(failed={1: "read_gap"}), 2, None)
    assert judged.reason == "1 of 2 requests failed: read_gap: in words"


def test_a_request_is_a_failure_where_the_client_says_so_whatever_vllms_lists_hold() -> None:
    result = native(failure_kinds=[None, "no_done"])
    assert [request.ok for request in bench_result.requests(result)] == [True, False]


def test_every_chunk_is_told_also_those_without_a_token() -> None:
    times = [0.01, 0.05, 0.06, 0.07, 0.08, 0.09]
    result = native((4,), chunk_kinds=["ettrte"], chunk_times=[times], connect_times=[None])
    (request,) = bench_result.requests(result)
    assert request.chunk_s == tuple(times) and request.chunk_kinds == "ettrte"
    assert len(request.itl_s) == 3 and request.ttft_s == 0.05


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30))
def test_chunk_times_follow_from_the_gaps_where_they_are_not_told(gaps: list[float]) -> None:
    result = native((len(gaps) + 1,), connect_times=[None]) | {"itls": [gaps]}
    (request,) = bench_result.requests(result)
    assert len(request.chunk_s) == len(gaps) + 1 and list(request.chunk_s) == sorted(request.chunk_s)
    assert request.chunk_s[-1] == pytest.approx(0.05 + sum(gaps))


def test_chunks_that_do_not_fit_the_gaps_are_not_made_up() -> None:
    (request,) = bench_result.requests(native((4,), chunk_kinds=["tt"], connect_times=[None]))
    assert request.chunk_s == ()


# --- whether the client bent the run ---

def judged(**told: Any) -> dict[str, Any]:
    return client.row(run_row(), closed_loop(), OWN_COST | told, counted(), THRESHOLDS)


def test_a_native_client_that_keeps_up_is_no_bottleneck() -> None:
    row = judged()
    assert row["saturated"] is None and (row["client"], row["loop"], row["processes"]) == ("native", "uvloop", 1)
    assert row["client_cpu_cores"] == row["client_busiest_cores"] == pytest.approx(0.1)
    assert (row["receive_wait_mean_ms"], row["receive_queue_max_bytes"]) == (0.2, 900)


def test_of_several_processes_the_busiest_counts() -> None:
    shared = judged(processes=4, cpu_s=8.0, busiest_cpu_s=2.4)
    assert shared["saturated"] is None and shared["client_cpu_cores"] == pytest.approx(2.0)
    assert shared["client_busiest_cores"] == pytest.approx(0.6)
    lopsided = judged(processes=4, cpu_s=8.0, busiest_cpu_s=3.8)
    assert lopsided["saturated"] == "the busiest of its 4 processes used 0.95 of a core, and each has one thread"
    alone = judged(cpu_s=3.8, busiest_cpu_s=3.8)
    assert alone["saturated"] == "it used 0.95 of a core, and it has one thread"


def test_bytes_that_wait_unread_are_the_clients_doing() -> None:
    row = judged(receive_wait_mean_ms=10.5)
    assert row["saturated"] == "what came waited 10.5 ms unread on average, against 10.0 ms between chunks"
    assert judged(receive_wait_mean_ms=9.5)["saturated"] is None


def test_vllms_client_is_judged_by_the_whole_of_its_one_process() -> None:
    row = client.row(run_row(client="vllm-bench"), closed_loop(), {"cpu_s": 3.9, "span_s": 4.0}, None, THRESHOLDS)
    assert row["client_busiest_cores"] == row["client_cpu_cores"] == pytest.approx(0.975)
    assert row["processes"] is None and "0.97 of a core" in row["saturated"]


# --- benchbook check ---

def examined(folder: Path, result: dict[str, Any], asked_tokens: int | None = None) -> dict[str, Any]:
    path = folder / "result.json"
    path.write_text(json.dumps(result))
    (read,) = load.results(path)
    return examine.examine(read, examine.Beside(asked_tokens=asked_tokens))


def whats(told: dict[str, Any], tag: str) -> list[str]:
    return [finding["what"] for finding in told["findings"] if finding["tag"] == tag]


def test_check_lists_failures_by_their_kind(tmp_path: Path) -> None:
    failed = {1: "read_gap", 2: "reset", 4: "read_gap"}
    told = examined(tmp_path, native((4,) * 6, failed=failed))
    assert whats(told, "INCOMPLETE") == ["3 of 6 requests failed (2 read_gap, 1 reset): read_gap: in words"]
    all_failed = examined(tmp_path, native((4, 4), failed={0: "refused", 1: "refused"}))
    assert whats(all_failed, "INCOMPLETE") == ["all 2 requests failed (2 refused): refused: in words"]


def test_check_knows_what_was_asked_for(tmp_path: Path) -> None:
    told = examined(tmp_path, native())
    assert not whats(told, "INCOMPLETE") and "output lengths as asked for" not in str(told["not_checked"])
    short = examined(tmp_path, native(asked_tokens=[4, 9]), asked_tokens=8)
    assert whats(short, "INCOMPLETE") == ["1 of 2 answers do not have the tokens asked for (first: 8 of 9)"]


def test_check_judges_the_client_by_its_own_figures(tmp_path: Path) -> None:
    told = examined(tmp_path, native())
    assert not whats(told, "CLIENT")
    assert [one["why"] for one in told["not_checked"] if one["what"] == "load client"] == [
        "without /metrics its latencies stand against none of the server's: give both scrapes"
    ]
    busy = examined(tmp_path, native() | {"benchbook_client": OWN_COST | {"busiest_cpu_s": 3.9}})
    assert whats(busy, "CLIENT") == ["the load client was a bottleneck: it used 0.97 of a core, and it has one thread"]


@pytest.mark.parametrize(("noted", "told"), [
    ({"asked_tokens": [4]}, "benchbook.asked_tokens is not one note a request"),
    ({"asked_tokens": [4, -1]}, "benchbook.asked_tokens holds what is no number of tokens"),
    ({"failure_s": [None, -2.0]}, "benchbook.failure_s[1] is '-2.0', no time in seconds"),
    ({"chunk_kinds": ["tttt", "x"]}, "benchbook.chunk_kinds[1] has letters other than t, r, c and e"),
    ({"chunk_times": [None, [0.1]]}, "benchbook.chunk_times[1] is not one time a chunk"),
    ({"chunk_times": [[0.1, 0.2, 0.3, "now"], None]}, "benchbook.chunk_times[0][3] is 'now', no time in seconds"),
    ({"answer_ttfts": [0.05, "soon"]}, "benchbook.answer_ttfts is not one note a request"),
])  # fmt: skip
def test_check_names_a_note_that_cannot_be(noted: dict[str, Any], told: str) -> None:
    read = json_result.read(native(**noted), "r")
    assert read.lists is None and read.broken == told


@pytest.mark.parametrize("told", [None, [], "x", {}, {"processes": "two", "cpu_s": float("nan"), "loop": 7}])
def test_whatever_a_client_is_said_to_have_cost_can_be_read(tmp_path: Path, told: Any) -> None:
    assert not whats(examined(tmp_path, native() | {"benchbook_client": told}), "CLIENT")


# --- its process ---

def test_the_clients_process_finds_this_package_and_nothing_in_the_current_folder() -> None:
    assert client_process.native_command() == [sys.executable, "-P", "-m", "benchbook.measure.client.serve"]
    environment = client_process.native_environment({"PYTHONPATH": "/elsewhere", "HOME": "/h"})
    first, second = environment["PYTHONPATH"].split(os.pathsep)
    assert (Path(first) / "benchbook" / "__init__.py").is_file() and second == "/elsewhere"
    assert environment["HOME"] == "/h"
    assert client_process.native_environment({})["PYTHONPATH"] == first
