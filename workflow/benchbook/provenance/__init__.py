"""Where a number comes from.

code.py      the code behind a rule, and its fingerprint
sidecar.py   the provenance beside each table and figure
current.py   whether an output is made from the files and by the code there are now
trace.py     the chain behind one number; traced.py reads what it is made of
step.py      a rule's script: named inputs, parameters, outputs
"""
