"""The derive rules, those of claims among them, each run by its own script with the arguments that Snakemake gives
it."""

from __future__ import annotations

import functools
import importlib.util
import json
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from benchbook import rawdata
from benchbook.config.claims_facts import claims_facts
from benchbook.config.load import load_booking
from benchbook.config.records import Booking
from benchbook.derive import results
from benchbook.measure.store import read_json
from benchbook.provenance import code

from scale_parts.stores import ARMS, CLIENTS, GPUS, LEVELS, REPEATS, ROOT

MANIFEST, RAW = "sessions/{store}.json", "raw/{store}"


@dataclass(frozen=True)
class Rule:
    """One rule: script `name`, and its options: files as paths below the folder of all stores, other values as
    parameters. With {store} in them a rule runs once a store, with `whole` once, over the files of all stores. An input
    without a pattern has no files."""

    name: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    params: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False


def _derived(*names: str) -> dict[str, str]:
    return {name: f"derived/{{store}}/{name}.parquet" for name in names}


def _tables(*names: str) -> dict[str, str]:
    """Options as the scripts spell them, with dashes."""
    return {name.replace("_", "-"): f"tables/{name}.parquet" for name in names}


def _claims(name: str, inputs: Mapping[str, str], *outputs: str) -> Rule:
    return Rule(name, inputs, _tables(*outputs), {"booking": "{claims}"}, whole=True)


_BOOT = {"boot": "derived/{store}/boot.json"}
_DECLARED = {"declared": "tables/declared.json"}
_ALL = ("runs", "warmup", "telemetry", "client", "scheduler", "reconciliation")
# A further rule is one entry here, after those that make its inputs.
RULES = (
    Rule("boot", {"manifest": MANIFEST}, _BOOT, {"raw": RAW}),
    Rule("warmup", {"manifest": MANIFEST, **_BOOT}, _derived("warmup"), {"raw": RAW}),
    Rule("bench", {"manifest": MANIFEST, **_derived("warmup")}, _derived("requests", "chunks", "runs"),
         {"raw": RAW, "thresholds": "{thresholds}", "expected": "[]"}),
    Rule("telemetry", {"manifest": MANIFEST, **_derived("runs")}, _derived("telemetry", "series"),
         {"raw": RAW, "coverage": "0.95"}),
    Rule("reconcile", {"manifest": MANIFEST, **_derived("requests", "runs")},
         _derived("client", "scheduler", "reconciliation"), {"raw": RAW, "thresholds": "{thresholds}"}),
    Rule("statistics", {"manifest": MANIFEST, **_BOOT, **_derived(*_ALL)},
         {f"all-{name}": f"tables/{name}.parquet" for name in _ALL}
         | {name: f"tables/{name}.parquet" for name in ("sweep", "crosscheck", "sessions", "failures", "timeline")}
         | _DECLARED,
         {"raw": "raw", "arms": json.dumps(ARMS), "expected": "[]", "thresholds": "{thresholds}"}, whole=True),
    _claims("repeatability", _tables("runs"), "repeatability", "noise"),
    _claims("comparisons", {**_tables("runs"), **_DECLARED, "registry": ""}, "comparisons"),
    _claims("steps", _tables("runs", "scheduler", "sessions"), "steps"),
    _claims("roofline", _tables("steps", "runs"), "floor"),
    _claims("fixed_cost", _tables("steps", "floor"), "fixed_cost"),
    _claims("toll", _tables("steps", "fixed_cost", "floor"), "toll"),
    _claims("anomalies", {**_tables("runs", "telemetry"), **_derived("requests")}, "anomalies", "evidence"),
    _claims("elimination", _tables("runs", "telemetry", "client", "scheduler", "fixed_cost", "toll", "floor",
                                   "sessions"), "occupancy", "elimination"),
    _claims("cost", _tables("runs", "repeatability", "telemetry", "sessions", "timeline"), "cost", "bill"),
    _claims("verdicts", _tables("runs", "comparisons", "repeatability", "fixed_cost", "toll", "floor", "occupancy",
                                "sessions", "timeline") | _DECLARED, "verdicts", "hypotheses", "next_experiments"),
)  # fmt: skip
READ = "read"


def run(name: str, folder: Path, stores: Sequence[str]) -> dict[str, float]:
    """Run a rule over these stores in this process; seconds without the process's start, its CPU seconds, its largest
    memory (GiB) so far, and for READ the bytes of JSON."""
    read_bytes = 0
    started_s, cpu_s = time.perf_counter(), time.process_time()
    if name == READ:
        read_bytes = _read(folder, stores)
    else:
        (rule,) = (one for one in RULES if one.name == name)
        script = _script(name)
        code.closure = functools.cache(code.closure)  # paid once a job, not once a request: here once a process
        for chosen in [list(stores)] if rule.whole else [[store] for store in stores]:
            sys.argv = [f"scripts/{name}.py", *_arguments(rule, folder, chosen)]
            script.main()
    return {
        "seconds": time.perf_counter() - started_s, "cpu_s": time.process_time() - cpu_s, "bytes": read_bytes,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }  # fmt: skip


def _read(folder: Path, stores: Sequence[str]) -> int:
    """Read every result of these stores into columns, as rule `bench` does; return how many bytes they are."""
    total = 0
    for store in stores:
        for listed in read_json(folder / MANIFEST.format(store=store))["sessions"]:
            session = rawdata.RawSession(folder / RAW.format(store=store) / listed["session"], listed["status"])
            for record in session.runs:
                result = session.result(record)
                assert result is not None
                results.read(result)
                total += (session.folder / "runs" / record["run"] / "bench.json").stat().st_size
    return total


def _script(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _arguments(rule: Rule, folder: Path, stores: Sequence[str]) -> list[str]:
    booking = load_booking(ROOT, "h200-recorded")
    values = {"{thresholds}": json.dumps(asdict(booking.thresholds)), "{claims}": json.dumps(_facts(booking))}

    def filled(pattern: str) -> list[str]:
        if not pattern:
            return []
        chosen: Sequence[Any] = stores if "{store}" in pattern else [""]
        return [str(folder / pattern.format(store=store)) for store in chosen]

    given: list[str] = []
    for option, pattern in (*rule.inputs.items(), *rule.outputs.items()):
        given += [f"--{option}", *filled(pattern)]
    for option, value in rule.params.items():
        given += [f"--{option}", *(filled(value) if option == "raw" else [values.get(value, value)])]
    return given


def _facts(booking: Booking) -> dict[str, Any]:
    """claims_facts of the booking that these stores would be of."""
    told = claims_facts(booking)
    (arm,) = told["arms"]
    return told | {
        "arms": [{**arm, "name": name} for name in ARMS], "clients": list(CLIENTS),
        "node": told["node"] | {"gpus": GPUS},
        "workload": told["workload"] | {"concurrency": list(LEVELS), "repeats": REPEATS},
        "comparisons": told["comparisons"] | {"baseline": ARMS[0], "concurrency": list(LEVELS)},
    }  # fmt: skip
