"""`benchbook verify`: every number of a report made anew from its raw files, in a fresh process, and held against it.

finding.py    what was found: where, what stands there, what should
raw.py        raw files against the manifests of their sessions
members.py    an archive's members against its own list
recompute.py  the pipeline's own rules once more, on raw files alone
page.py       report.html against the one made anew, each difference by its address
tables.py     tables and figures against those made anew
sidecars.py   what is said of their origin against what their rules say
check.py      all of it, for one report
"""
