"""One benchmark, a warmup reading or a run: send it, keep what came back, say whether it can be used."""

from __future__ import annotations

import gzip
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchbook.engines import vllm
from benchbook.errors import StoreError
from benchbook.measure import bench_result, store, web
from benchbook.measure.client_process import Client, ClientGone
from benchbook.measure.server import Server


@dataclass(frozen=True)
class Task:
    """What to send: `num_prompts` requests, `concurrency` in flight. `repeat` is None for a warmup reading."""

    name: str
    concurrency: int
    num_prompts: int
    seed: int
    repeat: int | None


@dataclass(frozen=True)
class Outcome:
    """What became of a Task; stored as record.json.

    `status` ok | incomplete | failed; `failure_kind` requests | short_output | server_died | timeout | client_died |
    client_error | None. Times are Unix seconds (`t_`) and the client's monotonic clock (`m_`), both None where the
    client did not say. `stalls`: requests that stalled (bench_result.stalls), None without a result. `log_start`,
    `log_end`: size of the server's log in bytes before and after, None when it could not be read. `client`: its CPU
    seconds and event-loop lag as engines/inside/client_truth.py describes them, None when it did not say.
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
    stalls: int | None
    log_start: int | None
    log_end: int | None
    client: dict[str, float | None] | None = None


@dataclass(frozen=True)
class Bench:
    """The server and client of a session, and what every run of it has in common."""

    server: Server
    client: Client
    server_log: Path
    served_name: str
    tokenizer: str
    input_tokens: int
    output_tokens: int

    def run(self, task: Task, folder: Path, timeout_s: float) -> Outcome:
        """Run `task`, leaving record.json (written last), bench.json, bench.log and two scrapes in `folder`."""
        folder.mkdir(parents=True)
        log_start = self._log_size()
        self._scrape(folder / "metrics_before.prom.gz")
        t_start_s = time.time()
        result_part, log_part = folder / "bench.json.part", folder / "bench.log.part"
        reply: dict[str, Any] | None = None
        gone: ClientGone | None = None
        try:
            reply = self.client.run(self._argv(task, result_part), log_part, timeout_s, self.server.alive)
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

    def _argv(self, task: Task, result: Path) -> list[str]:
        return list(
            vllm.bench_argv(
                port=self.server.port, served_name=self.served_name, tokenizer=self.tokenizer,
                input_tokens=self.input_tokens, output_tokens=self.output_tokens, num_prompts=task.num_prompts,
                concurrency=task.concurrency, seed=task.seed, result=result,
            )
        )

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
        summary, stalls = bench_result.Summary(None, None), None
        if gone is not None:
            judgement = bench_result.Judgement("failed", _gone_kind(gone), str(gone))
        elif reply is not None and not reply["ok"]:
            judgement = bench_result.Judgement("failed", "client_error", reply["error"])
        elif not result_file.exists():
            judgement = bench_result.Judgement("failed", "client_error", "the benchmark wrote no result")
        else:
            try:
                result = store.read_json(result_file)
                judgement = bench_result.judge(result, task.num_prompts, self.output_tokens)
                summary = bench_result.summarise(result)
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
            stalls=stalls, log_start=log_start, log_end=self._log_size(),
            client=reply.get("client") if reply else None,
        )  # fmt: skip


def _gone_kind(problem: ClientGone) -> str:
    return "timeout" if str(problem).startswith("not finished") else "client_died"
