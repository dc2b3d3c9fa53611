"""The load client against a server whose every byte is decided here: what it sends, when, and what it makes of it."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import scriptedserver
from benchbook.errors import LoadError
from benchbook.measure import bench_result
from benchbook.measure.client import drive, load, own_cost, result, target, workers
from benchbook.measure.client.prompt import Prompt
from benchbook.measure.client.watch import Watched
from benchbook.measure.client.workers import Ran
from project import ROOT
from scriptedserver import HEAD, LAST, completion, event, serving, token, usage

TOKENS = 4
pytestmark = pytest.mark.timeout(60)  # a request that is never ended would wait for its read gap


def prompts(count: int, tokens: int = TOKENS) -> list[Prompt]:
    return [Prompt("token_ids", (b"[%d,7,8,9]" % index,), tokens, 4) for index in range(count)]


def planned(server: scriptedserver.Scripted, count: int, concurrency: int | None, **more: Any) -> load.Load:
    listed = more.pop("prompts", None) or prompts(count)
    return load.Load(target.parse(server.url), "completions", "m", listed, concurrency, **more)


def whole(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
    link.sendall(completion(body["max_tokens"]))
    return True


def kinds(ran: Ran) -> list[str | None]:
    return [one.failure and one.failure.kind for one in ran.answers]


@pytest.fixture
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "asyncio":
        monkeypatch.setattr(workers, "uvloop", None)
    else:
        pytest.importorskip("uvloop")
    return str(request.param)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"], indirect=True)
@pytest.mark.parametrize("processes", [1, 3])
def test_every_request_is_sent_once_and_no_more_than_asked_are_in_flight(loop: str, processes: int) -> None:
    in_flight, most, lock, all_six = 0, 0, threading.Lock(), threading.Barrier(6)

    def counting(link: socket.socket, number: int, body: dict[str, Any]) -> bool:
        nonlocal in_flight, most
        with lock:
            in_flight += 1
            most = max(most, in_flight)
        if number < 6:
            all_six.wait(20)
        with lock:
            in_flight -= 1
        return whole(link, number, body)

    with serving(counting) as server:
        ran = workers.run(planned(server, 40, 6, processes=processes))
        sent = sorted(body["prompt"][0] for _, _, body in server.seen)
    assert sent == list(range(40))
    assert [one.index for one in ran.answers] == list(range(40))
    assert kinds(ran) == [None] * 40
    assert most == 6
    assert (ran.loop, len(ran.watched)) == (loop, processes)


def test_connections_are_kept_or_new_as_asked() -> None:
    with serving(whole) as server:
        kept = workers.run(planned(server, 12, 3))
        connections = {connection for connection, _, _ in server.seen}
    assert len(connections) == 3
    assert all(one.connect_s is None for one in kept.answers)
    with serving(whole) as server:
        new = workers.run(planned(server, 12, 3, keep_connections=False))
        connections = {connection for connection, _, _ in server.seen}
        assert all(b"Connection: close" in head for _, head, _ in server.seen)
    assert len(connections) == 12
    assert all(one.connect_s is not None and one.connect_s > 0 for one in new.answers)
    assert kinds(kept) == kinds(new) == [None] * 12


def test_a_server_that_closes_after_each_answer_gets_a_new_connection() -> None:
    def closing(link: socket.socket, number: int, body: dict[str, Any]) -> bool:
        answer = completion(body["max_tokens"]).replace(b"Transfer-Encoding", b"Connection: close\r\nTransfer-Encoding")
        link.sendall(answer)
        return False

    with serving(closing) as server:
        ran = workers.run(planned(server, 8, 2))
    assert kinds(ran) == [None] * 8


@pytest.mark.parametrize("at", range(1, 9))
def test_the_end_is_seen_wherever_the_last_read_is_cut(at: int) -> None:
    def cut(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        answer = completion(body["max_tokens"])
        link.sendall(answer[:-at])
        time.sleep(0.02)
        link.sendall(answer[-at:])
        return True

    with serving(cut) as server:
        ran = workers.run(planned(server, 2, 1, read_gap_s=2.0))
    assert kinds(ran) == [None, None]


def test_an_end_inside_the_payload_is_not_taken_for_the_end() -> None:
    def tricky(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        link.sendall(HEAD + token("0\r\n\r\n") + scriptedserver.chunk(b": 0\r\n\r\n")[:-2])
        time.sleep(0.05)
        rest = token() * (body["max_tokens"] - 1) + usage(4, body["max_tokens"]) + event("[DONE]") + LAST
        link.sendall(b"\r\n" + rest)
        return True

    with serving(tricky) as server:
        ran = workers.run(planned(server, 2, 1))
    assert kinds(ran) == [None, None]


def test_each_failure_has_its_kind_and_time() -> None:
    half, broken = HEAD + token() * 2, event({"error": {"message": "broken"}})
    scripts: dict[str, Callable[[socket.socket], Any]] = {
        "http_status": lambda link: link.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"),
        "error_event": lambda link: link.sendall(half + broken + event("[DONE]") + LAST),
        "no_done": lambda link: link.sendall(half + LAST),
        "no_usage": lambda link: link.sendall(HEAD + token() * TOKENS + event("[DONE]") + LAST),
        "short_output": lambda link: link.sendall(half + usage(4, 2) + event("[DONE]") + LAST),
        "closed": lambda link: (link.sendall(half), time.sleep(0.02), link.shutdown(socket.SHUT_WR)),
        "reset": lambda link: (link.sendall(half), time.sleep(0.02), scriptedserver.reset(link)),
        "read_gap": lambda link: (link.sendall(half), time.sleep(3)),
        "unreadable": lambda link: link.sendall(HEAD + event("{broken") + event("[DONE]") + LAST),
    }
    order = list(scripts)

    def failing(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        kind = order[body["prompt"][0]]
        scripts[kind](link)
        return kind not in ("closed", "reset", "read_gap")

    with serving(failing) as server:
        ran = workers.run(planned(server, len(order), 3, read_gap_s=0.3))
    assert kinds(ran) == order
    at = {kind: one.failure.at_s for kind, one in zip(order, ran.answers, strict=True) if one.failure}
    assert 0.02 <= at["closed"] < 1
    assert 0.02 <= at["reset"] < 1
    assert 0.3 <= at["read_gap"] < 2
    assert all(0 <= at[kind] < 1 for kind in ("http_status", "error_event", "no_done", "no_usage", "short_output"))
    judged = bench_result.judge(as_result(ran, len(order)), len(order), TOKENS)
    assert judged.status == "failed"


def test_where_nobody_listens_every_request_is_refused() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    asked = load.Load(target.parse(f"127.0.0.1:{port}"), "completions", "m", prompts(5), 2)
    ran = workers.run(asked)
    assert kinds(ran) == ["refused"] * 5
    assert all(one.started_s is None and one.ttft_s is None for one in ran.answers)
    value = result.result(asked, ran, {}, 0)
    assert value["completed"] == 0
    assert value["failed"] == 5
    assert value["mean_ttft_ms"] is None
    assert value["output_throughput"] is None


def test_a_large_request_goes_out_whole_and_its_sending_is_timed() -> None:
    shared = b"1," * 400_000
    listed = [Prompt("token_ids", (b"[", shared, b"%d]" % index), TOKENS, 400_001) for index in range(6)]
    with serving(whole) as server:
        ran = workers.run(planned(server, 6, 3, prompts=listed))
        lengths = {len(body["prompt"]) for _, _, body in server.seen}
    assert kinds(ran) == [None] * 6
    assert lengths == {400_001}
    for one in ran.answers:
        assert one.sent_s is not None and one.started_s is not None and one.ttft_s is not None
        assert 0 <= one.sent_s - one.started_s <= one.ttft_s


def test_an_open_loop_sends_when_it_is_due_and_counts_from_the_schedule() -> None:
    """One slot of 100 ms, requests due every 50 ms: the k-th waits 50 ms longer than the one before it."""

    def slow(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        time.sleep(0.1)
        return whole(link, _number, body)

    due = [0.05 * index for index in range(8)]
    with serving(slow) as server:
        free = workers.run(planned(server, 8, None, arrivals_s=due))
        capped = workers.run(planned(server, 8, 1, arrivals_s=due))
    for one in free.answers:
        assert one.started_s is not None and one.started_s >= one.scheduled_s
        assert one.scheduled_s - free.m_start_s == pytest.approx(due[one.index], abs=1e-6)
    ends = [one.ended_s for one in capped.answers]
    for one, before in zip(capped.answers[1:], ends, strict=False):
        assert one.started_s is not None and one.started_s >= before
        assert one.started_s - one.scheduled_s > 0.05 * one.index - 0.01
    value = result.result(planned(server, 8, 1, arrivals_s=due), capped, {}, 0, 20.0)
    listed = bench_result.requests(value)
    assert [one.queue_s for one in listed] == pytest.approx(
        [one.started_s - one.scheduled_s for one in capped.answers if one.started_s is not None], abs=1e-6
    )


def test_asked_to_stop_it_keeps_what_has_ended() -> None:
    def first_ones_only(link: socket.socket, number: int, body: dict[str, Any]) -> bool:
        if body["prompt"][0] < 4:
            return whole(link, number, body)
        link.sendall(HEAD + token())
        time.sleep(5)
        return False

    with serving(first_ones_only) as server:
        asked = planned(server, 50, 2, processes=2)
        ran = workers.run(asked, stops=lambda: int(len(server.seen) >= 6))
    assert ran.stopped
    assert kinds(ran)[:4] == [None] * 4
    assert set(kinds(ran)[4:]) == {"interrupted"}
    assert len(ran.answers) == 6


def test_a_process_of_the_client_that_dies_is_an_error_and_not_a_shorter_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_read_answers", lambda *_: os._exit(9))
    with serving(whole) as server, pytest.raises(LoadError, match="ended with 9"):
        workers.run(planned(server, 4, 2))


def test_a_name_that_nobody_knows_is_one_sentence() -> None:
    asked = load.Load(target.parse("http://no-such-host.invalid"), "completions", "m", prompts(1), 1)
    with pytest.raises(LoadError, match="host is not known"):
        workers.run(asked)


@pytest.mark.parametrize("concurrency", [2, 50])
def test_more_processes_or_slots_than_requests_leave_none_waiting(concurrency: int) -> None:
    with serving(whole) as server:
        closed = workers.run(planned(server, 3, concurrency, processes=9))
        opened = workers.run(planned(server, 3, concurrency, processes=9, arrivals_s=[0.0, 0.0, 0.01]))
    assert kinds(closed) == kinds(opened) == [None] * 3


def test_bytes_that_answer_nothing_spoil_the_connection_and_not_the_next_request() -> None:
    def talkative(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        link.sendall(completion(body["max_tokens"]) + b"more")
        return True

    with serving(talkative) as server:
        ran = workers.run(planned(server, 4, 1))
        connections = {connection for connection, _, _ in server.seen}
    assert kinds(ran) == [None] * 4
    assert len(connections) == 4


def test_an_end_with_trailers_is_an_end() -> None:
    def trailing(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        link.sendall(completion(body["max_tokens"]).removesuffix(b"\r\n") + b"Checked: yes\r\n\r\n")
        return True

    with serving(trailing) as server:
        ran = workers.run(planned(server, 2, 1))
    assert kinds(ran) == [None] * 2


def test_what_is_no_http_fails_without_waiting() -> None:
    def babbling(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        link.sendall(b"220 mail.example ESMTP\r\n")
        return True

    with serving(babbling) as server:
        ran = workers.run(planned(server, 2, 1))
    assert kinds(ran) == ["unreadable"] * 2


@pytest.mark.parametrize("url", ["ftp://a", "http://ä", "http://", "http://a:port", "http://[::1"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(LoadError, match="no URL"):
        target.parse(url)


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "prefix"),
    [("127.0.0.1:8000", "127.0.0.1", 8000, False, ""), ("http://h/v1/", "h", 80, False, ""),
     ("https://h/openai/v1", "h", 443, True, "/openai"), ("http://[::1]:81", "::1", 81, False, "")],
)  # fmt: skip
def test_a_url_is_taken_apart(url: str, host: str, port: int, tls: bool, prefix: str) -> None:
    found = target.parse(url)
    assert (found.host, found.port, found.tls, found.prefix) == (host, port, tls, prefix)


def as_result(ran: Ran, count: int, concurrency: int = 3) -> dict[str, Any]:
    asked = load.Load(target.parse("127.0.0.1:1"), "completions", "m", prompts(count), concurrency)
    value: dict[str, Any] = json.loads(json.dumps(result.result(asked, ran, {"kind": "random"}, 1)))
    return value


def test_the_result_holds_everything_that_vllms_does() -> None:
    import gzip

    path = ROOT / "tests" / "recorded" / "h200-qwen3moe-c64.bench.json.gz"
    theirs = json.loads(gzip.decompress(path.read_bytes()))
    with serving(whole) as server:
        ours = as_result(workers.run(planned(server, 9, 3)), 9)
    assert set(theirs) - set(ours) == set()
    lists = [name for name, value in theirs.items() if isinstance(value, list)]
    assert {len(ours[name]) for name in lists} == {9}
    assert {len(values) for values in ours["benchbook"].values()} == {9}
    listed = bench_result.requests(ours)
    assert all(one.ok and one.output_tokens == TOKENS and one.tokens_from == "usage" for one in listed)
    assert all(len(one.itl_s) == TOKENS - 1 for one in listed)
    for one, ttft, latency, itl in zip(listed, ours["ttfts"], ours["latencies"], ours["itls"], strict=True):
        assert one.ttft_s == ttft
        assert latency == pytest.approx(ttft + sum(itl), abs=1e-5)


def test_percentiles_are_numpys() -> None:
    import numpy as np

    values = [0.001 * (7 * place % 13) ** 1.5 for place in range(1, 12)]
    spread = result._spread_of("ttft", values)
    for percent in result.PERCENTILES:
        assert spread[f"p{percent}_ttft_ms"] == pytest.approx(np.percentile(values, percent) * 1000)
    assert spread["mean_ttft_ms"] == pytest.approx(np.mean(values) * 1000)
    assert spread["std_ttft_ms"] == pytest.approx(np.std(values) * 1000)


@pytest.mark.parametrize(
    ("rate", "concurrency", "processes"), [(None, 64, 1), (1_000.0, 64, 1), (1e9, 2, 2), (1e9, 1, 1)]
)
def test_processes_follow_the_planned_rate(
    rate: float | None, concurrency: int, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    assert load.processes_for(rate, concurrency) == processes


def test_at_most_all_cores_but_one_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert load.processes_for(1e9, 512) == 2


def test_without_a_request_nothing_is_claimed() -> None:
    with serving(whole) as server:
        ran = workers.run(planned(server, 0, 1, arrivals_s=[]))
    assert ran.answers == []
    assert ran.watched == [None]


def test_a_process_that_dies_before_the_start_is_an_error_and_no_wait_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ready = workers._Crew.started

    async def first_dies(crew: workers._Crew) -> float:
        if os.getpid() == min(crew._running, default=os.getpid()) or not crew._running:
            os._exit(9)
        return await ready(crew)

    monkeypatch.setattr(workers._Crew, "started", first_dies)
    with serving(whole) as server, pytest.raises(LoadError, match="before the run began"):
        workers.run(planned(server, 4, 2, processes=2))


def test_asked_to_stop_while_it_connects_it_stops_at_once() -> None:
    listener = socket.create_server(("127.0.0.1", 0))  # takes the connection and never answers to TLS
    began = time.monotonic()
    with listener:
        asked = load.Load(
            target.parse(f"https://127.0.0.1:{listener.getsockname()[1]}"), "completions", "m", prompts(2), 2
        )
        ran = workers.run(asked, stops=lambda: int(time.monotonic() > began + 0.5))
    assert ran.stopped and not ran.answers
    assert time.monotonic() - began < 5


def test_a_full_disk_is_an_error_and_not_a_shorter_run(monkeypatch: pytest.MonkeyPatch) -> None:
    dump, calls = pickle.dump, []

    def once_full(value: Any, *where: Any, **how: Any) -> None:
        calls.append(value)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        dump(value, *where, **how)

    monkeypatch.setattr(drive.pickle, "dump", once_full)

    def slow(link: socket.socket, number: int, body: dict[str, Any]) -> bool:
        time.sleep(0.1)
        return whole(link, number, body)

    with serving(slow) as server, pytest.raises(LoadError, match="its part of the run is lost"):
        workers.run(planned(server, 6, 2))


def test_a_connection_that_was_answered_before_it_had_all_of_the_request_is_not_used_again() -> None:
    connections: list[bytes] = []

    def answer_at_once(link: socket.socket) -> None:
        connections.append(link.recv(1000))
        link.sendall(b"HTTP/1.1 413 Too large\r\nContent-Length: 0\r\n\r\n")
        time.sleep(1)

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer_at_once, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    large = [Prompt("text", (b'"' + b"a" * 20_000_000 + b'"',), 4, None)] * 3
    with listener:
        where = target.parse(f"http://127.0.0.1:{listener.getsockname()[1]}")
        ran = workers.run(load.Load(where, "completions", "m", large, 1, read_gap_s=2))
    assert kinds(ran) == ["http_status"] * 3
    assert len(connections) == 3


def test_a_kept_connection_that_was_closed_meanwhile_costs_no_request() -> None:
    """The server closes after each answer without saying so: what was under way to it is sent once more."""

    def closing(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        link.sendall(completion(body["max_tokens"]))
        return False

    with serving(closing) as server:
        ran = workers.run(planned(server, 12, 3))
        sent = sorted(body["prompt"][0] for _, _, body in server.seen)
    assert kinds(ran) == [None] * 12
    assert sent == list(range(12))


def test_an_open_loop_with_a_limit_has_one_process() -> None:
    with serving(whole) as server:
        limited = workers.run(planned(server, 6, 2, processes=3, arrivals_s=[0.0] * 6))
        free = workers.run(planned(server, 6, None, processes=3, arrivals_s=[0.0] * 6))
    assert (len(limited.watched), len(free.watched)) == (1, 3)


def test_a_head_of_100_or_204_is_no_answer_that_lasts() -> None:
    def odd(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        if body["prompt"][0] % 2:
            link.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            link.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" + completion(body["max_tokens"]))
        return True

    with serving(odd) as server:
        ran = workers.run(planned(server, 4, 1))
        connections = {connection for connection, _, _ in server.seen}
    assert kinds(ran) == [None, "http_status"] * 2
    assert len(connections) == 1, "each was seen to end at once, and its connection kept"


def test_prompt_tokens_that_nobody_counted_are_not_zero() -> None:
    def uncounted(link: socket.socket, _number: int, body: dict[str, Any]) -> bool:
        told = event({"choices": [], "usage": {"completion_tokens": body["max_tokens"]}})
        link.sendall(HEAD + token() * body["max_tokens"] + told + event("[DONE]") + LAST)
        return True

    words = [Prompt("text", (b'"a b"',), TOKENS, None)] * 2
    with serving(uncounted) as server:
        asked = planned(server, 2, 1, prompts=words)
        value = result.result(asked, workers.run(asked), {}, 0)
    assert value["total_input_tokens"] is None and value["total_token_throughput"] is None
    assert value["input_lens"] == [None, None]
    assert value["output_throughput"] > 0


def test_one_read_that_brings_everything_shows_no_time_between_tokens() -> None:
    with serving(whole) as server:
        ran = workers.run(planned(server, 1, 1))
    assert ran.answers[0].reads == 1
    assert ran.answers[0].tpot_s is None
    assert bench_result.requests(as_result(ran, 1))[0].tpot_s is None


def test_what_the_client_says_of_itself_is_what_its_processes_saw() -> None:
    """Two processes, 100,000 bytes over 2 s; by Little 1,500 waiting bytes at 50,000 a second are 30 ms."""
    seen = [Watched([1.0, 3.0], [1000, 2000], 0.5, 2.0), Watched([2.0, 10.0], [0, 0], 0.8, 1.5), None]
    ran = Ran([], 0.0, 2.0, 0.0, 2.0, seen, "asyncio", 100_000, 0.25, False)
    told = own_cost.figures(ran)
    assert told["cpu_s"] == pytest.approx(1.3)
    assert (told["busiest_cpu_s"], told["span_s"], told["processes"]) == (0.8, 2.0, 3)
    assert (told["loop_lag_mean_ms"], told["loop_lag_p99_ms"], told["loop_lag_max_ms"]) == (4.0, 10.0, 10.0)
    assert (told["receive_queue_mean_bytes"], told["receive_queue_max_bytes"]) == (1500.0, 2000)
    assert told["receive_wait_mean_ms"] == pytest.approx(30.0)


def test_most_in_flight_is_counted_from_starts_and_ends() -> None:
    barrier = threading.Barrier(3)

    def together(link: socket.socket, number: int, body: dict[str, Any]) -> bool:
        if number < 3:
            barrier.wait(20)
        return whole(link, number, body)

    with serving(together) as server:
        value = as_result(workers.run(planned(server, 9, 3)), 9)
    assert value["max_concurrent_requests"] == 3
