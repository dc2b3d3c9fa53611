"""From raw files to tables. Needs no node and no engine; free to rerun."""

DERIVED = RESULTS / "derived/{store}"
TABLES = RESULTS / "tables"
RAW = RESULTS / "raw/{store}"


rule boot:
    input:
        code=code("boot"),
        manifest=RESULTS / "sessions/{store}.json",
    output:
        **documented(boot=DERIVED / "boot.json"),
    log:
        RESULTS / "logs/boot-{store}.log",
    params:
        raw=str(RAW),
    message:
        "Reading the server logs of {wildcards.store}"
    shell:
        "python -P {input.code[0]} --manifest {input.manifest:q} --raw {params.raw:q}"
        " --boot {output.boot:q} 2>&1 | tee {log:q} >&2"


rule warmup:
    input:
        code=code("warmup"),
        manifest=RESULTS / "sessions/{store}.json",
        boot=DERIVED / "boot.json",
    output:
        **documented(warmup=DERIVED / "warmup.parquet"),
    log:
        RESULTS / "logs/warmup-{store}.log",
    params:
        raw=str(RAW),
    message:
        "Judging the warmups of {wildcards.store}"
    shell:
        "python -P {input.code[0]} --manifest {input.manifest:q} --boot {input.boot:q}"
        " --raw {params.raw:q} --warmup {output.warmup:q} 2>&1 | tee {log:q} >&2"


rule bench:
    input:
        code=code("bench"),
        manifest=RESULTS / "sessions/{store}.json",
        warmup=DERIVED / "warmup.parquet",
    output:
        **documented(
            requests=DERIVED / "requests.parquet",
            chunks=DERIVED / "chunks.parquet",
            runs=DERIVED / "runs.parquet",
        ),
    log:
        RESULTS / "logs/bench-{store}.log",
    params:
        raw=str(RAW),
        thresholds=THRESHOLDS,
        expected=EXPECTED,
    message:
        "Reading the requests and runs of {wildcards.store}"
    shell:
        "python -P {input.code[0]} --manifest {input.manifest:q} --warmup {input.warmup:q}"
        " --raw {params.raw:q} --thresholds {params.thresholds:q} --expected {params.expected:q} --requests {output.requests:q}"
        " --chunks {output.chunks:q} --runs {output.runs:q} 2>&1 | tee {log:q} >&2"


rule telemetry:
    input:
        code=code("telemetry"),
        manifest=RESULTS / "sessions/{store}.json",
        runs=DERIVED / "runs.parquet",
    output:
        **documented(
            telemetry=DERIVED / "telemetry.parquet", series=DERIVED / "series.parquet"
        ),
    log:
        RESULTS / "logs/telemetry-{store}.log",
    params:
        raw=str(RAW),
        coverage=BOOKING.thresholds.telemetry_coverage_min,
    message:
        "Clipping the telemetry of {wildcards.store} to its runs"
    shell:
        "python -P {input.code[0]} --manifest {input.manifest:q} --runs {input.runs:q}"
        " --raw {params.raw:q} --coverage {params.coverage} --telemetry {output.telemetry:q} --series {output.series:q} 2>&1 | tee {log:q} >&2"


rule reconcile:
    input:
        code=code("reconcile"),
        manifest=RESULTS / "sessions/{store}.json",
        requests=DERIVED / "requests.parquet",
        runs=DERIVED / "runs.parquet",
    output:
        **documented(
            client=DERIVED / "client.parquet",
            scheduler=DERIVED / "scheduler.parquet",
            reconciliation=DERIVED / "reconciliation.parquet",
        ),
    log:
        RESULTS / "logs/reconcile-{store}.log",
    params:
        raw=str(RAW),
        thresholds=THRESHOLDS,
    message:
        "Holding client, server and scheduler of {wildcards.store} against each other"
    shell:
        "python -P {input.code[0]} --manifest {input.manifest:q} --requests {input.requests:q} --runs {input.runs:q}"
        " --raw {params.raw:q} --thresholds {params.thresholds:q} --client {output.client:q}"
        " --scheduler {output.scheduler:q} --reconciliation {output.reconciliation:q} 2>&1 | tee {log:q} >&2"


