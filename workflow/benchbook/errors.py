"""What Benchbook raises.

    BenchbookError            anything a person can act on; printed as one sentence, never as a traceback
    ├── ConfigError           a config file says something that cannot be run (file, key, value, what is allowed)
    ├── StoreError            a raw folder is not what its manifest or its layout says
    ├── TableError            a table does not have the columns its schema asks for
    ├── TextError             a file (log, page, result, telemetry) that a command was given is none it can read
    ├── LoadError             the load client was asked for something that it cannot send
    ├── ArchiveError          an archive is not whole, not what it was, or may not be written or unpacked as asked
    │   └── NoArchiveError    a file or folder is no archive, or no report, at all
    ├── StaleError            a table or figure was made from other files, or by other code, than there are now
    ├── TraceError            an address leads to no number
    ├── PreflightError        a booking has a pitfall that its file does not allow by name
    ├── SessionError          a session could not be measured at all (no store, node busy, no engine)
    └── WorkloadError         a workload cannot give the prompts that are asked for (what it says, its file, too few)

`exit_code` follows design.md: 1 when something is wrong with the content of the input, 2 when it cannot be read.
"""


class BenchbookError(Exception):
    exit_code = 1


class ConfigError(BenchbookError):
    exit_code = 2


class StoreError(BenchbookError):
    pass


class TableError(BenchbookError):
    pass


class TextError(BenchbookError):
    exit_code = 2


class LoadError(BenchbookError):
    exit_code = 2


class ArchiveError(BenchbookError):
    pass


class NoArchiveError(ArchiveError):
    exit_code = 2


class StaleError(BenchbookError):
    pass


class TraceError(BenchbookError):
    pass


class PreflightError(BenchbookError):
    pass


class SessionError(BenchbookError):
    pass


class WorkloadError(BenchbookError):
    exit_code = 2
