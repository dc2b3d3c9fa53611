#!/usr/bin/env python3
"""A server of known timing in the place of an engine's interpreter: `timed_server.py LAUNCHER serve MODEL --flags`.

It speaks what the load client and the pipeline ask of vLLM (streamed /v1/completions, /health, /v1/models, /metrics)
and writes down when it really sent what, so that a measurement is compared with what happened and not with what was
asked for. The environment says how it behaves:

    TIMED_TRUTH  file that gets one JSON line a request: run, number (from 1 in its run or reading), request_id,
                 arrival, first and last chunk (CLOCK_MONOTONIC s, null when there was none), unix_offset (added to
                 those it gives Unix time), chunks, tokens, prompt_tokens, outcome: ok | http500 | error_event | cut |
                 reset | killed | aborted (by the client)
    TIMED_STORE  the session store: the newest folder in it names the run or reading that is being sent
    TIMED_PLAN   JSON, field values of Plan: those of the key "*" for everything, overridden by those of a run's name

Lockstep is an engine's way: one step at a time for all requests, a request's first chunk at the first step that is at
least `ttft_ms` after its arrival. Without it each request has a clock of its own and `ttft_ms` is exact.
"""

import asyncio
import contextlib
import dataclasses
import gc
import json
import math
import os
import signal
import sys
import time
from pathlib import Path

TOKEN = " t5"  # one token of the model directory that the tests write
FIRST_CHUNKS_BEFORE_ERROR = 3


@dataclasses.dataclass(frozen=True)
class Plan:
    """Timing and at most one fault of a run. `request`: the number of the request it befalls, None for all of them.

    stall: `seconds` in which nobody gets anything, from the middle of that request on. slow_first: its first token
    comes `seconds` later. error_event: an error inside the stream after three chunks, then [DONE]. short: half the
    tokens, honestly counted. no_usage: no usage event. empty_chunks: half a step before each chunk one without text.
    cut: a clean end of the stream at half. reset: the connection breaks at half. hang: nothing more from half on.
    crash: the server kills itself when the request is at half. http500: so answered. prefix_hits: its prompt is counted
    as cached. jit: a kernel is compiled, says the log. frontend: requests reach the engine `seconds` apart.
    `speculative`: the tokens of a chunk after its first are counted as accepted drafts.
    """

    ttft_ms: float = 50.0
    step_ms: float = 10.0
    lockstep: bool = True
    tokens_per_chunk: int = 1
    speculative: bool = False
    fault: str | None = None
    request: int | None = None
    seconds: float = 5.0


class Plans:
    """Which plan holds now; asked when a request comes in while none is being served."""

    def __init__(self, environment):
        self._store = Path(environment["TIMED_STORE"])
        self._plans = json.loads(environment.get("TIMED_PLAN", "{}"))
        self.speculative = any(plan.get("speculative") for plan in self._plans.values())

    def now(self):
        folders = [path for kind in ("runs", "warmup") for path in self._store.glob(f"*/{kind}/*") if path.is_dir()]
        name = max(folders, key=lambda path: path.stat().st_mtime_ns).name if folders else None
        return name, Plan(**{**self._plans.get("*", {}), **self._plans.get(name, {})})


class Request:
    """One completion from its arrival to its last chunk."""

    def __init__(self, connection, request_id, body, run, number, plan, arrival):
        self.connection, self.request_id, self.run, self.number = connection, request_id, run, number
        self.plan = plan
        self.fault = plan.fault if plan.request in (None, number) else None
        self.arrival = arrival
        self.first = self.last = self.outcome = self.due = None
        self.chunks = self.tokens = 0
        self.events = {}
        self.prompt_tokens = len(body["prompt"].split()) if isinstance(body["prompt"], str) else len(body["prompt"])
        self.wanted = body["max_tokens"] // 2 if self.fault == "short" else body["max_tokens"]
        self.usage = bool((body.get("stream_options") or {}).get("include_usage")) and self.fault != "no_usage"
        self.half = self.wanted // 2

    def truth(self):
        names = ("run", "number", "request_id", "arrival", "first", "last", "chunks", "tokens", "prompt_tokens",
                 "outcome")  # fmt: skip
        return {name: getattr(self, name) for name in names} | {"unix_offset": time.time() - time.monotonic()}