rule statistics:
    input:
        code=code("statistics"),
        manifest=of_all_stores(f"{RESULTS}/sessions/{{store}}.json"),
        boot=of_all_stores(f"{DERIVED}/boot.json"),
        runs=of_all_stores(f"{DERIVED}/runs.parquet"),
        warmup=of_all_stores(f"{DERIVED}/warmup.parquet"),
        telemetry=of_all_stores(f"{DERIVED}/telemetry.parquet"),
        client=of_all_stores(f"{DERIVED}/client.parquet"),
        scheduler=of_all_stores(f"{DERIVED}/scheduler.parquet"),
        reconciliation=of_all_stores(f"{DERIVED}/reconciliation.parquet"),
    output:
        **documented(
            sweep=TABLES / "sweep.parquet",
            runs=TABLES / "runs.parquet",
            warmup=TABLES / "warmup.parquet",
            telemetry=TABLES / "telemetry.parquet",
            client=TABLES / "client.parquet",
            scheduler=TABLES / "scheduler.parquet",
            reconciliation=TABLES / "reconciliation.parquet",
            crosscheck=TABLES / "crosscheck.parquet",
            sessions=TABLES / "sessions.parquet",
            failures=TABLES / "failures.parquet",
            timeline=TABLES / "timeline.parquet",
            declared=TABLES / "declared.json",
        ),
    log:
        RESULTS / "logs/statistics.log",
    params:
        raw=str(RESULTS / "raw"),
        arms=ARMS,
        expected=EXPECTED,
        thresholds=THRESHOLDS,
    message:
        "Tables of booking {BOOKING.id}"
    shell:
        "python -P {input.code[0]} --manifest {input.manifest:q} --boot {input.boot:q} --runs {input.runs:q}"
        " --warmup {input.warmup:q} --telemetry {input.telemetry:q} --client {input.client:q}"
        " --scheduler {input.scheduler:q} --reconciliation {input.reconciliation:q} --raw {params.raw:q}"
        " --arms {params.arms:q} --expected {params.expected:q} --thresholds {params.thresholds:q}"
        " --sweep {output.sweep:q} --all-runs {output.runs:q} --all-warmup {output.warmup:q}"
        " --all-telemetry {output.telemetry:q} --all-client {output.client:q} --all-scheduler {output.scheduler:q}"
        " --all-reconciliation {output.reconciliation:q} --crosscheck {output.crosscheck:q} --sessions {output.sessions:q}"
        " --failures {output.failures:q} --timeline {output.timeline:q} --declared {output.declared:q} 2>&1 | tee {log:q} >&2"


rule sources:
    input:
        code=code("sources"),
        manifest=of_all_stores(f"{RESULTS}/sessions/{{store}}.json"),
    output:
        **documented(sources=TABLES / "sources.parquet"),
    log:
        RESULTS / "logs/sources.log",
    params:
        raw=str(RESULTS / "raw"),
    message:
        "The raw lines behind every run of booking {BOOKING.id}"
    shell:
        "python -P {input.code[0]} --manifest {input.manifest:q} --raw {params.raw:q} --sources {output.sources:q}"
        " 2>&1 | tee {log:q} >&2"


rule acceptance:
    input:
        code=code("acceptance"),
        sessions=TABLES / "sessions.parquet",
        runs=TABLES / "runs.parquet",
    output:
        **documented(acceptance=RESULTS / "acceptance.json"),
    log:
        RESULTS / "logs/acceptance.log",
    priority: -100
    threads: workflow.cores
    message:
        "Checking that nothing failed that was not expected to"
    shell:
        "python -P {input.code[0]} --sessions {input.sessions:q} --runs {input.runs:q} --acceptance {output.acceptance:q}"
        " 2>&1 | tee {log:q} >&2"
