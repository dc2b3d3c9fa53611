"""From tables of runs to what may be claimed of them. Free to rerun, as all of derive."""


rule repeatability:
    input:
        code=code("repeatability"),
        runs=TABLES / "runs.parquet",
        registry=REGISTERED,
    output:
        **documented(
            repeatability=TABLES / "repeatability.parquet",
            noise=TABLES / "noise.parquet",
        ),
    log:
        RESULTS / "logs/repeatability.log",
    params:
        booking=CLAIMS,
    message:
        "Spread between repeats and between sessions"
    shell:
        "python -P {input.code[0]} --runs {input.runs:q} --registry {input.registry:q}"
        " --booking {params.booking:q} --repeatability {output.repeatability:q} --noise {output.noise:q} 2>&1 | tee {log:q} >&2"


rule comparisons:
    input:
        code=code("comparisons"),
        runs=TABLES / "runs.parquet",
        declared=TABLES / "declared.json",
        registry=REGISTERED,
    output:
        **documented(comparisons=TABLES / "comparisons.parquet"),
    log:
        RESULTS / "logs/comparisons.log",
    params:
        booking=CLAIMS,
    message:
        "Comparing the arms"
    shell:
        "python -P {input.code[0]} --runs {input.runs:q} --declared {input.declared:q} --registry {input.registry:q}"
        " --booking {params.booking:q} --comparisons {output.comparisons:q} 2>&1 | tee {log:q} >&2"


rule steps:
    input:
        code=code("steps"),
        runs=TABLES / "runs.parquet",
        scheduler=TABLES / "scheduler.parquet",
        sessions=TABLES / "sessions.parquet",
    output:
        **documented(steps=TABLES / "steps.parquet"),
    log:
        RESULTS / "logs/steps.log",
    params:
        booking=CLAIMS,
    message:
        "The decode step of every run"
    shell:
        "python -P {input.code[0]} --runs {input.runs:q} --scheduler {input.scheduler:q} --sessions {input.sessions:q}"
        " --booking {params.booking:q} --steps {output.steps:q} 2>&1 | tee {log:q} >&2"


rule roofline:
    input:
        code=code("roofline"),
        steps=TABLES / "steps.parquet",
        runs=TABLES / "runs.parquet",
    output:
        **documented(floor=TABLES / "floor.parquet"),
    log:
        RESULTS / "logs/roofline.log",
    params:
        booking=CLAIMS,
    message:
        "Byte floor and roofline of the decode step"
    shell:
        "python -P {input.code[0]} --steps {input.steps:q} --runs {input.runs:q} --booking {params.booking:q}"
        " --floor {output.floor:q} 2>&1 | tee {log:q} >&2"


rule fixed_cost:
    input:
        code=code("fixed_cost"),
        steps=TABLES / "steps.parquet",
        floor=TABLES / "floor.parquet",
    output:
        **documented(fixed_cost=TABLES / "fixed_cost.parquet"),
    log:
        RESULTS / "logs/fixed_cost.log",
    params:
        booking=CLAIMS,
    message:
        "Fitting the decode step"
    shell:
        "python -P {input.code[0]} --steps {input.steps:q} --floor {input.floor:q} --booking {params.booking:q}"
        " --fixed-cost {output.fixed_cost:q} 2>&1 | tee {log:q} >&2"


rule toll:
    input:
        code=code("toll"),
        steps=TABLES / "steps.parquet",
        fixed_cost=TABLES / "fixed_cost.parquet",
        floor=TABLES / "floor.parquet",
    output:
        **documented(toll=TABLES / "toll.parquet"),
    log:
        RESULTS / "logs/toll.log",
    params:
        booking=CLAIMS,
    message:
        "Share of the fixed cost at each concurrency"
    shell:
        "python -P {input.code[0]} --steps {input.steps:q} --fixed-cost {input.fixed_cost:q} --floor {input.floor:q}"
        " --booking {params.booking:q} --toll {output.toll:q} 2>&1 | tee {log:q} >&2"


rule anomalies:
    input:
        code=code("anomalies"),
        runs=TABLES / "runs.parquet",
        telemetry=TABLES / "telemetry.parquet",
        requests=of_all_stores(f"{DERIVED}/requests.parquet"),
    output:
        **documented(
            anomalies=TABLES / "anomalies.parquet",
            evidence=TABLES / "evidence.parquet",
        ),
    log:
        RESULTS / "logs/anomalies.log",
    params:
        booking=CLAIMS,
    message:
        "Looking for what is odd"
    shell:
        "python -P {input.code[0]} --runs {input.runs:q} --telemetry {input.telemetry:q} --requests {input.requests:q}"
        " --booking {params.booking:q} --anomalies {output.anomalies:q} --evidence {output.evidence:q} 2>&1 | tee {log:q} >&2"