class Counters:
    """The numbers of /metrics, each counted where it happens."""

    HISTOGRAMS = ("iteration_tokens_total", "time_to_first_token_seconds", "inter_token_latency_seconds",
                  "e2e_request_latency_seconds", "request_time_per_output_token_seconds")  # fmt: skip
    COUNTERS = ("prompt_tokens_total", "generation_tokens_total", "prefix_cache_queries_total",
                "prefix_cache_hits_total", "num_preemptions_total")  # fmt: skip
    SPECULATION = ("spec_decode_num_drafts_total", "spec_decode_num_draft_tokens_total",
                   "spec_decode_num_accepted_tokens_total")  # fmt: skip

    def __init__(self, model, speculative):
        self._model = model
        self._values = dict.fromkeys(self.COUNTERS + (self.SPECULATION if speculative else ()), 0.0)
        self._values |= {f"{name}_{part}": 0.0 for name in self.HISTOGRAMS for part in ("sum", "count")}
        self._finished = dict.fromkeys(("stop", "length", "abort", "error"), 0.0)

    def add(self, name, value=1.0):
        self._values[name] += value

    def observe(self, histogram, value):
        self.add(f"{histogram}_sum", value)
        self.add(f"{histogram}_count")

    def finish(self, reason):
        self._finished[reason] += 1

    def page(self, running):
        label = f'engine="0",model_name="{self._model}"'
        gauges = {"num_requests_running": running, "num_requests_waiting": 0, "kv_cache_usage_perc": running / 1e4}
        lines = [f"vllm:{name}{{{label}}} {float(value)}" for name, value in (gauges | self._values).items()]
        lines += [f'vllm:request_success_total{{{label},finished_reason="{reason}"}} {count}'
                  for reason, count in self._finished.items()]  # fmt: skip
        return ("\n".join(lines) + "\n").encode()


