"""The benchmarks' server keeps the truth: what it says of a request is what a client that does nothing else sees."""

from __future__ import annotations

import http.client
import json
import math
import shutil
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import known_server
from client_parts import queueing

needs_gcc = pytest.mark.skipif(not (shutil.which("gcc") or shutil.which("cc")), reason="needs a C compiler")
ROUNDING_S = 2e-7  # truth.csv has seven decimals
BODY = {"prompt": [5, 6, 7], "max_tokens": 4, "stream": True, "stream_options": {"include_usage": True}}


def events(answer: http.client.HTTPResponse) -> list[str]:
    return [line.removeprefix("data: ") for line in answer.read().decode().split("\n\n") if line]


def ask(server: known_server.KnownServer) -> tuple[float, list[str], float]:
    """When the request was about to be sent, the events of the answer, and when it had been read."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    line.connect()
    began_s = time.perf_counter()
    line.request("POST", "/v1/completions", json.dumps(BODY))
    found = events(line.getresponse())
    ended_s = time.perf_counter()
    line.close()
    return began_s, found, ended_s


@needs_gcc
def test_the_truth_lies_within_what_the_client_saw():
    with known_server.KnownServer("--ttft", "20", "--tpot", "10", "--exact") as server:
        ask(server)
        server.reset()
        seen = [ask(server) for _ in range(2)]
        truth = server.truth()
    assert len(truth.requests) == 2 and truth.peak == 1
    for (began_s, found, ended_s), served in zip(seen, truth.requests, strict=True):
        assert served.first_s is not None and served.last_s is not None
        assert began_s - ROUNDING_S <= served.seen_s <= served.arrival_s and served.end_s <= ended_s + ROUNDING_S
        assert served.first_s - served.arrival_s >= 0.02 - ROUNDING_S
        assert served.last_s - served.arrival_s >= 0.02 + 3 * 0.01 - ROUNDING_S
        assert served.first_s < served.last_s <= served.end_s
        assert (served.chunks, served.tokens, served.aborted) == (4, 4, False)
        assert served.size_bytes > len(json.dumps(BODY))
        assert found[-1] == "[DONE]" and len(found) == 4 + 2
        assert json.loads(found[-2])["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


@needs_gcc
@pytest.mark.parametrize(
    ("fault", "chunks"), [("http500", 0), ("errevent", 3), ("halfclose", 2), ("halfabort", 2)]
)  # fmt: skip
def test_a_fault_is_in_the_truth(fault: str, chunks: int):
    with known_server.KnownServer("--ttft", "1", "--tpot", "1", "--fault", fault) as server:
        line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        line.request("POST", "/v1/completions", json.dumps(BODY))
        answer = line.getresponse()
        assert answer.status == (500 if fault == "http500" else 200)
        if fault == "halfabort":
            with pytest.raises(http.client.IncompleteRead):
                answer.read()
        else:
            assert ("[DONE]" in events(answer)) == (fault == "errevent")
        line.close()
        (served,) = server.truth().requests
    assert served.aborted and served.chunks == chunks
    assert (served.first_s is None) == (chunks == 0)


@given(
    gaps_s=st.lists(st.floats(0, 5), min_size=1, max_size=30), service_s=st.floats(0.01, 3), places=st.integers(1, 4)
)
def test_recursion_is_the_queue_played_through(gaps_s: list[float], service_s: float, places: int):
    """Against a slower telling of the same queue: every request asks all earlier ones when a place is free."""
    arrivals_s = [math.fsum(gaps_s[: n + 1]) for n in range(len(gaps_s))]
    ends_s: list[float] = []
    for arrival_s in arrivals_s:
        before = sorted(ends_s, reverse=True)
        free_s = before[places - 1] if len(before) >= places else arrival_s
        ends_s.append(max(arrival_s, free_s) + service_s)
    expected = [end - arrival for end, arrival in zip(ends_s, arrivals_s, strict=True)]
    assert queueing.latencies_s(arrivals_s, service_s, places) == pytest.approx(expected)


def test_closed_forms_are_the_recursions():
    """vllm#54101: 8 requests at 10/s, 500 ms, one place: 1,900 ms from schedule. M/D/1 by many short runs."""
    overload = queueing.latencies_s([n / 10 for n in range(8)], 0.5, 1)
    assert overload.mean() == pytest.approx(queueing.dd_overload_mean_s(10, 0.5, 8)) == pytest.approx(1.9)
    assert queueing.md1_mean_s(5, 0.1) == pytest.approx(0.15)
    means_s = queueing.md1_means_s(5, 0.1, requests=2000, samples=400, seed=3)
    assert means_s.mean() == pytest.approx(0.15, abs=4 * means_s.std() / 20)
