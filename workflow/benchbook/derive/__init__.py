"""Pure functions from what was measured to tables (columns in benchbook.schema). No file is opened here.

boot      the server's log to facts or a failure       requests   the client's result to one row per request
warmup    readings to a table                          window     the steady window of a run
runs      requests to one row per run                  little     does the run's arithmetic hold together
telemetry samples clipped to each run's window         sweep, sessions, failures, timeline   the booking's tables
"""
