"""What vLLM's load client reads and does not say: errors inside a stream, the server's token counts, its own lag.

Its result counts a request whose stream ended with an error event as a success (vllm#57519), fills a missing token
count by tokenizing the text again, and takes a chunk without a token for a token. `install` has the client's own
functions noted while they run; the notes become the key `benchbook` of the result, lists in the order of its requests:

    stream_errors  text of the error event that stood in the stream, or null
    usage_tokens   completion_tokens of the server's usage event, or null: vLLM then counts the text's tokens itself
    finished       the stream's [DONE] was read
    chunks         events with a choice
    empty_chunks   indexes of those of them whose text is empty

`client` says how busy the client was between the first request's sending and the last one's end: `cpu_s` CPU seconds
of its process in `span_s` seconds, and how much later than asked a sleep of 10 ms in its event loop ended:
loop_lag_mean_ms, loop_lag_p99_ms, loop_lag_max_ms (null when no sleep fell into that time).
"""

import asyncio
import contextvars
import functools
import json
import time

LAG_PERIOD_S = 0.01


class StreamNote:
    """What one request's stream held. Events are parsed only where a plain search says that it may matter."""

    def __init__(self):
        self.error = self.usage_tokens = None
        self.finished = False
        self.chunks = 0
        self.empty_chunks = []

    def read(self, message: str) -> None:
        if message == "data: [DONE]":
            self.finished = True
            return
        if '"error"' in message or '"completion_tokens"' in message or '""' in message:
            self._read_closely(message)
        elif '"choices"' in message:
            self.chunks += 1

    def _read_closely(self, message: str) -> None:
        try:
            event = json.loads(message.removeprefix("data: "))
        except ValueError:
            return  # the client fails on it and says so
        if error := event.get("error"):
            self.error = str(error.get("message") or error) if isinstance(error, dict) else str(error)
        if usage := event.get("usage"):
            self.usage_tokens = usage.get("completion_tokens")
        if choices := event.get("choices"):
            if choices[0].get("text") == "":
                self.empty_chunks.append(self.chunks)
            self.chunks += 1


class RunNotes:
    """The notes of one benchmark, and the client's business while requests were in flight."""

    def __init__(self):
        self._of_start = {}
        self._in_flight = 0
        self._began = self._ended = None
        self._lags_ms = []

    def begin(self) -> None:
        self._in_flight += 1
        if self._began is None:
            self._began = time.perf_counter(), time.process_time()

    def end(self, output, note: StreamNote) -> None:
        self._in_flight -= 1
        self._ended = time.perf_counter(), time.process_time()
        self._of_start[output.start_time] = note

    async def watch_loop(self) -> None:
        """Note how late sleeps end, until cancelled; only while requests are in flight (statistics follow them)."""
        while True:
            due = time.perf_counter() + LAG_PERIOD_S
            await asyncio.sleep(LAG_PERIOD_S)
            if self._in_flight:
                self._lags_ms.append(1000 * max(0.0, time.perf_counter() - due))

    def requests(self, start_times) -> dict:
        noted = [self._of_start.get(start, StreamNote()) for start in start_times]
        return {
            "stream_errors": [note.error for note in noted],
            "usage_tokens": [note.usage_tokens for note in noted],
            "finished": [note.finished for note in noted],
            "chunks": [note.chunks for note in noted],
            "empty_chunks": [note.empty_chunks for note in noted],
        }

    def client(self):
        """Cost and lag; None when no request was sent."""
        if self._began is None or self._ended is None:
            return None
        lags = sorted(self._lags_ms)
        return {
            "cpu_s": self._ended[1] - self._began[1],
            "span_s": self._ended[0] - self._began[0],
            "loop_lag_mean_ms": sum(lags) / len(lags) if lags else None,
            "loop_lag_p99_ms": lags[min(len(lags) - 1, int(0.99 * len(lags)))] if lags else None,
            "loop_lag_max_ms": lags[-1] if lags else None,
        }


_stream = contextvars.ContextVar("stream")
current = RunNotes()


def install(serve, endpoint_request_func) -> None:
    """Have vLLM's modules of these names noted: vllm.benchmarks.serve and vllm.benchmarks.lib.endpoint_request_func."""
    handler = endpoint_request_func.StreamedResponseHandler

    class NotingHandler(handler):
        def add_chunk(self, chunk_bytes):
            messages = super().add_chunk(chunk_bytes)
            if note := _stream.get(None):
                for message in messages:
                    note.read(message)
            return messages

    endpoint_request_func.StreamedResponseHandler = NotingHandler
    for backend, send in list(serve.ASYNC_REQUEST_FUNCS.items()):
        serve.ASYNC_REQUEST_FUNCS[backend] = _noting(send)
    serve.benchmark = _noting_run(serve.benchmark)


def _noting(send):
    @functools.wraps(send)
    async def noting(*args, **kwargs):
        run, note = current, StreamNote()
        _stream.set(note)  # a request is a task of its own, so this is its stream and no other's
        run.begin()
        output = await send(*args, **kwargs)
        run.end(output, note)
        return output

    return noting


def _noting_run(benchmark):
    @functools.wraps(benchmark)
    async def noting(*args, **kwargs):
        global current
        current = RunNotes()
        watch = asyncio.create_task(current.watch_loop())
        try:
            result = await benchmark(*args, **kwargs)
        finally:
            watch.cancel()
        return {**result, "benchbook": current.requests(result["start_times"])}

    return noting