class Engine:
    """Decides when each request gets its next chunk, and sends it."""

    def __init__(self, model, plans, truth_file, loop):
        self.model, self.counters = model, Counters(model, plans.speculative)
        self._plans, self._truth_file, self._loop = plans, truth_file, loop
        self.living, self.running = set(), set()
        self._run, self._plan, self._numbers = None, Plan(), 0
        self._halted_until = self._frontend_free = self._grid_start = 0.0
        self._last_step = self._halt_s = 0.0

    def submit(self, connection, request_id, body, arrival):
        if not self.living:
            run, self._plan = self._plans.now()
            if run != self._run:
                self._run, self._numbers = run, 0
        self._numbers += 1
        request = Request(connection, request_id, body, self._run, self._numbers, self._plan, arrival)
        if request.fault == "http500":
            connection.answer(500, b'{"error":{"message":"Internal server error","code":500}}')
            self._end(request, "http500")
            return None
        if request.fault == "jit":
            log("EngineCore", "WARNING", "Triton kernel JIT compilation during inference: late_kernel. "
                                         "This causes a latency spike.")  # fmt: skip
        self.living.add(request)
        connection.start_stream()
        if request.fault == "frontend":
            self._frontend_free = max(arrival, self._frontend_free) + request.plan.seconds
            self._loop.call_at(self._frontend_free, self._admit, request)
        else:
            self._admit(request)
        return request

    def _admit(self, request):
        if request not in self.living:
            return
        plan, count = request.plan, self.counters.add
        self.running.add(request)
        count("prompt_tokens_total", request.prompt_tokens)
        count("prefix_cache_queries_total", request.prompt_tokens)
        if request.fault == "prefix_hits":
            count("prefix_cache_hits_total", request.prompt_tokens)
        request.due = max(self._loop.time(), self._halted_until) + plan.ttft_ms / 1000
        if request.fault == "slow_first":
            request.due += plan.seconds
        if plan.lockstep:
            step_s = plan.step_ms / 1000
            if len(self.running) == 1:
                self._grid_start = request.due
            request.due = self._grid_start + math.ceil((request.due - self._grid_start) / step_s - 1e-9) * step_s
        self._schedule(request)

    def _schedule(self, request):
        if request.fault == "empty_chunks":
            self._loop.call_at(request.due - request.plan.step_ms / 2000, self._send_empty, request)
        if request.due < math.inf:
            self._loop.call_at(request.due, self._take_step, request)

    def _send_empty(self, request):
        if request in self.running:
            request.connection.add_event(self._event(request, "", None))
            request.connection.flush()

    def _take_step(self, request):
        """Send the chunk that is due, and those that fell due meanwhile with it: a late engine keeps its pace."""
        while request in self.running and request.due <= (now := self._loop.time()):
            if now < self._halted_until:
                self._halt(request)
            elif not self._befalls(request, now):
                self._send_chunk(request, now)
        request.connection.flush()
        if request in self.running:
            self._schedule(request)

    def _send_chunk(self, request, now):
        # the first token is the prefill's, speculation begins after it
        tokens = min(request.plan.tokens_per_chunk, request.wanted - request.tokens) if request.chunks else 1
        finished = request.tokens + tokens == request.wanted
        request.connection.add_event(self._event(request, TOKEN * tokens, "length" if finished else None))
        self._count_chunk(request, tokens, now)
        request.first = request.first or now  # before the write: nobody can have read it earlier
        request.last = now
        request.chunks += 1
        request.tokens += tokens
        request.due += request.plan.step_ms / 1000
        if finished:
            self._finish(request)

    def _befalls(self, request, now):
        """Whether the request's fault takes this chunk."""
        fault = request.fault
        if fault == "error_event" and request.chunks == FIRST_CHUNKS_BEFORE_ERROR:
            request.connection.add_event(b'{"error":{"message":"EngineCore encountered an issue","code":500}}')
            request.connection.end_stream(done=True)
            self._end(request, "error_event")
            return True
        if request.tokens < request.half:
            return False
        request.half = math.inf
        if fault == "stall":
            self._halt_s = request.plan.seconds
            self._halted_until = now + self._halt_s
            self._halt(request)
        elif fault == "hang":
            request.due = math.inf
        elif fault == "cut":
            request.connection.end_stream(done=False)
            self._end(request, "cut")
        elif fault == "reset":
            self._end(request, "reset")
            request.connection.break_off()
        elif fault == "crash":
            for other in list(self.living):
                self._end(other, "killed")
            os.kill(os.getpid(), signal.SIGKILL)
        return fault in ("stall", "hang", "cut", "reset")

    def _halt(self, request):
        """Put off what was due; never into the halt itself, where it would be put off once more."""
        request.due = max(request.due + self._halt_s, self._halted_until)

    def _count_chunk(self, request, tokens, sent):
        counters, plan = self.counters, request.plan
        new_step = not plan.lockstep or request.due - self._last_step > plan.step_ms / 2000
        self._last_step = max(self._last_step, request.due)
        counters.add("iteration_tokens_total_sum", tokens + (0 if request.chunks else request.prompt_tokens))
        counters.add("iteration_tokens_total_count", float(new_step))
        counters.add("generation_tokens_total", tokens)
        if request.chunks:
            counters.observe("inter_token_latency_seconds", sent - request.last)
        else:
            counters.observe("time_to_first_token_seconds", sent - request.arrival)
        if plan.speculative and request.chunks:
            steps = (1, plan.tokens_per_chunk - 1, tokens - 1)
            for name, value in zip(Counters.SPECULATION, steps, strict=True):
                counters.add(name, value)

    def _finish(self, request):
        if request.usage:
            usage = {"prompt_tokens": request.prompt_tokens, "completion_tokens": request.tokens,
                     "total_tokens": request.prompt_tokens + request.tokens}  # fmt: skip
            request.connection.add_event(compact({**self._about(request), "choices": [], "usage": usage}))
        request.connection.end_stream(done=True)
        self.counters.finish("length")
        self.counters.observe("e2e_request_latency_seconds", request.last - request.arrival)
        if request.tokens > 1:
            tpot_s = (request.last - request.first) / (request.tokens - 1)
            self.counters.observe("request_time_per_output_token_seconds", tpot_s)
        self._end(request, "ok")

    def _end(self, request, outcome):
        self.living.discard(request)
        self.running.discard(request)
        request.connection.request = None
        request.outcome = outcome
        self._truth_file.write(json.dumps(request.truth()) + "\n")
        self._truth_file.flush()

    def gone(self, request):
        if request in self.living:
            self.counters.finish("abort")
            self._end(request, "aborted")

    def _about(self, request):
        return {"id": f"cmpl-{request.request_id}", "object": "text_completion", "created": 1700000000,
                "model": self.model}  # fmt: skip

    def _event(self, request, text, finish_reason):
        key = text, finish_reason
        if key not in request.events:
            choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish_reason, "stop_reason": None}
            request.events[key] = compact({**self._about(request), "choices": [choice], "usage": None})
        return request.events[key]


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, one request at a time."""

    def __init__(self, engine):
        self._engine = engine
        self._unread, self._unsent = b"", []
        self.request = None

    def connection_made(self, transport):
        self._transport = transport

    def connection_lost(self, error):
        if self.request is not None:
            self._engine.gone(self.request)

    def data_received(self, data):
        self._unread += data
        head, found, rest = self._unread.partition(b"\r\n\r\n")
        if not found:
            return
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        arrival = time.monotonic()
        self._unread = rest[length:]
        method, path, _ = lines[0].split(" ", 2)
        if (method, path) == ("POST", "/v1/completions"):
            self.request = self._engine.submit(self, headers.get("x-request-id"), json.loads(rest[:length]), arrival)
        elif path == "/health":
            self.answer(200, b"")
        elif path == "/v1/models":
            self.answer(200, compact({"object": "list", "data": [{"id": self._engine.model, "object": "model"}]}))
        elif path == "/metrics":
            self.answer(200, self._engine.counters.page(len(self._engine.running)), "text/plain; version=0.0.4")
        else:
            self.answer(404, b'{"detail":"Not Found"}')

    def answer(self, status, body, kind="application/json"):
        reason = {200: "OK", 404: "Not Found", 500: "Internal Server Error"}[status]
        head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)

    def start_stream(self):
        self._unsent.append(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                            b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
        self.flush()

    def add_event(self, data):
        event = b"data: " + data + b"\n\n"
        self._unsent.append(b"%x\r\n%b\r\n" % (len(event), event))

    def end_stream(self, done):
        if done:
            self.add_event(b"[DONE]")
        self._unsent.append(b"0\r\n\r\n")

    def flush(self):
        self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def break_off(self):
        self._transport.abort()


def compact(value):
    return json.dumps(value, separators=(",", ":")).encode()


def log(process, level, message):
    print(f"({process} pid={os.getpid()}) {level} {time.strftime('%m-%d %H:%M:%S')} [timed.py:1] {message}", flush=True)


def option(argv, name):
    return argv[argv.index(f"--{name}") + 1]


async def serve(argv):
    loop = asyncio.get_running_loop()
    port, model = int(option(argv, "port")), option(argv, "served-model-name")
    log("APIServer", "INFO", "vLLM API server version 0.0.0")
    with open(os.environ["TIMED_TRUTH"], "a", encoding="utf-8") as truth_file:
        engine = Engine(model, Plans(os.environ), truth_file, loop)
        listener = await loop.create_server(lambda: Connection(engine), "127.0.0.1", port)
        log("EngineCore", "INFO", "init engine (profile, create kv cache, warmup model) took 0.00 s")
        log("EngineCore", "INFO", "GPU KV cache size: 1,048,576 tokens")
        print(f"(APIServer pid={os.getpid()}) INFO:     Application startup complete.", flush=True)
        stop = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        gc.freeze()
        await stop.wait()
        listener.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["-c"]:  # the session asks its interpreter for its packages
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
    assert sys.argv[2] == "serve", sys.argv
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(sys.argv[3:]))
