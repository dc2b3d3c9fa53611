"""Several finished bookings side by side: snakemake --config bookings=A,B -- compare. Measures nothing."""

from benchbook.bookings import sides, taken

try:
    if config.get("compared"):
        NAME = str(config["compared"])
        TITLE, QUESTION, SIDES = sides.of_file(Path.cwd(), NAME)
    else:
        SIDES = sides.of_list(config["bookings"])
        NAME, QUESTION = "+".join(SIDES), ""
        TITLE = f"{' against '.join(SIDES)}"
    TAKEN = [booking for names in SIDES.values() for booking in names]
    FOLDERS = [taken.folder(Path.cwd(), booking) for booking in TAKEN]
except BenchbookError as error:
    raise WorkflowError(str(error))

ACROSS = Path("results/compared") / NAME
COMPARED = Path("reports/compared") / NAME
ASKED = param.text(
    {
        "name": NAME,
        "title": TITLE,
        "question": QUESTION,
        "sides": SIDES,
        "bookings": TAKEN,
    },
    sort_keys=False,
)
ACROSS_TABLES = ["runs", "sweep", "bookings", "comparisons", "verdicts"]


rule across:
    input:
        code=code("across"),
        tables=[
            folder / f"{name}.parquet" for folder in FOLDERS for name in taken.TABLES
        ],
    output:
        **documented(
            **{name: ACROSS / f"tables/{name}.parquet" for name in ACROSS_TABLES}
        ),
    log:
        ACROSS / "logs/across.log",
    params:
        asked=ASKED,
    message:
        "Comparing {TAKEN}"
    shell:
        "python -P {input.code[0]} --tables {input.tables:q} --asked {params.asked:q} --runs {output.runs:q}"
        " --sweep {output.sweep:q} --bookings {output.bookings:q} --comparisons {output.comparisons:q}"
        " --verdicts {output.verdicts:q} 2>&1 | tee {log:q} >&2"


rule compared:
    input:
        code=code("compared"),
        templates=sorted(map(str, Path("reports/templates").glob("*.j2"))),
        style=sorted(map(str, Path("reports/style").glob("*.css"))),
        script=sorted(map(str, Path("reports/script").glob("*.js"))),
        tables=[ACROSS / f"tables/{name}.parquet" for name in ACROSS_TABLES],
    output:
        **documented(
            sweep=ACROSS / "figures/sweep.svg",
            comparisons=ACROSS / "figures/comparisons.svg",
            html=COMPARED / "report.html",
        ),
    log:
        ACROSS / "logs/compared.log",
    params:
        asked=ASKED,
    message:
        "Writing {output.html}"
    shell:
        "python -P {input.code[0]} --templates {input.templates:q} --style {input.style:q} --script {input.script:q}"
        " --tables {input.tables:q} --asked {params.asked:q} --sweep {output.sweep:q}"
        " --comparisons {output.comparisons:q} --html {output.html:q} 2>&1 | tee {log:q} >&2"


rule compared_pdf:
    input:
        code=code("compared_pdf"),
        html=COMPARED / "report.html",
    output:
        **documented(pdf=COMPARED / "report.pdf"),
    log:
        ACROSS / "logs/compared_pdf.log",
    message:
        "Writing {output.pdf}"
    shell:
        "python -P {input.code[0]} --html {input.html:q} --pdf {output.pdf:q} 2>&1 | tee {log:q} >&2"
