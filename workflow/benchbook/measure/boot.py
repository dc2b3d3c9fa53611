"""One boot of one arm: launch, wait, warm up, measure in schedule order, take down; every step leaves its record."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchbook.engines import log_lines, vllm
from benchbook.measure import asked, cgroup, cpu_set, environment, processes, store, warmup, web
from benchbook.measure.bench_run import Bench, Outcome, Task
from benchbook.measure.client_process import Client, ClientGone, native_command, native_environment
from benchbook.measure.guard import Guard
from benchbook.measure.interrupt import Interrupted, Interruptible
from benchbook.measure.progress import Progress, Told
from benchbook.measure.server import Server
from benchbook.measure.specification import DRAFT, VLLM_BENCH
from benchbook.measure.telemetry import Sampler

INTERRUPTED_PATIENCE_S = 5.0
# Snakemake sets these to a job's threads: `--cores 32` on two cores made decoding sixty times slower. A server gets
# its thread count from the engine's own rule, or from `env` in the booking file.
THREAD_COUNTS = frozenset({
    "OMP_NUM_THREADS", "GOTO_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
})  # fmt: skip


# Where an engine keeps what it compiled. FlashInfer's sampling kernels alone took 104 s of the first boot on an H200.
COMPILE_CACHES = ("VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE",
                  "TORCH_EXTENSIONS_DIR", "CUDA_CACHE_PATH")  # fmt: skip


class Failed(Exception):
    """The session cannot go on; `what` is boot, run (the server died in one) or client, the text is the reason."""

    def __init__(self, what: str, reason: str):
        self.what = what
        super().__init__(reason)


@dataclass
class Boot:
    """Measure `names` of the spec's runs in a session of its own inside `folder`.

    `root` is the folder that the specification's relative paths start from, `reboot_of` the session whose server died
    and left these runs over. After `measure`, `status` is complete,
    failed (the runs that ended well count) or set-aside (interrupted: none counts); `blamed` are the runs in whose
    course, or in whose warmup, the server died.
    """

    spec: Mapping[str, Any]
    folder: Path
    root: Path
    names: list[str]
    out: Told
    reboot_of: str | None = None
    status: str = "complete"
    failure: dict[str, Any] | None = None
    blamed: list[str] = field(default_factory=list)

    def measure(self, interrupts: Interruptible) -> None:
        """Never raises for what server or client do. Whatever else comes up, Interrupted included, is raised again when
        all is down and written."""
        self._interrupts = interrupts
        self._progress = Progress(self.spec, len(self.names), self.out)
        self._events_part = self.folder / "events.jsonl.part"
        self._server: Server | None = None
        self._clients: dict[str, Client] = {}
        self._expected_tok_s: dict[int, float | None] = {}
        self._cache: Path | None = None
        self._cpu_set: dict[str, Any] | None = None
        raised: BaseException | None = None
        telemetry = self.spec["telemetry"]
        store.write_json(self.folder / "spec.json", self.spec)
        oom_before = (cgroup.memory_events() or {}).get("oom_kill")
        started_s = time.time()
        with Guard() as self._guard, Sampler(
            self.folder / "telemetry.jsonl", telemetry["sample_hz"], telemetry["metrics_hz"]
        ) as self._sampler:
            try:
                self._boot()
                self._measure_blocks()
            except Interrupted as stop:
                raised = stop
                self.status = "set-aside"
                self.failure = {"what": "interrupted", "reason": f"the session was {stop}"}
            except Failed as problem:
                self.status = "failed"
                self.failure = {"what": problem.what, "reason": str(problem)}
            except Exception as problem:
                raised = problem
                self.status = "failed"
                self.failure = {"what": "pipeline", "reason": f"Benchbook failed: {type(problem).__name__}: {problem}"}
            interrupts.disarm()
            self._take_down(isinstance(raised, Interrupted))
        oom_after = (cgroup.memory_events() or {}).get("oom_kill")
        if self.failure is not None:
            self.failure["oom_kills"] = None if None in (oom_before, oom_after) else oom_after - oom_before  # type: ignore[operator]
        if self._events_part.exists():
            store.seal(self._events_part, self.folder / "events.jsonl")
        store.write_json(self.folder / "session.json", {
            "session": self.folder.name, "status": self.status, "reason": self.failure and self.failure["reason"],
            "failure": self.failure, "reboot_of": self.reboot_of, "planned": self.names,
            **({"cpu_set": self._cpu_set} if self._cpu_set is not None else {}),
            "t_launch_s": started_s, "t_end_s": time.time(),
            "sampler": self._sampler.summary(),
        })  # fmt: skip
        store.Store.record_hashes(self.folder)
        if self._sampler.problem is not None:
            self._progress.say(f"telemetry is incomplete: {self._sampler.problem}")
        if raised is not None:
            raise raised

    @contextlib.contextmanager
    def _phase(self, phase: str, label: str, concurrency: int | None = None) -> Iterator[dict[str, Any]]:
        """Record when a phase began and ended; the body may set ok to False. An exception is not ok either."""
        event: dict[str, Any] = {"phase": phase, "label": label, "concurrency": concurrency, "ok": True,
                                 "t_start_s": time.time()}  # fmt: skip
        try:
            yield event
        except BaseException:
            event["ok"] = False
            raise
        finally:
            event["t_end_s"] = time.time()
            with open(self._events_part, "a", encoding="utf-8") as file:
                file.write(json.dumps(event) + "\n")

    def _environment(self, engine: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, str]:
        model_here = vllm.OFFLINE if self.spec["model"]["local"] else {}
        inherited = {name: value for name, value in os.environ.items() if name not in THREAD_COUNTS}
        return {
            **inherited, **vllm.QUIET, **model_here, **{k: str(v) for k, v in engine["env"].items()},
            **{k: str(v) for k, v in extra.items()},
        }  # fmt: skip

    def _resolved(self, engine: Mapping[str, Any]) -> dict[str, Any]:
        return {**engine, "python": engine["python"] and str(self.root / engine["python"])}

    @property
    def _model_path(self) -> str:
        return self._directory(self.spec["model"])

    def _directory(self, model: Mapping[str, Any]) -> str:
        return str(self.root / model["path"]) if model["local"] else str(model["path"])

    def _server_args(self) -> dict[str, Any]:
        """The server's flags, with the draft model's directory put in."""
        args: dict[str, Any] = dict(self.spec["server"]["args"])
        if "draft_model" in self.spec:
            place = self._directory(self.spec["draft_model"])
            args |= {name: value.replace(DRAFT, place) for name, value in args.items() if isinstance(value, str)}
        return args

    def _boot(self) -> None:
        spec, limits = self.spec, self.spec["limits"]
        engine = self._resolved(spec["engine"])
        self._workload = asked.resolved(spec, self.root)
        server_env = self._environment(engine, spec["server"]["env"])
        if spec["server"]["cold_boot"]:
            self._cache = self.folder.parent / ".compile-cache"
            shutil.rmtree(self._cache, ignore_errors=True)
            for name in COMPILE_CACHES:
                server_env[name] = str(self._cache / name.lower())
        self._client_commands = {name: self._client_command(name) for name in spec["client"]}
        store.write_json(self.folder / "environment.json", {
            "node": environment.node(server_env.get("CUDA_VISIBLE_DEVICES"), server_env.get("CUDA_DEVICE_ORDER")),
            "identity": environment.identity(),
            "engine": environment.interpreter(engine["python"], server_env),
            "clients": {name: environment.interpreter(command[0], env)
                        for name, (command, env) in self._client_commands.items()},
        })  # fmt: skip
        port = spec["server"]["port"] or web.free_port()
        served_name = f"{spec['model']['name']}-{self.folder.name}"
        command = vllm.serve_command(engine, self._model_path, served_name, port, self._server_args())
        clients = {name: words for name, (words, _) in self._client_commands.items()}
        store.write_json(self.folder / "command.json", {"server": command, "clients": clients})
        self._progress.say(f"session {self.folder.name}: booting, {len(self.names)} runs to measure")
        with self._phase("boot", "boot"):
            cpus = self._choose_cpus()
            if web.taken(port):
                raise Failed("boot", f"port {port} is in use by another process: free it, or leave server.port out of "
                                     "the booking file to have a free one chosen")  # fmt: skip
            try:
                with self._interrupts.held(), cpu_set.pinned(cpus):
                    self._server = Server(command, server_env, self.folder / "server.log", port, served_name)
                    self._watch("server", self._server.kernel_session)
            except OSError as error:
                raise Failed("boot", f"the server's command cannot be started: {error}") from error
            why_not = self._server.wait_ready(limits["ready_s"], self._progress.booting)
            if why_not is not None:
                raise Failed("boot", why_not + self._last_words())
            self._look_at_cpus("ready")
        self._sampler.port = port
        self._progress.say(f"ready; starting the load client ({', '.join(spec['client'])})")
        for name in spec["client"]:
            self._start_client(name)

    def _choose_cpus(self) -> list[int] | None:
        """The CPU numbers of the arm's cores; None for a server that is not pinned."""
        count = self.spec["server"].get("cpus")
        if count is None:
            return None
        try:
            cpus = cpu_set.choose(count)
        except cpu_set.TooFewCores as error:
            raise Failed("boot", f"{error}: give the arm fewer `cpus`, or take a larger node") from error
        self._cpu_set = {"asked": count, "cpus": cpus, "ready": None, "end": None}
        return cpus

    def _look_at_cpus(self, when: str) -> None:
        """Write down where the server's threads may run. Failed when it is ready and has left its cores already."""
        if self._cpu_set is None or self._server is None:
            return
        place = self._cpu_set[when] = cpu_set.seen(self._server.kernel_session)
        if when == "ready" and cpu_set.held(self._cpu_set["cpus"], place) is False:
            raise Failed("boot", f"the server was started on cores {cpu_set.spelled(self._cpu_set['cpus'])}, and its "
                                 f"threads may run on {cpu_set.spelled(place['cpus'])}: something in it sets its own "
                                 "CPU set (VLLM_CPU_OMP_THREADS_BIND, numa-bind). Take that out, or the arm's `cpus`"
                         )  # fmt: skip

    def _client_command(self, name: str) -> tuple[list[str], dict[str, str]]:
        """Command line and environment of a load client."""
        if name == VLLM_BENCH:
            engine = self._resolved(self.spec["client_engine"])
            return vllm.client_command(engine), self._environment(engine, {})
        inherited = {name: value for name, value in os.environ.items() if name not in THREAD_COUNTS}
        return native_command(), native_environment(inherited)

    def _watch(self, role: str, kernel_session: int) -> None:
        """Have a process tree guarded, sampled, and known to a later start."""
        self._guard.watch(kernel_session)
        self._sampler.roles[kernel_session] = role
        store.write_json(
            self.folder / "processes" / f"{role}_{kernel_session}.json", processes.identity(kernel_session)
        )

    def _start_client(self, name: str) -> None:
        with self._phase("client", name):
            try:
                with self._interrupts.held():
                    client = Client(*self._client_commands[name], self.folder / "client.log.part")
                    self._clients[name] = client
                    self._watch("client", client.kernel_session)
                client.wait_ready()
            except (OSError, ClientGone) as error:
                raise Failed("client", f"the load client {name} cannot be started: {error}") from error

    def _measure_blocks(self) -> None:
        done = 0
        self._progress.measuring()
        for block in self.spec["plan"]:
            runs = [run for run in block["runs"] if run["name"] in self.names]
            if not runs:
                continue
            readings = self._warm_up(block)
            first = []
            for run in runs:
                outcome = self._run(block, run)
                done += 1
                self._progress.run_done(done, f"{self._place(outcome)}: {_told(outcome)}")
                first.append(outcome)
            self._gate(block, runs, readings, first)

    def _warm_up(self, block: Mapping[str, Any]) -> list[warmup.Reading]:
        concurrency = block["concurrency"]
        rule = warmup.rule(self.spec["warmup"])
        readings: list[warmup.Reading] = []
        for reading in block["readings"]:
            task = _task(block, reading, concurrency)
            outcome = self._send("warmup", task, self.spec["limits"]["reading_s"])
            self._expected_tok_s[concurrency] = outcome.throughput_tok_s
            readings.append(self._reading(outcome))
            verdict = rule.judge(readings)
            if verdict.accepted:
                break
        store.write_json(self.folder / "warmup" / f"verdict_c{concurrency}.json", {
            "concurrency": concurrency, "verdict": verdict.verdict, "reason": verdict.reason,
            "rule": self.spec["warmup"],
        })  # fmt: skip
        self._progress.say(f"warmup at c{concurrency}: {verdict.verdict}, {verdict.reason}")
        return readings

    def _gate(
        self, block: Mapping[str, Any], runs: Sequence[Mapping[str, Any]], readings: Sequence[warmup.Reading],
        outcomes: Sequence[Outcome],
    ) -> None:  # fmt: skip
        """Judge the runs against the warmup before them, and measure them once more when the server had moved.

        Of two clients the first one's runs alone are judged: it sent the readings, and what the other's figures differ
        by is the client's and no movement of the server.
        """
        rule, concurrency = warmup.rule(self.spec["warmup"]), block["concurrency"]
        first = self._judged(outcomes)
        gate = warmup.gate(rule, readings, first)
        if gate is not None and gate.outcome == warmup.FAILED:
            self._progress.say(f"gate at c{concurrency}: {gate.reason}; measuring its {len(runs)} runs once more")
            spares = dict(zip((run["name"] for run in block["runs"]), block["rerun"], strict=True))
            again = []
            for run in runs:
                outcome = self._run(block, spares[run["name"]])
                self._progress.say(f"once more, {self._place(outcome)}: {_told(outcome)}")
                again.append(outcome)
            gate = warmup.gate(rule, readings, first, self._judged(again))
        if gate is not None:
            store.write_json(self.folder / "warmup" / f"gate_c{concurrency}.json",
                             {"concurrency": concurrency, **asdict(gate)})  # fmt: skip
            self._progress.say(f"gate at c{concurrency}: {gate.outcome}, {gate.reason}")

    def _run(self, block: Mapping[str, Any], run: Mapping[str, Any]) -> Outcome:
        task = _task(block, run, block["num_prompts"])
        return self._send("run", task, self.spec["limits"]["run_s"])

    def _judged(self, outcomes: Sequence[Outcome]) -> list[warmup.Reading]:
        """What the gate looks at: the runs of the first client."""
        return [self._reading(outcome) for outcome in outcomes if outcome.client_name == self.spec["client"][0]]

    def _place(self, outcome: Outcome) -> str:
        by = f" by {outcome.client_name}" if len(self.spec["client"]) > 1 else ""
        return f"c{outcome.concurrency} r{outcome.repeat}{by}"

    def _reading(self, outcome: Outcome) -> warmup.Reading:
        log = None
        if outcome.log_start is not None and outcome.log_end is not None:
            log = store.text_between(self.folder / "server.log", outcome.log_start, outcome.log_end)
        return warmup.reading(asdict(outcome), log)

    def _send(self, phase: str, task: Task, timeout_s: float) -> Outcome:
        """Send one task; Failed when the server is gone afterwards, a new client when only the client is."""
        assert self._server is not None
        folder = self.folder / ("runs" if phase == "run" else "warmup") / task.name
        with self._phase(phase, task.name, task.concurrency) as event:
            bench = Bench(
                server=self._server, client=self._clients[task.client], server_log=self.folder / "server.log",
                served_name=self._server.served_name, tokenizer=self._model_path, workload=self._workload,
                endpoint=self.spec["endpoint"], connections=self.spec["connections"],
                read_gap_s=self.spec["limits"]["read_gap_s"],
            )  # fmt: skip
            outcome = bench.run(task, folder, timeout_s, self._expected_tok_s.get(task.concurrency))
            event["ok"] = outcome.status == "ok"
        if outcome.failure_kind == "server_died" or not self._server.alive():
            self.blamed = [
                run["name"]
                for block in self.spec["plan"]
                for run in block["runs"]
                if run["name"] == task.name or (phase == "warmup" and block["concurrency"] == task.concurrency)
            ]
            raise Failed("run", f"the server {self._server.ending()} during {task.name}{self._last_words()}")
        if outcome.failure_kind in ("timeout", "client_died"):
            self._clients[task.client].stop()
            self._start_client(task.client)
        return outcome

    def _last_words(self) -> str:
        """The last line of the server's log and its age, as a clause; nothing when the log is empty."""
        log = self.folder / "server.log"
        try:
            lines = log_lines.lines(log.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return ""
        if not lines:
            return "; its log is empty"
        return f"; its log ended {time.time() - log.stat().st_mtime:.0f} s earlier with: {lines[-1].strip()[:300]}"

    def _take_down(self, in_a_hurry: bool) -> None:
        with self._phase("teardown", "teardown") as event:
            self._sampler.port = None
            self._look_at_cpus("end")
            clean = True
            if self._server is not None:
                patience_s = self.spec["limits"]["teardown_s"]
                clean &= self._server.stop(
                    min(patience_s, INTERRUPTED_PATIENCE_S) if in_a_hurry else patience_s,
                    lambda: self._interrupts.waiting,
                )
            for client in self._clients.values():
                clean &= client.stop()
            if self._clients:
                store.seal(self.folder / "client.log.part", self.folder / "client.log")
            if self._server is not None:
                (self.folder / "server.log").chmod(0o444)
                if self.failure is not None:
                    self.failure["exit_code"] = self._server.exit_code()
            if self._cache is not None:
                shutil.rmtree(self._cache, ignore_errors=True)
            event["ok"] = clean
            if not clean and self.failure is None:
                self.status = "failed"
                self.failure = {"what": "teardown", "reason": "a process of server or client could not be ended"}
        self._progress.say("server and client are down" if clean else "a process could not be ended, see session.json")


def _task(block: Mapping[str, Any], planned: Mapping[str, Any], num_prompts: int) -> Task:
    """A reading or run of the plan; what a reading has not is a run's repeat."""
    return Task(
        name=planned["name"], client=planned["client"], concurrency=block["concurrency"], num_prompts=num_prompts,
        seed=planned["seed"], offset=planned["offset"], repeat=planned.get("repeat"),
    )  # fmt: skip


def _told(outcome: Outcome) -> str:
    if outcome.status != "ok":
        return f"{outcome.status.upper()}, {outcome.reason}"
    tpot = "no TPOT" if outcome.tpot_mean_ms is None else f"TPOT {outcome.tpot_mean_ms:.2f} ms"
    return f"{outcome.throughput_tok_s:,.0f} tok/s, {tpot}"
