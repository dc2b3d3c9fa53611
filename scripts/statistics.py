"""Rule `statistics`: the booking's tables, from those of its stores."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from benchbook import rawdata, schema
from benchbook.claims import declared
from benchbook.derive import crosscheck, failures, sessions, sweep, tags
from benchbook.engines.vllm_layout import layout
from benchbook.measure.client.workloads import repeats_by_design
from benchbook.measure.store import read_json
from benchbook.provenance.step import Step

TABLES = ["runs", "warmup", "telemetry", "client", "scheduler", "reconciliation"]


def main() -> None:
    with Step.from_command_line(
        inputs=["manifest", "boot", *TABLES],
        params=["raw", "arms", "expected", "thresholds"],
        outputs=[
            "sweep", *(f"all-{name}" for name in TABLES), "crosscheck", "sessions", "failures", "timeline", "declared",
        ],
    ) as step:
        session_rows, timelines, specs, kinds, cached, layouts = [], [], [], {}, set(), {}
        expectations = json.loads(step.param("expected"))
        for manifest, boot_file, runs_file in zip(
            *(step.files(name) for name in ("manifest", "boot", "runs")), strict=True
        ):
            boots, runs = read_json(boot_file), pd.read_parquet(runs_file)
            raw = rawdata.as_listed(read_json(manifest), Path(step.param("raw")) / manifest.stem)
            session_rows += [
                sessions.row(session, boot, runs, expectations) for session, boot in zip(raw, boots, strict=True)
            ]
            timelines.append(sessions.timeline(raw))
            specs += [session.spec for session in raw if session.usable]
            cached |= {s.session_id for s in raw if repeats_by_design({"kind": "random", **s.spec["workload"]})}
            layouts |= {s.session_id: layout(s.spec["server"]["args"]) for s in raw}
            kinds |= {f"{s.session_id}/{record['run']}": record["failure_kind"] for s in raw for record in s.runs}
        together = {
            name: schema.concat([pd.read_parquet(path) for path in step.files(name)], name) for name in TABLES
        }
        session_table = sessions.table(session_rows)
        together["runs"] = tags.with_observers(
            {**together, "sessions": session_table}, json.loads(step.param("thresholds")), layouts, cached
        )
        arms = json.loads(step.param("arms"))
        sweep.table(together["runs"], arms).to_parquet(step.output("sweep"))
        crosscheck.table(together["runs"], together["client"], arms).to_parquet(step.output("crosscheck"))
        for name in TABLES:
            together[name].to_parquet(step.output(f"all-{name}"))
        session_table.to_parquet(step.output("sessions"))
        failures.table(session_table, together["runs"], kinds).to_parquet(step.output("failures"))
        schema.concat(timelines, "timeline").to_parquet(step.output("timeline"))
        frozen = declared.before_measuring(specs)
        step.output("declared").write_text(json.dumps(frozen, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
