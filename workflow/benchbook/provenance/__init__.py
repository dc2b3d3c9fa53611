"""Where a number comes from.

code.py      the code behind a rule, and its fingerprint
sidecar.py   the provenance beside each table and figure
step.py      a rule's script: named inputs, parameters, outputs
"""
