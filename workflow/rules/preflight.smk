"""Pitfalls of the booking, before anything is booted. A booking that nothing may measure does not have this."""


# Never due while its output exists, whatever is edited: sessions take that as ancient(), and Snakemake plans nothing
# beyond an ancient file that is due. A session looks anew before it boots, and writes what it found to the same file.
rule preflight:
    output:
        preflight=RESULTS / "preflight.json",
    log:
        RESULTS / "logs/preflight.log",
    priority: 300
    params:
        booking=BOOKING.id,
    message:
        "Preflight of booking {BOOKING.id}"
    shell:
        "python -P scripts/preflight.py --booking {params.booking:q} --preflight {output.preflight:q}"
        " 2>&1 | tee {log:q} >&2"
