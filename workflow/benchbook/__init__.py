"""Benchbook: from a hired GPU node to a benchmark report that can be trusted.

measure/     needs the node: boots servers, runs load, samples telemetry (standard library, psutil, pynvml only)
derive/      pure functions from raw files to tables
present/     figures, tables and the write-up
engines/     what is particular to one serving engine
provenance/  code fingerprints and the sidecar written beside every table and figure
config/      booking files: loading, checking, the schedule, the session specifications
"""

__version__ = "0.1.0"
