"""The archive of a finished report."""


rule write_archive:
    input:
        code=code("write_archive"),
        html=REPORT / "report.html",
        pdf=REPORT / "report.pdf",
        acceptance=RESULTS / "acceptance.json",
        tables=[TABLES / f"{name}.parquet" for name in REPORT_TABLES],
        figures=[RESULTS / f"figures/{name}.svg" for name in FIGURES],
        manifests=of_all_stores(f"{RESULTS}/sessions/{{store}}.json"),
    output:
        # The archive itself is none of the outputs: Snakemake deletes those before it runs a rule again.
        **documented(archive=REPORT / "archive.json"),
    log:
        RESULTS / "logs/archive.log",
    params:
        asked=param.text(
            {
                "booking": BOOKING.id,
                "title": BOOKING.title,
                "stores": STORES,
                "superseded": PLANNED.superseded,
                "registered": REGISTERED,
                "configuration": PLANNED.configuration,
                "configured_in": str(PLANNED.configured_in),
            },
        ),
    message:
        "Archiving booking {BOOKING.id}"
    shell:
        "python -P {input.code[0]} --html {input.html:q} --pdf {input.pdf:q} --acceptance {input.acceptance:q}"
        " --tables {input.tables:q} --figures {input.figures:q} --manifests {input.manifests:q}"
        " --asked {params.asked:q} --archive {output.archive:q} 2>&1 | tee {log:q} >&2"
