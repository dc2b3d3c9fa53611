"""From tables to figures, one rule each, and to the report."""


rule figure_sweep:
    input:
        code=code("figure_sweep"),
        sweep=TABLES / "sweep.parquet",
        runs=TABLES / "runs.parquet",
    output:
        **documented(figure=RESULTS / "figures/sweep.svg"),
    log:
        RESULTS / "logs/figure_sweep.log",
    params:
        arms=ARMS,
    message:
        "Drawing the sweep"
    shell:
        "python -P {input.code[0]} --sweep {input.sweep:q} --runs {input.runs:q}"
        " --arms {params.arms:q} --figure {output.figure:q} 2>&1 | tee {log:q} >&2"


rule figure_warmup:
    input:
        code=code("figure_warmup"),
        warmup=TABLES / "warmup.parquet",
    output:
        **documented(figure=RESULTS / "figures/warmup.svg"),
    log:
        RESULTS / "logs/figure_warmup.log",
    params:
        arms=ARMS,
    message:
        "Drawing the warmups"
    shell:
        "python -P {input.code[0]} --warmup {input.warmup:q} --arms {params.arms:q}"
        " --figure {output.figure:q} 2>&1 | tee {log:q} >&2"


rule figure_timeline:
    input:
        code=code("figure_timeline"),
        timeline=TABLES / "timeline.parquet",
    output:
        **documented(figure=RESULTS / "figures/timeline.svg"),
    log:
        RESULTS / "logs/figure_timeline.log",
    message:
        "Drawing the sessions in time"
    shell:
        "python -P {input.code[0]} --timeline {input.timeline:q} --figure {output.figure:q}"
        " 2>&1 | tee {log:q} >&2"


rule figure_telemetry:
    input:
        code=code("figure_telemetry"),
        series=of_all_stores(f"{DERIVED}/series.parquet"),
        timeline=TABLES / "timeline.parquet",
    output:
        **documented(figure=RESULTS / "figures/telemetry.svg"),
    log:
        RESULTS / "logs/figure_telemetry.log",
    message:
        "Drawing the telemetry"
    shell:
        "python -P {input.code[0]} --series {input.series:q} --timeline {input.timeline:q}"
        " --figure {output.figure:q} 2>&1 | tee {log:q} >&2"


rule figure_comparisons:
    input:
        code=code("figure_comparisons"),
        comparisons=TABLES / "comparisons.parquet",
        verdicts=TABLES / "verdicts.parquet",
    output:
        **documented(figure=RESULTS / "figures/comparisons.svg"),
    log:
        RESULTS / "logs/figure_comparisons.log",
    message:
        "Drawing the comparisons"
    shell:
        "python -P {input.code[0]} --comparisons {input.comparisons:q} --verdicts {input.verdicts:q}"
        " --figure {output.figure:q} 2>&1 | tee {log:q} >&2"


rule figure_fixed_cost:
    input:
        code=code("figure_fixed_cost"),
        steps=TABLES / "steps.parquet",
        fixed_cost=TABLES / "fixed_cost.parquet",
        toll=TABLES / "toll.parquet",
    output:
        **documented(figure=RESULTS / "figures/fixed_cost.svg"),
    log:
        RESULTS / "logs/figure_fixed_cost.log",
    params:
        arms=ARMS,
    message:
        "Drawing the decode step"
    shell:
        "python -P {input.code[0]} --steps {input.steps:q} --fixed-cost {input.fixed_cost:q} --toll {input.toll:q}"
        " --arms {params.arms:q} --figure {output.figure:q} 2>&1 | tee {log:q} >&2"


rule figure_anomalies:
    input:
        code=code("figure_anomalies"),
        anomalies=TABLES / "anomalies.parquet",
        evidence=TABLES / "evidence.parquet",
    output:
        **documented(figure=RESULTS / "figures/anomalies.svg"),
    log:
        RESULTS / "logs/figure_anomalies.log",
    message:
        "Drawing what is odd"
    shell:
        "python -P {input.code[0]} --anomalies {input.anomalies:q} --evidence {input.evidence:q}"
        " --figure {output.figure:q} 2>&1 | tee {log:q} >&2"


rule report_html:
    input:
        code=code("report_html"),
        templates=sorted(map(str, Path("reports/templates").glob("*.j2"))),
        style=sorted(map(str, Path("reports/style").glob("*.css"))),
        script=sorted(map(str, Path("reports/script").glob("*.js"))),
        tables=[TABLES / f"{name}.parquet" for name in REPORT_TABLES],
        figures=[RESULTS / f"figures/{name}.svg" for name in FIGURES],
        upstream=[
            path
            for name in OF_A_STORE
            for path in of_all_stores(f"{DERIVED}/{name}.prov.json")
        ]
        + [
            str(TABLES / f"{name}.prov.json")
            for name in ("declared.json", "evidence.parquet")
        ],
    output:
        **documented(html=REPORT / "report.html"),
    log:
        RESULTS / "logs/report_html.log",
    params:
        booking=FACTS,
        superseded=SUPERSEDED,
        draft=DRAFT,
    message:
        "Writing {output.html}"
    shell:
        "python -P {input.code[0]} --templates {input.templates:q} --style {input.style:q} --script {input.script:q}"
        " --tables {input.tables:q} --figures {input.figures:q} --upstream {input.upstream:q} --booking {params.booking:q}"
        " --superseded {params.superseded:q} --draft {params.draft:q} --html {output.html:q} 2>&1 | tee {log:q} >&2"


rule report_pdf:
    input:
        code=code("report_pdf"),
        html=REPORT / "report.html",
    output:
        **documented(pdf=REPORT / "report.pdf"),
    log:
        RESULTS / "logs/report_pdf.log",
    message:
        "Writing {output.pdf}"
    shell:
        "python -P {input.code[0]} --html {input.html:q} --pdf {output.pdf:q} 2>&1 | tee {log:q} >&2"
