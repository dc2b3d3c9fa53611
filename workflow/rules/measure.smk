"""The rules that need the node and cost money. A sealed booking does not have them."""


localrules:
    model,


rule engine_env:
    output:
        # Named after its lock file's hash: a changed lock is another environment, a touched one is none.
        environment=".engines/{engine}/built-{lock}.json",
    log:
        "results/logs/engine_env-{engine}-{lock}.log",
    priority: 200
    threads: workflow.cores
    message:
        "Building engine environment {wildcards.engine}"
    shell:
        "exec python -P scripts/engine_env.py --lock config/engines/{wildcards.engine}.lock"
        " --environment {output.environment:q} --log {log:q}"


rule model:
    output:
        model=".models/{model}-{hash}/config.json",
    log:
        "results/logs/model-{model}-{hash}.log",
    message:
        "Writing model directory {wildcards.model} (weights are made up by the engine)"
    shell:
        "python -P scripts/model.py --name {wildcards.model:q} --model {output.model:q} 2>&1 | tee {log:q} >&2"


rule session:
    input:
        session_needs,
    output:
        manifest=RESULTS / "sessions/{store}.json",
    log:
        RESULTS / "logs/session-{store}.log",
    priority: 100
    threads: workflow.cores
    resources:
        gpu=1,
    params:
        booking=BOOKING.id,
        raw=str(RESULTS / "raw/{store}"),
        spec=str(RESULTS / "specs/{store}.json"),
    message:
        "Session {wildcards.store}: boot, warmup, runs, teardown"
    shell:
        "exec python -P scripts/session.py --parent $PPID --booking {params.booking:q} --store {params.raw:q}"
        " --manifest {output.manifest:q} --spec {params.spec:q} --log {log:q}"