rule elimination:
    input:
        code=code("elimination"),
        runs=TABLES / "runs.parquet",
        telemetry=TABLES / "telemetry.parquet",
        client=TABLES / "client.parquet",
        scheduler=TABLES / "scheduler.parquet",
        fixed_cost=TABLES / "fixed_cost.parquet",
        toll=TABLES / "toll.parquet",
        floor=TABLES / "floor.parquet",
        sessions=TABLES / "sessions.parquet",
    output:
        **documented(
            occupancy=TABLES / "occupancy.parquet",
            elimination=TABLES / "elimination.parquet",
        ),
    log:
        RESULTS / "logs/elimination.log",
    params:
        booking=CLAIMS,
    message:
        "Which causes of the step's time can be ruled out"
    shell:
        "python -P {input.code[0]} --runs {input.runs:q} --telemetry {input.telemetry:q} --client {input.client:q}"
        " --scheduler {input.scheduler:q} --fixed-cost {input.fixed_cost:q} --toll {input.toll:q} --floor {input.floor:q}"
        " --sessions {input.sessions:q}"
        " --booking {params.booking:q} --occupancy {output.occupancy:q} --elimination {output.elimination:q}"
        " 2>&1 | tee {log:q} >&2"


rule cost:
    input:
        code=code("cost"),
        runs=TABLES / "runs.parquet",
        repeatability=TABLES / "repeatability.parquet",
        telemetry=TABLES / "telemetry.parquet",
        sessions=TABLES / "sessions.parquet",
        timeline=TABLES / "timeline.parquet",
    output:
        **documented(cost=TABLES / "cost.parquet", bill=TABLES / "bill.parquet"),
    log:
        RESULTS / "logs/cost.log",
    params:
        booking=CLAIMS,
    message:
        "What it cost"
    shell:
        "python -P {input.code[0]} --runs {input.runs:q} --repeatability {input.repeatability:q}"
        " --telemetry {input.telemetry:q} --sessions {input.sessions:q} --timeline {input.timeline:q}"
        " --booking {params.booking:q} --cost {output.cost:q} --bill {output.bill:q} 2>&1 | tee {log:q} >&2"


rule verdicts:
    input:
        code=code("verdicts"),
        runs=TABLES / "runs.parquet",
        comparisons=TABLES / "comparisons.parquet",
        repeatability=TABLES / "repeatability.parquet",
        fixed_cost=TABLES / "fixed_cost.parquet",
        toll=TABLES / "toll.parquet",
        floor=TABLES / "floor.parquet",
        occupancy=TABLES / "occupancy.parquet",
        sessions=TABLES / "sessions.parquet",
        timeline=TABLES / "timeline.parquet",
        declared=TABLES / "declared.json",
    output:
        **documented(
            verdicts=TABLES / "verdicts.parquet",
            hypotheses=TABLES / "hypotheses.parquet",
            next_experiments=TABLES / "next_experiments.parquet",
        ),
    log:
        RESULTS / "logs/verdicts.log",
    params:
        booking=CLAIMS,
    message:
        "What may be claimed"
    shell:
        "python -P {input.code[0]} --runs {input.runs:q} --comparisons {input.comparisons:q}"
        " --repeatability {input.repeatability:q} --fixed-cost {input.fixed_cost:q} --toll {input.toll:q}"
        " --floor {input.floor:q} --occupancy {input.occupancy:q} --sessions {input.sessions:q}"
        " --timeline {input.timeline:q} --declared {input.declared:q} --booking {params.booking:q}"
        " --verdicts {output.verdicts:q} --hypotheses {output.hypotheses:q}"
        " --next-experiments {output.next_experiments:q} 2>&1 | tee {log:q} >&2"


rule preflight_table:
    input:
        code=code("preflight_table"),
        sessions=TABLES / "sessions.parquet",
        boot=of_all_stores(f"{DERIVED}/boot.json"),
    output:
        **documented(preflight=TABLES / "preflight.parquet"),
    log:
        RESULTS / "logs/preflight_table.log",
    params:
        asked=ASKED,
    message:
        "What preflight says of the booking as it was measured"
    shell:
        "python -P {input.code[0]} --sessions {input.sessions:q} --boot {input.boot:q} --asked {params.asked:q}"
        " --preflight {output.preflight:q} 2>&1 | tee {log:q} >&2"
