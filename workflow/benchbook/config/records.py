"""What config files say, as frozen records. Defaults stand in workflow/schemas/ and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchbook.measure.warmup import Rule

Scalar = str | int | float | bool | None
ArgValue = Scalar | list[str | int | float]
Args = Mapping[str, ArgValue]
Env = Mapping[str, str]


@dataclass(frozen=True)
class Node:
    """A kind of machine; what is not known of it is None.

    Bandwidth, matrix rate, memory and power limit are those of one GPU; cores and host memory those of the node.
    """

    name: str
    description: str
    price_usd_per_hour: float | None
    gpus: int
    memory_bandwidth_tb_s: float | None
    matrix_tflops: float | None
    kind: str
    gpu_memory_gib: float | None = None
    power_limit_w: float | None = None
    cores: int | None = None
    host_memory_gib: float | None = None


@dataclass(frozen=True)
class Model:
    """The served model: `config` to build a directory from, or `path`, a directory or hub id; the other is None.

    `sizes`: what the model file says of its bytes, by the names of model.schema.yaml. `expert_format`: the 4-bit format
    of the routed experts, where the config does not tell.
    """

    name: str
    description: str | None
    build: str | None
    config: Mapping[str, object] | None
    path: str | None
    sizes: Mapping[str, float]
    expert_format: str | None = None


@dataclass(frozen=True)
class Engine:
    """An engine environment; `source` says which of the fields that are None otherwise is set.

    requirements: `requirements` and `lock`, files relative to the project root, to make an environment from
    python: `python`, the interpreter of an environment that exists
    command: `command`, words that start the server, to which the server's arguments are appended
    """

    name: str
    kind: str
    source: str
    requirements: str | None
    lock: str | None
    python: str | None
    command: tuple[str, ...] | None
    env: Env


@dataclass(frozen=True)
class Server:
    """What the servers of all arms have in common, as the booking says it. `port` None: a free one for each boot."""

    args: Args
    env: Env
    port: int | None


@dataclass(frozen=True)
class Arm:
    """A server configuration: `args` and `env` are its own, `server_args` and `server_env` what its server gets.

    `server_args` holds no null and no false: those flags are left out. `server_env` is the engine's environment,
    changed by the booking's, changed by the arm's. `cpus`: cores that it is pinned to, None for all.
    """

    name: str
    description: str | None
    args: Args
    env: Env
    engine: Engine
    server_args: Args
    server_env: Env
    cpus: int | None = None


@dataclass(frozen=True)
class Workload:
    """The requests of every run; `prompts` maps each concurrency to its number of prompts and
    `repeats` to its number of runs in a session. That the waves are whole is asked by preflight.

    `content`: what the prompts are, the keys of workload `kind` as the booking file has them. `file_sha256`: of
    the file of kind file, None for another kind.
    """

    kind: str
    content: Mapping[str, Any]
    endpoint: str
    connections: str
    concurrency: tuple[int, ...]
    prompts: Mapping[int, int]
    repeats: Mapping[int, int]
    seed: int
    file_sha256: str | None = None

    def num_prompts(self, concurrency: int) -> int:
        """Prompts of a run at `concurrency`; KeyError when the workload has no such concurrency."""
        return self.prompts[concurrency]


@dataclass(frozen=True)
class Warmup:
    """When a concurrency counts as warm; `limits` are those of `rule`, "converged" or "two-agree"."""

    rule: str
    max_readings: int
    limits: Rule


@dataclass(frozen=True)
class Schedule:
    """Which arm boots when: `order` is "ABBA" or "blocked"."""

    order: str
    sessions_per_arm: int
    cold_boot: bool


@dataclass(frozen=True)
class Limits:
    """Seconds after which a step counts as failed."""

    ready_s: float
    run_s: float
    reading_s: float
    read_gap_s: float
    teardown_s: float


@dataclass(frozen=True)
class Thresholds:
    """What a run must satisfy: seconds, multiples of the mean E2EL, and shares of one."""

    steady_window_min_s: float
    steady_window_min_e2el: float
    little_pass: float
    little_warn: float
    telemetry_coverage_min: float
    prefix_hits_max: float
    reconcile_max: float
    client_cores_max: float
    client_itl_ratio_max: float
    client_lag_max: float
    client_resend_gap_max: float
    frontend_share_max: float


@dataclass(frozen=True)
class Telemetry:
    """Samples of the node and scrapes of the server's /metrics, a second."""

    sample_hz: float
    metrics_hz: float


@dataclass(frozen=True)
class ExpectedFailure:
    """A failure that is part of the question: `what` is "boot", "run" or "requests"."""

    arm: str
    what: str
    reason: str


@dataclass(frozen=True)
class Comparisons:
    """What is compared between arms; `alpha`, `equivalence` and `smallest_effect` are shares of one."""

    baseline: str
    metrics: tuple[str, ...]
    concurrency: tuple[int, ...]
    alpha: float
    equivalence: float
    smallest_effect: float
    sessions_min: int


@dataclass(frozen=True)
class Hypothesis:
    """What is expected of `arm` against `baseline`: `metric` is `direction` ("higher" or "lower") by a share of at
    least `smallest_effect`, at each of `concurrency`."""

    name: str
    arm: str
    baseline: str
    metric: str
    concurrency: tuple[int, ...]
    direction: str
    smallest_effect: float
    because: str | None


@dataclass(frozen=True)
class Budget:
    """What the booking may take: `minutes` of node time and `usd` at the node's price, each None where not said."""

    minutes: float | None = None
    usd: float | None = None


@dataclass(frozen=True)
class Booking:
    """Everything that a booking file says, with the files that it names.

    `client`: names of the load clients, several to hold them against each other. `client_engine`: where the client
    vllm-bench runs; None where that is not among them. `recorded`: folder of the recording that is adopted instead of
    measuring; None for a booking that is measured. `draft_model`: what `{draft_model}` in a server's flags stands for.
    `allow`: rules of preflight whose errors may stand, each with the reason.
    """

    id: str
    title: str
    question: str | None
    node: Node
    model: Model
    engine: Engine
    client: tuple[str, ...]
    client_engine: Engine | None
    sealed: bool
    recorded: str | None
    server: Server
    arms: tuple[Arm, ...]
    workload: Workload
    warmup: Warmup
    schedule: Schedule
    limits: Limits
    thresholds: Thresholds
    telemetry: Telemetry
    expected_failures: tuple[ExpectedFailure, ...]
    comparisons: Comparisons
    hypotheses: tuple[Hypothesis, ...]
    draft_model: Model | None = None
    budget: Budget = Budget()
    allow: Mapping[str, str] = field(default_factory=dict)
