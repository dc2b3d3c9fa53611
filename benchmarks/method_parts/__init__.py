"""Parts of method_tables.py: one subject a module.

cells       a figure found beside the one it repeats      coverage    intervals of one boot, and over boots (4)
warmup      rules for "the server is warm" (2)            designs     power, order, equivalence, band (4)
anomalies   rules for "two groups of TTFT" (8)            bootstraps  intervals that the product does not use
dip         Hartigan's dip                                markdown    the tables as docs/method.md holds them

A part's TASKS maps a name to a function that simulates with a generator of its own and returns cells.
"""
