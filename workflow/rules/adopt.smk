"""In place of measuring: a recording made elsewhere becomes the booking's raw folder. Needs no node and no engine."""


rule adopt:
    input:
        code=code("adopt"),
        recording=sorted(
            str(path) for path in Path(BOOKING.recorded).iterdir() if path.is_file()
        ),
    output:
        manifest=RESULTS / "sessions/{store}.json",
    log:
        RESULTS / "logs/adopt-{store}.log",
    params:
        booking=BOOKING.id,
        raw=str(RESULTS / "raw/{store}"),
    message:
        "Adopting the recording of {wildcards.store}"
    shell:
        "python -P {input.code[0]} --recording {input.recording:q} --booking {params.booking:q} --raw {params.raw:q}"
        " --manifest {output.manifest:q} 2>&1 | tee {log:q} >&2"
