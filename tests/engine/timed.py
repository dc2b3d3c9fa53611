"""A session against the server of known timing, measured by a real load client, beside what the server really did."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import specs
import yaml
from benchbook import rawdata, schema
from benchbook.derive import bench, observed, tags, warmup
from benchbook.measure import session, specification
from benchbook.measure.progress import Told
from project import ROOT

SERVER = ROOT / "tests" / "fake" / "timed_server.py"


@dataclasses.dataclass(frozen=True)
class Measured:
    """What the store holds and derive makes of it; `truth` has one row per request that reached the server.

    The node's samples are left out, so that every run with a steady window is tagged TELEM.
    """

    manifest: dict[str, Any]
    sessions: list[rawdata.RawSession]
    requests: pd.DataFrame
    runs: pd.DataFrame
    tables: dict[str, pd.DataFrame]
    truth: pd.DataFrame

    def run(self, name: str) -> Run:
        (row,) = self.runs[self.runs["run_id"].str.endswith(f"/{name}")].to_dict("records")
        truth = self.truth[self.truth["run"] == name]
        # both clients end their request ids with the index in their lists
        truth = truth.set_index(truth["request_id"].str.rsplit("-", n=1).str[-1].astype(int)).sort_index()
        requests = self.requests[self.requests["run_id"] == row["run_id"]].set_index("request")
        records = {record["run"]: (raw, record) for raw in self.sessions for record in raw.runs}
        raw, record = records.get(name, (None, None))
        watched = {}
        for table in ("client", "scheduler"):
            rows = self.tables[table][self.tables[table]["run_id"] == row["run_id"]].to_dict("records")
            watched[table] = rows[0] if rows else {}
        return Run(row, requests, truth, raw, record, **watched)


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: its row, its requests and its truth by index of the request, its session and record, and its rows of
    tables `client` and `scheduler`."""

    row: dict[str, Any]
    requests: pd.DataFrame
    truth: pd.DataFrame
    raw: rawdata.RawSession | None
    record: dict[str, Any] | None
    client: dict[str, Any]
    scheduler: dict[str, Any]

    @property
    def tags(self) -> set[str]:
        return set(filter(None, self.row["tags"].split(",")))

    @property
    def good(self) -> pd.DataFrame:
        """Truth of the requests that the server served whole."""
        return self.truth[self.truth["outcome"] == "ok"]

    def delta(self, counter: str) -> float:
        """How much a counter of /metrics grew during the run."""
        before, after = self.raw.scrapes(self.record)
        (name,) = [name for name in after if name.partition("{")[0] == f"vllm:{counter}"]
        return after[name] - before.get(name, 0.0)


def measure(
    client: str, python: Path, model: Path, folder: Path, plan: dict[str, dict[str, Any]], waves: dict[int, int],
    **spec: Any,
) -> Measured:  # fmt: skip
    """Measure a session (specs.make) in `folder` whose server follows `plan` (fields of its Plan, by run name);
    `waves` by concurrency. `client`: native, or vllm-bench in the environment of `python`."""
    store, truth_file = folder / "store", folder / "truth.jsonl"
    env = {"TIMED_TRUTH": str(truth_file), "TIMED_STORE": str(store), "TIMED_PLAN": json.dumps(plan)}
    made = specs.make(SERVER, model=str(model), env=env, concurrency=tuple(waves), clients=(client,), **spec)
    for block in made["plan"]:
        block["num_prompts"] = block["concurrency"] * waves[block["concurrency"]]
    if client == "vllm-bench":
        made["client_engine"] = made["engine"] | {"python": str(python), "env": {}}
    made["spec_hash"] = specification.spec_hash(made)
    manifest = session.measure(made, store, folder, Told(io.StringIO()))
    sessions = rawdata.sessions(manifest, store)
    requests, _, runs = bench.tables(sessions, warmup.table(sessions), thresholds(), [])
    tables = observed.tables(sessions, requests, runs, thresholds())
    tables |= {"runs": runs, "telemetry": schema.empty("telemetry"), "sessions": schema.empty("sessions")}
    truth = pd.DataFrame([json.loads(line) for line in truth_file.read_text().splitlines()])
    return Measured(manifest, sessions, requests, tags.with_observers(tables, thresholds(), {}), tables, truth)


def thresholds() -> dict[str, float]:
    """The booking's defaults, with a steady window that a run of seconds can have."""
    schema = yaml.safe_load((ROOT / "workflow/schemas/booking.schema.yaml").read_text())
    values = {name: item["default"] for name, item in schema["properties"]["thresholds"]["properties"].items()}
    return values | {"steady_window_min_s": 0.5}
