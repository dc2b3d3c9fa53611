"""The booking, its stores and paths, and the two helpers that every rule file uses."""

import sys
from dataclasses import asdict
from pathlib import Path

from snakemake.exceptions import WorkflowError

WORKFLOW = Path(workflow.current_basedir).parent
sys.path.insert(0, str(WORKFLOW))

from benchbook import hygiene, masking, param, registry
from benchbook.config import facts
from benchbook.config.claims_facts import claims_facts
from benchbook.config.load import load_config
from benchbook.errors import BenchbookError
from benchbook.planned import planned
from benchbook.preflight import asked
from benchbook.provenance.code import closure, run_what_is_fingerprinted

run_what_is_fingerprinted()

# A report of what is measured so far: snakemake --config draft=true -- report
if str(config.get("draft", False)).lower() not in ("true", "false"):
    raise WorkflowError(f"draft={config['draft']} is neither true nor false.")
IS_DRAFT = str(config.get("draft", False)).lower() == "true"
REGISTRY = Path(config.get("registry", "registry"))
try:
    BOOKING_ID = str(config.get("booking") or load_config(Path.cwd()))
    PLANNED = planned(Path.cwd(), BOOKING_ID, REGISTRY, IS_DRAFT)
except BenchbookError as error:
    raise WorkflowError(str(error))

BOOKING = PLANNED.booking
RESULTS = Path("results") / BOOKING.id
REPORT = Path("reports") / BOOKING.id / ("draft" if IS_DRAFT else ".")
DRAFT = param.text(PLANNED.lacking)
FIGURES = [
    "sweep",
    "warmup",
    "timeline",
    "telemetry",
    "comparisons",
    "fixed_cost",
    "anomalies",
]
STORES = PLANNED.stores
ARMS = param.text([arm.name for arm in BOOKING.arms])
# What goes into tables and report has secrets and names covered, as the texts of raw files have.
CLAIMS = masking.cover_text(param.text(claims_facts(BOOKING)))
ASKED = masking.cover_text(
    param.text(asked.of_booking(BOOKING, PLANNED.configured_in).to_json())
)
FACTS = masking.cover_text(param.text(facts.report_facts(BOOKING)))
REPORT_TABLES = [
    "runs",
    "sessions",
    "warmup",
    "telemetry",
    "client",
    "scheduler",
    "reconciliation",
    "crosscheck",
    "sweep",
    "failures",
    "timeline",
    "repeatability",
    "noise",
    "comparisons",
    "steps",
    "fixed_cost",
    "floor",
    "toll",
    "anomalies",
    "occupancy",
    "elimination",
    "cost",
    "bill",
    "verdicts",
    "hypotheses",
    "next_experiments",
    "preflight",
    "sources",
]
# What each store is derived into; the page's panel leads through their sidecars down to the raw files.
OF_A_STORE = [
    "boot.json",
    "warmup.parquet",
    "requests.parquet",
    "chunks.parquet",
    "runs.parquet",
    "telemetry.parquet",
    "series.parquet",
    "client.parquet",
    "scheduler.parquet",
    "reconciliation.parquet",
]
SUPERSEDED = param.text(PLANNED.superseded)
REGISTERED = list(PLANNED.registered)
THRESHOLDS = param.text(asdict(BOOKING.thresholds))
EXPECTED = param.text([asdict(item) for item in BOOKING.expected_failures])


wildcard_constraints:
    store="s[0-9]+-[a-z0-9-]+-[0-9a-f]{12}",
    lock="[0-9a-f]{12}",
    hash="[0-9a-f]{12}",


def code(script):
    """The rule's script and every module of the package that it imports: an edit of one of them reruns the rule."""
    return [
        str(path.relative_to(Path.cwd()))
        for path in closure(Path.cwd() / "scripts" / f"{script}.py")
    ]


def documented(**outputs):
    """Named outputs, each with the provenance sidecar that its script writes beside it."""
    return outputs | {
        f"{name}_prov": f"{path}.prov.json" for name, path in outputs.items()
    }


def of_all_stores(pattern):
    """`pattern`, which has a wildcard {store}, for every session of the schedule in its order."""
    return [pattern.format(store=store) for store in STORES]


def engine_stamp(engine):
    """The file that says an engine's environment is built from this very lock file; None when Benchbook builds none,
    or there is no such engine."""
    if engine is None or engine["lock_sha256"] is None:
        return None
    return f".engines/{engine['name']}/built-{engine['lock_sha256'][:12]}.json"


def session_needs(wildcards):
    """What must stand before the session boots: preflight, its environments, its model, and the session before it.

    All ancient(): a rebuilt environment or a touched file is no reason to measure again. What would be one is in the
    specification's hash, and so in the path. None of these files is ever due while it exists: Snakemake plans nothing
    beyond an ancient file that is.
    """
    spec = PLANNED.specs[wildcards.store]
    needs = {engine_stamp(spec["engine"]), engine_stamp(spec["client_engine"])} - {None}
    models = [spec["model"], *([spec["draft_model"]] if "draft_model" in spec else [])]
    needs |= {
        f"{model['path']}/config.json"
        for model in models
        if model["config"] is not None
    }
    needs.add(str(RESULTS / "preflight.json"))
    place = STORES.index(wildcards.store)
    if place:
        needs.add(str(RESULTS / f"sessions/{STORES[place - 1]}.json"))
    return [ancient(path) for path in sorted(needs)]


if (BOOKING.sealed and not BOOKING.recorded) or PLANNED.is_restored:
    missing = [
        path
        for path in of_all_stores(f"{RESULTS}/sessions/{{store}}.json")
        if not Path(path).exists()
    ]
    if missing:
        raise WorkflowError(
            f"booking {BOOKING.id} is sealed (nothing may be measured) but {missing[0]} is not there. Restore the "
            f"booking's results, or undo the change to config/bookings/{BOOKING.id}.yaml, or set sealed: false."
        )


onstart:
    hygiene.stop_sessions_with_the_pipeline(RESULTS)
