"""One benchmark, a warmup reading or a run: send it, keep what came back, say whether it can be used."""

from __future__ import annotations

import gzip
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchbook.engines import vllm
from benchbook.errors import StoreError
from benchbook.measure import bench_result, store, web
from benchbook.measure.client_process import Client, ClientGone
from benchbook.measure.server import Server
from benchbook.measure.specification import VLLM_BENCH


@dataclass(frozen=True)
class Task:
    """What to send: `num_prompts` requests, `concurrency` in flight. `repeat` is None for a warmup reading.

    `client`: name of the load client that sends it. `offset`: prompts that were taken from the workload's file before.
    """

    name: str
    client: str
    concurrency: int
    num_prompts: int
    seed: int
    offset: int
    repeat: int | None


@dataclass(frozen=True)
class Outcome:
    """What became of a Task; stored as record.json.

    `status` ok | incomplete | failed; `failure_kind` requests | short_output | server_died | timeout | client_died |
    client_error | None. Times are Unix seconds (`t_`) and the client's monotonic clock (`m_`), both None where the
    client did not say. `stalls`: requests that stalled (bench_result.stalls), None without a result. `log_start`,
    `log_end`: size of the server's log in bytes before and after, None when it could not be read. `client`: its CPU
    seconds and event-loop lag as engines/inside/client_truth.py and measure/client/serve.py describe them, None when it
    did not say. `client_name`: native | vllm-bench.
    """

    run: str
    concurrency: int
    repeat: int | None
    num_prompts: int
    seed: int
    status: str
    failure_kind: str | None
    reason: str | None
    t_start_s: float
    t_end_s: float
    m_start_s: float | None
    m_end_s: float | None
    throughput_tok_s: float | None
    tpot_mean_ms: float | None
    tpot_first_wave_ms: float | None
    stalls: int | None
    log_start: int | None
    log_end: int | None
    client: dict[str, Any] | None = None
    client_name: str = VLLM_BENCH


@dataclass(frozen=True)
class Bench:
    """The server of a session, the client that sends the next run, and what every run of it has in common.

    `workload`, `endpoint` and `connections` as the specification has them, with a file's path and the range of token
    ids filled in; `read_gap_s`: limits.read_gap_s.
    """

    server: Server
    client: Client
    server_log: Path
    served_name: str
    tokenizer: str
    workload: Mapping[str, Any]
    endpoint: str
    connections: str
    read_gap_s: float

    def run(self, task: Task, folder: Path, timeout_s: float, expected_tok_s: float | None = None) -> Outcome:
        """Run `task`, leaving record.json (written last), bench.json, bench.log and two scrapes in `folder`.

        `expected_tok_s`: output tokens a second that the client is to be ready for, None where nothing is known.
        """
        folder.mkdir(parents=True)
        log_start = self._log_size()
        self._scrape(folder / "metrics_before.prom.gz")
        t_start_s = time.time()
        result_part, log_part = folder / "bench.json.part", folder / "bench.log.part"
        reply: dict[str, Any] | None = None
        gone: ClientGone | None = None
        try:
            request = self._request(task, result_part, expected_tok_s)
            reply = self.client.run(request, log_part, timeout_s, self.server.alive)
        except ClientGone as problem:
            gone = problem
        t_end_s = time.time()
        self._scrape(folder / "metrics_after.prom.gz")
        for part in (result_part, log_part):
            if part.exists():
                store.seal(part, part.with_name(part.name.removesuffix(".part")))
        outcome = self._outcome(task, folder / "bench.json", reply, gone, t_start_s, t_end_s, log_start)
        store.write_json(folder / "record.json", asdict(outcome))
        return outcome

    def _request(self, task: Task, result: Path, expected_tok_s: float | None) -> dict[str, Any]:
        """What the task's client is asked with."""
        if task.client == VLLM_BENCH:
            return {"argv": list(
                vllm.bench_argv(
                    port=self.server.port, served_name=self.served_name, tokenizer=self.tokenizer,
                    input_tokens=self.workload["input_tokens"], output_tokens=self.workload["output_tokens"],
                    num_prompts=task.num_prompts, concurrency=task.concurrency, seed=task.seed, result=result,
                )
            )}  # fmt: skip
        load = {
            "url": f"http://127.0.0.1:{self.server.port}", "endpoint": self.endpoint, "model": self.served_name,
            "workload": dict(self.workload), "num_prompts": task.num_prompts, "concurrency": task.concurrency,
            "seed": task.seed, "offset": task.offset, "chunks_per_s": expected_tok_s, "read_gap_s": self.read_gap_s,
            "connections": self.connections, "request_id": f"{task.name}-",
        }  # fmt: skip
        return {"load": load, "result": str(result)}

    def _log_size(self) -> int | None:
        try:
            return self.server_log.stat().st_size
        except OSError:
            return None

    def _scrape(self, path: Path) -> None:
        try:
            status, body = web.get(self.server.port, "/metrics")
        except web.UNREACHABLE:
            return
        if status == 200:
            store.write_whole(path, gzip.compress(body, mtime=0))

    def _outcome(
        self, task: Task, result_file: Path, reply: dict[str, Any] | None, gone: ClientGone | None,
        t_start_s: float, t_end_s: float, log_start: int | None,
    ) -> Outcome:  # fmt: skip
        summary, stalls = bench_result.Summary(None, None, None), None
        if gone is not None:
            judgement = bench_result.Judgement("failed", _gone_kind(gone), str(gone))
        elif reply is not None and not reply["ok"]:
            judgement = bench_result.Judgement("failed", "client_error", reply["error"])
        elif not result_file.exists():
            judgement = bench_result.Judgement("failed", "client_error", "the benchmark wrote no result")
        else:
            try:
                result = store.read_json(result_file)
                asked = self.workload.get("output_tokens")
                judgement = bench_result.judge(result, task.num_prompts, asked if isinstance(asked, int) else None)
                summary = bench_result.summarise(result, task.concurrency)
                stalls = bench_result.stalls(bench_result.requests(result))
            except (StoreError, KeyError, ValueError, TypeError) as error:
                told = f"the benchmark's result cannot be read ({type(error).__name__}: {error})"
                judgement = bench_result.Judgement("failed", "client_error", told)
        kind, reason = judgement.kind, judgement.reason
        if judgement.status != "ok" and not self.server.serving():
            kind, reason = "server_died", f"the server {self.server.ending()} during the run; {reason}"
        return Outcome(
            run=task.name, concurrency=task.concurrency, repeat=task.repeat, num_prompts=task.num_prompts,
            seed=task.seed, status=judgement.status, failure_kind=kind, reason=reason,
            t_start_s=reply["t_start_s"] if reply else t_start_s, t_end_s=reply["t_end_s"] if reply else t_end_s,
            m_start_s=reply["m_start_s"] if reply else None, m_end_s=reply["m_end_s"] if reply else None,
            throughput_tok_s=summary.throughput_tok_s, tpot_mean_ms=summary.tpot_mean_ms,
            tpot_first_wave_ms=summary.tpot_first_wave_ms, stalls=stalls, log_start=log_start, log_end=self._log_size(),
            client=reply.get("client") if reply else None, client_name=task.client,
        )  # fmt: skip


def _gone_kind(problem: ClientGone) -> str:
    return "timeout" if str(problem).startswith("not finished") else "client_died"
