"""Pitfalls of a booking, found before anything is hired: every rule with its arithmetic and its remedy.

    asked        what a booking asks for, as plain values
    defaults     what the engine takes where nothing is said, by version and GPU
    boots        what earlier boots measured, and which of them an arm may be judged by
    gather       reads both from a project's files, and the cores of this machine
    rules        the names of all rules and the line of docs/ that each rests on
    capture, sglang, autotune, gpu_memory, kv_cache, host_memory, gpus, speculation, cores, front_end, client, prompts,
    runs         the rules, one subject each: pure functions to findings
    overrides    errors that the booking file lets stand
    check        all rules over one booking
    table        the findings as table `preflight` of the report
    printed      the findings as `benchbook preflight` prints them
    gate         the same before a session: written to preflight.json, and refused where an error stands
"""
